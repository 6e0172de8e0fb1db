import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { printed, SECRETS, secretsIn, written } from './support/secrets';
import { RefreshError, SharedToken, type SharedTokenErrorCode, type SharedTokenEvent, SharedTokenError, type SharedTokenOptions } from '../../lambda-runtime';
import { SharedTokenOperator } from '../../lambda-runtime/operator';
import { InvokeApi } from '../../local-aws/invoke-api';
import { KmsServer } from '../../local-aws/kms-server';
import { REPOSITORY, run } from '../support/command';
import { Instance } from '../support/instance';
import { tablePerFile } from '../support/per-test';

/*
 * I8: every way in which the runtime can fail, with secrets in its hands. Everything that a program can print of the error, of what it came with, and of the token
 * itself is searched for them.
 */
const { table, tokenId } = tablePerFile();
let kms: KmsServer;
let lambda: InvokeApi;
let keyArn: string;

beforeAll(async () => {
  [kms, lambda] = await Promise.all([KmsServer.start(), InvokeApi.start()]);
  Object.assign(process.env, { AWS_ENDPOINT_URL_KMS: kms.environment.AWS_ENDPOINT_URL_KMS, ...lambda.environment });
  keyArn = kms.createKey();
});
afterAll(async () => {
  for (const name of ['AWS_ENDPOINT_URL_KMS', ...Object.keys(lambda.environment)]) delete process.env[name];
  await Promise.all([kms.stop(), lambda.stop()]);
});

const { accessToken, nextAccessToken, refreshToken, clientSecret } = SECRETS;

/** An error of an HTTP library's, which has all that was sent and answered. */
const httpError = () => Object.assign(new Error('Request failed with status code 401'), {
  name: 'HttpError',
  config: { headers: { authorization: `Basic ${Buffer.from(`orders:${clientSecret}`).toString('base64')}` }, data: `client_secret=${clientSecret}` },
  response: { status: 401, data: { error: 'invalid_client', access_token: nextAccessToken }, body: randomBytes(4) },
  cause: Object.assign(new Error('socket'), { body: { refresh_token: refreshToken } }),
});

const fetches: SharedTokenOptions['refresh'] = async () => ({ accessToken: nextAccessToken, refreshToken, expiresIn: 60 });
const refuses: SharedTokenOptions['refresh'] = async () => { throw new RefreshError('temporarily_unavailable', { cause: httpError(), refreshToken }); };

interface Scene {
  readonly options?: SharedTokenOptions;
  readonly call?: Parameters<SharedToken['get']>[0];
  /** What the table holds before. @default - an expired token, and a refresh token */
  readonly item?: object;
  readonly before?: () => Promise<unknown> | unknown;
  /** Another way to fail than `get`. */
  readonly act?: (token: SharedToken) => unknown;
  /** With the process' own `SharedToken`. */
  readonly own?: boolean;
}

const encrypted = () => `${table().name}#${keyArn}`;
const storeEncrypted = async () => {
  await table().delete(tokenId());
  await new Instance().token(tokenId(), { table: encrypted(), refresh: async () => ({ accessToken, refreshToken, expiresIn: 60 }) }).get();
};
const failing = (type: string) => () => { table().faults = () => ({ kind: 'error', type }); };

/** One for each code: the compiler asks for those that are missing. */
const SCENES: Record<SharedTokenErrorCode, readonly Scene[]> = {
  INVALID_TOKEN_ID: [{ act: () => new SharedToken([accessToken] as unknown as string, { refresh: fetches }) }],
  INVALID_OPTION: [
    { act: () => new SharedToken('crm', { [clientSecret.toUpperCase()]: accessToken } as SharedTokenOptions) },
    { act: () => new SharedToken('crm', { authLimitMs: accessToken as unknown as number }) },
    { act: async token => token.use(accessToken as unknown as () => undefined) },
    { options: { table: `tokens#${clientSecret}` } },
  ],
  TABLE_NOT_CONFIGURED: [{ before: () => { delete process.env.SHARED_TOKEN_TABLE; } }],
  TABLE_NOT_FOUND: [{ options: { table: 'elsewhere' } }],
  ACCESS_DENIED: [{ before: failing('AccessDeniedException') }],
  TABLE_UNAVAILABLE: [{ before: () => { table().faults = () => ({ kind: 'dropBefore' }); } }, { before: failing('ThrottlingException') }],
  TABLE_REQUEST_REFUSED: [{ before: failing('ValidationException') }],
  INVALID_ITEM: [
    { item: { accessToken, refreshToken, generation: accessToken, issuedAt: 1 } },
    { item: { accessToken: [accessToken], refreshToken, generation: 1, issuedAt: 1 } },
    { item: { accessToken: { [accessToken]: refreshToken }, generation: 1, issuedAt: 1 } },
  ],
  KEY_UNUSABLE: [{ options: { get table() { return encrypted(); } }, before: async () => { await storeEncrypted(); kms.setState(keyArn, 'DisabledException'); } }],
  DECRYPTION_FAILED: [
    { before: storeEncrypted },
    { options: { get table() { return `${table().name}#${kms.createKey()}`; } }, before: storeEncrypted },
    { options: { get table() { return encrypted(); } }, item: { accessToken: Buffer.from(accessToken), generation: 1, issuedAt: 1 } },
  ],
  ITEM_CHANGED: [{
    item: { accessToken, refreshToken, generation: 1, issuedAt: 1, lease: { id: 'x', since: 1, until: Date.now() + 60_000, holder: 'another' } },
    before: () => {
      let changes = 0;
      table().faults = async ({ operation }) => {
        if (operation === 'UpdateItem') await table().set(tokenId(), 'lease', { id: 'x', since: 1, until: Date.now() + 60_000 + ++changes, holder: 'another' });
        return undefined;
      };
    },
    act: async () => new SharedTokenOperator(tokenId()).endLease(),
  }],
  REFRESH_FAILED: [
    { options: { refresh: refuses } },
    { options: { refresh: async () => { throw httpError(); } } },
    { options: { refresh: async () => { throw { access_token: accessToken, clientSecret }; } } }, // eslint-disable-line @typescript-eslint/only-throw-error -- libraries do
    { options: { refresh: async () => { throw accessToken; } } }, // eslint-disable-line @typescript-eslint/only-throw-error -- the same
    { options: { refresh: async () => { throw new RefreshError(accessToken, { retryAfter: refreshToken }); } } },
    { options: { refresh: refuses }, act: async token => token.refresh() },
  ],
  REFRESH_TIMED_OUT: [{ options: { refresh: async () => new Promise<never>(() => undefined), authLimitMs: 200 } }],
  INVALID_REFRESH_RESULT: [
    { options: { refresh: async () => ({ accessToken: nextAccessToken, refreshToken, expiresIn: -1 }) } },
    { options: { refresh: async () => ({ access_token: nextAccessToken, refreshToken }) as never } },
    { options: { refresh: async () => ({ accessToken: [nextAccessToken], clientSecret }) as never } },
    { options: { refresh: async () => nextAccessToken as never } },
    { options: { refresh: async () => ({ accessToken: nextAccessToken, refreshToken: { refreshToken } }) as never } },
    { options: { refresh: async () => ({ accessToken: nextAccessToken, expiresAt: refreshToken }) as never } },
  ],
  TOKEN_TOO_LARGE: [{ options: { refresh: async () => ({ accessToken: nextAccessToken.repeat(20_000) }) } }],
  COOLING_DOWN: [{
    options: { refresh: refuses },
    item: { accessToken, refreshToken, generation: 1, issuedAt: 1, expiresAt: 2, failure: { code: 'invalid_client', count: 1, at: Date.now(), retryAt: Date.now() + 250_000 } },
  }],
  NO_USABLE_TOKEN: [{}],
  REFRESHER_FAILED: [{ options: { refresher: 'crm-refresher' }, own: true }],
  DEADLINE_EXCEEDED: [{
    options: { refresh: fetches },
    item: { accessToken, refreshToken, generation: 1, issuedAt: 1, expiresAt: 2, lease: { id: 'x', since: Date.now(), until: Date.now() + 60_000, holder: 'another' } },
  }],
  ABORTED: [
    { call: { signal: AbortSignal.abort() } },
    { call: { signal: AbortSignal.abort(httpError()) } },
  ],
};

const scenes = Object.entries(SCENES).flatMap(([code, list]) => list.map((scene, index) => [`${code} ${index + 1}`, code, scene] as const));

afterEach(() => {
  kms.setState(keyArn, 'enabled');
  process.env.SHARED_TOKEN_TABLE = table().name;
});

test.each(scenes)('%s shows no secret', async (_, code, { options = {}, call = {}, item, before, act, own }) => {
  const expired = { accessToken, refreshToken, generation: 1, issuedAt: Date.now() - 9_000, expiresAt: Date.now() - 1_000 };
  await table().put({ tokenId: tokenId(), ...(item ?? expired) });
  await before?.();
  const events: SharedTokenEvent[] = [];
  const onEvent = (event: SharedTokenEvent) => events.push(event);
  const given = { ...options, onEvent };
  let token: SharedToken | undefined;
  const { text, result: error } = await written(async () => {
    try {
      token = (own ? new SharedToken(tokenId(), given) : new Instance().token(tokenId(), given)) as SharedToken;
      return await (act ? act(token) : token.get({ timeoutMs: 2_500, ...call }));
    } catch (thrown) {
      console.error(thrown);
      return thrown;
    }
  });
  if (!(error instanceof SharedTokenError)) throw new Error(`No SharedTokenError, but ${String(error)}`);
  expect(error.code).toBe(code);
  expect(text).toContain(error.message); // what was written was caught
  const all = [text, printed(error), printed(events), printed(token), printed(process.argv), printed((await table().item(tokenId()))?.failure)].join('\n');
  expect(secretsIn(all)).toEqual([]);
});

test('nor does success, with all that it comes with', async () => {
  const instance = new Instance();
  await table().put({ tokenId: tokenId(), accessToken, refreshToken, generation: 1, issuedAt: Date.now() - 60_000 });
  const given: (string | undefined)[] = [];
  const token = instance.token(tokenId(), {
    refresh: async request => {
      given.push(request.refreshToken);
      return { accessToken: nextAccessToken, refreshToken, expiresIn: 60 };
    },
  });
  const used: string[] = [];
  const { text } = await written(async () => token.use(async one => {
    used.push(one);
    return { status: used.length === 1 ? 401 : 200 };
  }));
  expect([used, given]).toEqual([[accessToken, nextAccessToken], [refreshToken]]);
  expect(await token.refresh({ since: 1e12 })).toBe(false);
  expect(secretsIn([text, printed(token), printed(instance.events), printed(process.argv)].join('\n'))).toEqual([]);
});

test('nor does a process that ends with an error which nobody caught', async () => {
  const code = `
    const { RefreshError, SharedToken } = require(process.argv[1]);
    const cause = Object.assign(new Error('Request failed'), { config: { data: process.env.CLIENT_SECRET } });
    const refresh = async () => { throw new RefreshError('invalid_client', { cause, refreshToken: process.env.REFRESH_TOKEN }); };
    new SharedToken(process.env.TOKEN_ID, { refresh }).get();`;
  const env = { ...process.env, TOKEN_ID: tokenId(), CLIENT_SECRET: clientSecret, REFRESH_TOKEN: refreshToken };
  const { status, stdout, stderr } = await run(process.execPath, ['--no-warnings', '-e', code, join(REPOSITORY, 'runtime')], { cwd: REPOSITORY, env });
  expect([status, stdout]).toEqual([1, '']);
  expect(stderr).toContain('Request failed');
  expect(stderr).toContain('REFRESH_FAILED');
  expect(secretsIn(stderr)).toEqual([]);
});

test('the search finds what it is for', async () => {
  const { text } = await written(() => { console.error(new Error('no', { cause: { clientSecret } })); process.stderr.write(refreshToken); });
  expect(secretsIn(text)).toEqual(['refreshToken', 'clientSecret']);
  expect(secretsIn(printed({ deep: { deeper: [{ [accessToken]: 1 }] } }))).toEqual(['accessToken']);
  expect(secretsIn(printed(httpError())).sort()).toEqual(['clientSecret', 'nextAccessToken', 'refreshToken']);
  expect(secretsIn(`Basic ${Buffer.from(`me:${clientSecret}`).toString('base64')}`)).toEqual(['clientSecret']);
  expect(secretsIn(Buffer.from(refreshToken).toString('hex'))).toEqual(['refreshToken']);
});
