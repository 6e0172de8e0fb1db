import type { RecordingNames } from './recording';
import { RefreshError, type SharedTokenOptions, SharedToken } from '../../../lambda-runtime';
import { systemHost } from '../../../lambda-runtime/host';
import { SharedTokenOperator } from '../../../lambda-runtime/operator';
import { prebuiltRefresher } from '../../../lambda-runtime/refresher/prebuilt-refresher';
import { LONGEST_LEASE_MS } from '../../../lambda-runtime/timing';
import type { InvokeApi } from '../../../local-aws/invoke-api';
import { ENV, SCHEDULE_ALIAS } from '../../../src/private/contract';
import type { RefreshTokenSettings } from '../../../src/private/source-settings';
import { Instance } from '../../support/instance';
import type { RuntimeTable } from '../../support/runtime-table';

/** Who calls AWS: each has a grant of its own. */
export type Caller = 'reading' | 'asking' | 'refreshing' | 'refresher' | 'operating';

/** What a drive finds, a token of its own among it. */
export interface Stage {
  readonly table: RuntimeTable;
  readonly invoked: InvokeApi;
  readonly names: RecordingNames;
  /** The table, and its key where tokens are encrypted. */
  readonly reference: string;
  readonly tokenId: string;
  readonly tokenUrl: string;
  readonly isEncrypted: boolean;
  /** What somebody else does meanwhile is not recorded. */
  readonly aside: (act: () => Promise<unknown>) => Promise<void>;
}

/** Something that a caller does. */
export interface Drive {
  readonly caller: Caller;
  readonly name: string;
  readonly run: (stage: Stage) => Promise<unknown>;
  /** The functions of `dynamodb-requests.ts` that make its requests, without what is sent again. */
  readonly requests: readonly string[];
  /** Update and condition of one of them, where there are several ways to do it. */
  readonly shows?: RegExp;
}

const HOUR = 3_600_000;
const READ = 'readRequest';
const CLAIM = 'claimRequest';
const COMMIT = 'commitRequest';
const RELEASE = 'releaseRequest';

/** A token that works. Where tokens are encrypted it is not used, but replaced. */
const stored = ({ tokenId }: Stage, more: object = {}) => (
  { tokenId, accessToken: 'stored', generation: 4, issuedAt: Date.now() - HOUR / 4, expiresAt: Date.now() + HOUR, refreshMs: 50, ...more });
const expired = (stage: Stage, more: object = {}) => stored(stage, { issuedAt: Date.now() - 2 * HOUR, expiresAt: Date.now() - HOUR, ...more });
const tokenOf = ({ tokenId, reference: table }: Stage, options: SharedTokenOptions, instance = new Instance()) => (
  instance.token(tokenId, { table, ...options }));
const leaseOf = (msAgo: number) => ({ id: 'other', since: Date.now() - msAgo - 10_000, until: Date.now() - msAgo, holder: 'other' });
const fetching = (more: object = {}) => ({ refresh: async () => ({ accessToken: `fetched-${Math.random()}`, expiresIn: 3_600, ...more }) });
const failing = (error: Error) => ({ refresh: () => { throw error; } });
/** Ends with an error, as it should here. */
const inVain = async (call: Promise<unknown>) => call.then(() => { throw new Error('It should fail.'); }, () => undefined);

/** A token that was fetched by another process; encrypted, where tokens are. */
const storeAsOthersDo = async (stage: Stage) => stage.aside(async () => tokenOf(stage, fetching({ refreshToken: 'stored-refresh-token' })).get());

async function outdate({ table, tokenId }: Stage): Promise<void> {
  await table.set(tokenId, 'issuedAt', Date.now() - 2 * HOUR);
  await table.set(tokenId, 'expiresAt', Date.now() - HOUR);
}

/** Does something while the provider is being asked. */
async function meanwhile(stage: Stage, act: () => Promise<void>): Promise<void> {
  const instance = new Instance();
  let answer = () => {};
  const token = tokenOf(stage, {
    refresh: async () => {
      await new Promise<void>(resolve => { answer = resolve; });
      return { accessToken: 'late', expiresIn: 3_600, refreshToken: 'late-refresh-token' };
    },
  }, instance);
  const getting = token.get();
  await instance.until('refreshing');
  await act();
  answer();
  await getting;
}

/** A person logs in: the first long sleep, until half of the lease is over, ends at once. */
async function renewing(stage: Stage): Promise<void> {
  const instance = new Instance();
  let logIn = () => {};
  let isRenewed = false;
  instance.host.sleep = async (ms, signal) => {
    if (ms < 60_000) return systemHost.sleep(ms, signal);
    if (isRenewed || ms > LONGEST_LEASE_MS / 2) return new Promise(resolve => { signal?.addEventListener('abort', () => resolve(), { once: true }); });
    isRenewed = true;
  };
  const getting = tokenOf(stage, {
    authLimitMs: HOUR,
    refresh: async () => {
      await new Promise<void>(resolve => { logIn = resolve; });
      return { accessToken: 'logged-in', expiresIn: 3_600 };
    },
  }, instance).get({ timeoutMs: HOUR + 60_000 });
  await instance.until('refreshing');
  for (let looks = 0; looks < 200 && !stage.table.requests.some(({ body }) => String(body.UpdateExpression).includes('#until')); looks++) await systemHost.sleep(5);
  logIn();
  await getting;
}

/** Asks its refresher, in whose place somebody else refreshes. */
async function asking(stage: Stage): Promise<void> {
  const { table, tokenId, invoked, names } = stage;
  const holder = new Instance();
  const refreshing = tokenOf(stage, fetching(), holder);
  await stage.aside(async () => refreshing.get());
  // As old as one must be that is given up.
  await table.set(tokenId, 'issuedAt', Date.now() - HOUR / 4);
  invoked.define(names.refresherName, async () => {
    await stage.aside(async () => refreshing.refresh());
    return { payload: { refreshed: true } };
  });
  const token = new SharedToken(tokenId, { refresher: names.refresherName });
  token.reject(await token.get());
  await token.get();
}

/** The handler that a stack's `TokenSource` makes. Where tokens are encrypted its credentials are in a parameter. */
async function refresher(stage: Stage, event: unknown, qualifier?: string): Promise<void> {
  const { names, tokenId, tokenUrl, isEncrypted } = stage;
  const credentials = isEncrypted ? { parameterName: names.parameterName } : { secretArn: names.secretArn };
  const settings: RefreshTokenSettings = { kind: 'refresh_token', tokenUrl, credentials };
  const handler = prebuiltRefresher({ [ENV.TOKEN_ID]: tokenId, [ENV.SOURCE]: JSON.stringify(settings) });
  const invokedFunctionArn = `arn:aws:lambda:eu-central-1:111122223333:function:${names.refresherName}${qualifier === undefined ? '' : `:${qualifier}`}`;
  const answer = await handler(event, { awsRequestId: 'request', getRemainingTimeInMillis: () => 20_000, invokedFunctionArn });
  if (!answer.refreshed) throw new Error('It should refresh.');
}

const operatorOf = ({ tokenId, reference: table }: Stage) => new SharedTokenOperator(tokenId, { table });

/** All that the runtime does, by who does it. */
export const DRIVES: readonly Drive[] = [
  {
    caller: 'reading',
    name: 'reads',
    requests: [READ],
    run: async stage => {
      await storeAsOthersDo(stage);
      await tokenOf(stage, {}).get();
    },
  },
  { caller: 'asking', name: 'asks its refresher', requests: [READ], run: asking },

  { caller: 'refreshing', name: 'fetches the first token', requests: [READ, CLAIM, COMMIT], run: async stage => tokenOf(stage, fetching()).get() },
  {
    caller: 'refreshing',
    name: 'replaces an expired token, with a refresh token',
    requests: [READ, CLAIM, COMMIT],
    shows: /SET .*#refreshToken = .* IF #lease\.#id = :mine$/m,
    run: async stage => {
      await storeAsOthersDo(stage);
      await outdate(stage);
      await tokenOf(stage, fetching({ refreshToken: 'next-refresh-token' })).get();
    },
  },
  {
    caller: 'refreshing',
    name: 'replaces a token that was refused',
    requests: [READ, CLAIM, COMMIT],
    shows: /SET .*#meta\.#earlyRejections = /,
    run: async stage => {
      const instance = new Instance();
      const token = tokenOf(stage, fetching(), instance);
      await token.get();
      for (const life of [6_000, 12_000]) { // early each time: that is noted in `meta`
        instance.host.pass(life);
        token.reject(await token.get());
        await token.get();
      }
    },
  },
  {
    caller: 'refreshing',
    name: 'forces a refresh',
    requests: [READ, CLAIM, COMMIT],
    shows: /SET .*#meta = /,
    run: async stage => {
      await stage.table.put(stored(stage));
      await tokenOf(stage, { ...fetching(), source: 'provider#settings' }).refresh();
    },
  },
  {
    caller: 'refreshing',
    name: 'takes over from a holder that died',
    requests: [READ, CLAIM, COMMIT],
    shows: /SET #lease = .*#failure = .* IF .*#lease\.#id = :endedId/,
    run: async stage => {
      await stage.table.put(expired(stage, { lease: leaseOf(60_000) }));
      await tokenOf(stage, fetching()).get();
    },
  },
  {
    caller: 'refreshing',
    name: 'tries again after a failure',
    requests: [READ, CLAIM, COMMIT],
    shows: /IF .*#failure\.#at = :enduredAt/,
    run: async stage => {
      await stage.table.put(expired(stage, { failure: { code: '503', count: 1, at: Date.now() - HOUR, retryAt: Date.now() - HOUR + 1_000 } }));
      await tokenOf(stage, fetching()).get();
    },
  },
  {
    caller: 'refreshing',
    name: 'stores late what its lease was lost for',
    requests: [READ, CLAIM, COMMIT],
    shows: /SET #accessToken = .* IF .*#issuedAt < :clearlyOlder/,
    run: async stage => meanwhile(stage, async () => stage.table.set(stage.tokenId, 'lease', leaseOf(-20_000))),
  },
  {
    caller: 'refreshing',
    name: 'stores late in place of an item that is gone',
    requests: [READ, CLAIM, COMMIT],
    shows: /SET #accessToken = .* IF \(#generation = :baseGeneration/,
    run: async stage => {
      await stage.table.put(expired(stage));
      await meanwhile(stage, async () => stage.table.delete(stage.tokenId));
    },
  },
  {
    caller: 'refreshing',
    name: 'stores an answer with a pause',
    requests: [READ, CLAIM, COMMIT],
    shows: /SET #accessToken = .*#failure = /,
    run: async stage => {
      const same = { refresh: async () => ({ accessToken: 'same', expiresIn: 3_600 }) };
      await stage.aside(async () => tokenOf(stage, same).get());
      await outdate(stage);
      await tokenOf(stage, same).get();
    },
  },
  { caller: 'refreshing', name: 'fails', requests: [READ, CLAIM, RELEASE], run: async stage => inVain(tokenOf(stage, failing(new RefreshError('invalid_client'))).get()) },
  {
    caller: 'refreshing',
    name: 'fails, and keeps the new refresh token',
    requests: [READ, CLAIM, RELEASE],
    shows: /SET #failure = .*#refreshToken = /,
    run: async stage => inVain(tokenOf(stage, fetching({ expiresIn: 0, refreshToken: 'next-refresh-token' })).get()),
  },
  {
    caller: 'refreshing',
    name: 'gives back a lease that it did not use',
    requests: [READ, CLAIM, RELEASE, COMMIT],
    shows: /^REMOVE #lease IF /m,
    run: async stage => {
      const instance = new Instance();
      instance.onFirst('claimed', () => instance.host.pass(8_000));
      await tokenOf(stage, fetching(), instance).get();
    },
  },
  { caller: 'refreshing', name: 'renews its lease', requests: [READ, CLAIM, 'renewRequest', COMMIT], run: renewing },

  { caller: 'refresher', name: 'fetches the first token', requests: [READ, CLAIM, COMMIT], run: async stage => refresher(stage, undefined) },
  { caller: 'refresher', name: 'is asked by a reader', requests: [READ, CLAIM, COMMIT], run: async stage => refresher(stage, { tokenId: stage.tokenId, asked: {} }) },
  {
    caller: 'refresher',
    name: 'is run by its schedule',
    requests: [READ, CLAIM, COMMIT],
    run: async stage => {
      await storeAsOthersDo(stage);
      await stage.table.set(stage.tokenId, 'issuedAt', Date.now() - HOUR / 4);
      await refresher(stage, { tokenId: stage.tokenId, since: new Date().toISOString() }, SCHEDULE_ALIAS);
    },
  },

  {
    caller: 'operating',
    name: 'looks',
    requests: ['lookRequest'],
    run: async stage => {
      await stage.table.put(stored(stage));
      await operatorOf(stage).state();
    },
  },
  {
    caller: 'operating',
    name: 'ends a lease',
    requests: ['lookRequest', 'endLeaseRequest'],
    run: async stage => {
      await stage.table.put(stored(stage, { lease: leaseOf(-20_000) }));
      await operatorOf(stage).endLease();
    },
  },
  {
    caller: 'operating',
    name: 'clears a failure',
    requests: ['lookRequest', 'clearFailureRequest'],
    run: async stage => {
      await stage.table.put(stored(stage, { failure: { code: '503', count: 1, at: Date.now(), retryAt: Date.now() + 1_000 } }));
      await operatorOf(stage).clearFailure();
    },
  },
  {
    caller: 'operating',
    name: 'has a token expire',
    requests: ['lookRequest', 'expireRequest'],
    run: async stage => {
      await stage.table.put(stored(stage));
      await operatorOf(stage).expire();
    },
  },
];
