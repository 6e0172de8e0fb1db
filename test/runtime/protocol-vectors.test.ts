import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import { type AskingView, decide, type Decision, type Rejection, type Situation } from '../../lambda-runtime/decide';
import { clearFailureRequest, endLeaseRequest, expireRequest } from '../../lambda-runtime/dynamodb-requests';
import { createDynamoDbTokenStore, createOperatorStore } from '../../lambda-runtime/dynamodb-token-store';
import { encryptedKeyOf, open, seal } from '../../lambda-runtime/encryption/envelope';
import { RefreshError, SharedTokenError } from '../../lambda-runtime/errors';
import { systemHost, tableClock } from '../../lambda-runtime/host';
import { type Answer, claimOf, commitOf, failureSince } from '../../lambda-runtime/lease-writes';
import type { OperatorStore } from '../../lambda-runtime/operator/operator-store';
import type { RefreshResult } from '../../lambda-runtime/public-types';
import { failureOf, toFailure } from '../../lambda-runtime/refresh-failure';
import { validateRefreshResult } from '../../lambda-runtime/refresh-result';
import { answerMargin, authLimit, commitMargin, expireAfter, smoothRefreshMs, timeEnoughToReplay } from '../../lambda-runtime/timing';
import { type Base, type Failure, type Lease, parseItem, type TokenItem } from '../../lambda-runtime/token-item';
import { tokenMemory } from '../../lambda-runtime/token-memory';
import type { TokenStore, WriteReply } from '../../lambda-runtime/token-store';
import { ATTRIBUTE, type SecretAttribute } from '../../src/private/contract';
import { REPOSITORY } from '../support/command';
import { MovableHost } from '../support/instance';
import { tablePerFile } from '../support/per-test';

/*
 * The vectors by which a runtime in another language can be tested, run by ours. They are thought from docs/protocol.md, not taken from the code.
 */

type Attributes = Readonly<Record<string, unknown>>;
interface Named { readonly name: string }

/** What a vector says of a situation as the runtime does. */
type OwnSituation = Omit<Situation, 'item' | 'rejection' | 'doubted' | 'asking' | 'forcedSince' | 'now' | 'jitter'>;
interface DecisionVector extends Named {
  readonly situation: Partial<OwnSituation> & {
    readonly item?: Attributes | null;
    readonly rejection?: Omit<Rejection, 'at'> | null;
    readonly doubted?: string | null;
    readonly asking?: AskingView | null;
    readonly forcedSince?: number | 'due' | null;
  };
  readonly expected: { readonly action: Decision['action']; readonly ms?: readonly [least: number, most: number] };
}
interface RejectionVector extends Named {
  readonly given: { readonly item?: Attributes; readonly rejected: string; readonly knownForMs?: number };
  readonly expected: { readonly believed: boolean; readonly earlyRejections?: number };
}
interface FailureVector extends Named {
  readonly given: { readonly code: string; readonly retryAfter?: string | number; readonly previous?: Failure; readonly forced?: boolean };
  readonly expected: Omit<Failure, 'code'> & { readonly code?: string };
}
interface TimingVector extends Named {
  readonly derive: string;
  readonly given: Readonly<Record<string, number>>;
  readonly expected: unknown;
}
interface ClockVector extends Named {
  readonly replies: readonly { readonly date: number; readonly sentAt: number; readonly receivedAt: number }[];
  readonly expected: { readonly offsetMs: number | 'unsure' };
}
interface RequestVector extends Named {
  readonly operation: string;
  readonly given: {
    readonly lease?: Lease;
    readonly seen?: Attributes;
    readonly claimed?: Attributes;
    readonly carried?: string;
    readonly earlyRejections?: number;
    readonly source?: string;
    readonly savedRefreshToken?: string;
    readonly forced?: boolean;
    readonly answer?: Answer;
    readonly now?: number;
    readonly failedAt?: number;
    readonly known?: Attributes;
    readonly failure?: Failure;
    readonly until?: number;
  };
  readonly expected: Readonly<Record<string, unknown>>;
  readonly appliedOn?: readonly Attributes[];
  readonly refusedOn?: readonly Attributes[];
}
interface ItemVector extends Named {
  readonly item: Readonly<Record<string, AttributeValue>> | null;
  readonly expected: unknown;
}
interface ResultVector extends Named {
  readonly result: RefreshResult;
  readonly expected: unknown;
}
interface EnvelopeVector extends Named {
  readonly attribute: SecretAttribute;
  readonly text: string;
  readonly dataKey: string;
  readonly encryptedDataKey: string;
  readonly nonce: string;
  readonly expected: string;
}
interface Sections {
  readonly decisions: readonly DecisionVector[];
  readonly rejections: readonly RejectionVector[];
  readonly failures: readonly FailureVector[];
  readonly timing: readonly TimingVector[];
  readonly clocks: readonly ClockVector[];
  readonly requests: readonly RequestVector[];
  readonly items: readonly ItemVector[];
  readonly results: readonly ResultVector[];
  readonly envelopes: readonly EnvelopeVector[];
}
interface Vectors extends Sections {
  readonly fields: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly defaults: {
    readonly now: number;
    readonly situation: OwnSituation;
    readonly read: Attributes;
    readonly update: Attributes;
    readonly mend: Attributes;
  };
}

const vectors = JSON.parse(readFileSync(join(REPOSITORY, 'docs', 'protocol-vectors.json'), 'utf8')) as Vectors;
const { defaults, fields, decisions, rejections, failures, timing, clocks, requests, items, results, envelopes } = vectors;
const sections: Sections = { decisions, rejections, failures, timing, clocks, requests, items, results, envelopes };
const { now } = defaults;

const TOKEN_ID = 'crm';
const itemOf = (attributes: Attributes | null | undefined): TokenItem | undefined => parseItem(TOKEN_ID, attributes ?? undefined);
/** What JSON can say of a value: nothing of what is undefined. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value ?? null));
const each = <T extends Named>(list: readonly T[]): [string, T][] => list.map(vector => [vector.name, vector]);
/** The value, or the code of the error. */
const outcomeOf = (act: () => unknown): unknown => {
  try {
    return plain(act());
  } catch (error) {
    if (error instanceof SharedTokenError) return { error: error.code };
    throw error;
  }
};

describe('the file', () => {
  test('every vector has a name of its own', () => {
    const names = Object.values(sections).flatMap((list: readonly Named[]) => list.map(({ name }) => name));
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });

  test('every field of every vector is described, and nothing is described that no vector has', () => {
    expect(Object.keys(vectors).sort()).toEqual(['about', 'defaults', 'fields', ...Object.keys(sections)].sort());
    for (const [section, list] of Object.entries(sections) as [string, readonly Named[]][]) {
      const described = Object.keys(fields[section] ?? {});
      const used = new Set(list.flatMap(vector => pathsIn(vector, described)));
      expect([section, ...used].sort()).toEqual([section, ...described].sort());
    }
    const inSituations = Object.keys(fields.decisions ?? {}).filter(field => field.startsWith('situation.'));
    expect(Object.keys(defaults.situation).map(name => `situation.${name}`).sort()).toEqual(inSituations.sort());
  });

  test('items in plain JSON have the attributes of the protocol', () => {
    const known = [...Object.values<string>(ATTRIBUTE), 'id', 'since', 'until', 'holder', 'code', 'count', 'at', 'retryAt', 'forced', 'earlyRejections', 'source', 'later'];
    const plainItems = [
      ...decisions.map(({ situation }) => situation.item), ...rejections.map(({ given }) => given.item),
      ...requests.flatMap(({ given, appliedOn = [], refusedOn = [] }) => [given.seen, given.claimed, given.known, ...appliedOn, ...refusedOn]),
    ];
    expect(plainItems.flatMap(item => namesIn(item)).filter(name => !known.includes(name))).toEqual([]);
  });
});

describe('decisions', () => {
  test.each(each(decisions))('%s', (_, { situation, expected: { ms, ...expected } }) => {
    const { item, rejection, doubted, asking, forcedSince, ...own } = situation;
    for (const jitter of [0, 0.001, 0.5, 0.999]) {
      const decision = decide({
        ...defaults.situation,
        ...own,
        item: itemOf(item),
        rejection: rejection ? { ...rejection, at: now } : undefined,
        doubted: doubted ?? undefined,
        asking: asking ?? undefined,
        forcedSince: forcedSince ?? undefined,
        now,
        jitter,
      });
      expect(decision).toMatchObject(expected);
      if (decision.action === 'use') expect(decision.token).toEqual(itemOf(item)?.token);
      if (decision.action === 'fail') expect(decision).toEqual(expected);
      if (decision.action !== 'wait' || !ms) continue;
      expect(decision.ms).toBeGreaterThanOrEqual(ms[0]);
      expect(decision.ms).toBeLessThanOrEqual(ms[1]);
    }
  });
});

describe('rejections', () => {
  test.each(each(rejections))('%s', (_, { given: { item, rejected, knownForMs = 0 }, expected }) => {
    const host = new class extends MovableHost {
      override monotonic = () => this.monotonicOffset;
    }();
    const memory = tokenMemory(host);
    if (item) memory.apply(itemOf(item), memory.requestStarts());
    host.monotonicOffset = knownForMs;
    expect(memory.reject(rejected, now)).toBe(expected.believed);
    if (expected.believed) expect(memory.earlyRejections()).toBe(expected.earlyRejections);
  });
});

describe('failures', () => {
  test.each(each(failures))('%s', (_, { given: { code, previous, forced, ...options }, expected }) => {
    const recorded = toFailure(failureOf(TOKEN_ID, new RefreshError(code, options), now), previous, now, forced);
    expect(recorded).toEqual(expected.code === undefined ? { ...expected, code: expect.any(String) } : expected);
    if (expected.code === undefined) expect(recorded.code).not.toBe(code);
  });
});

describe('timing', () => {
  type Given = TimingVector['given'];
  const derivations: Readonly<Record<string, (given: Given) => unknown>> = {
    limits: ({ timeLeftMs = NaN, configuredMs }) => {
      const [commitMarginMs, authLimitMs] = [commitMargin(timeLeftMs), authLimit(timeLeftMs, configuredMs)];
      return { commitMarginMs, authLimitMs, leaseMs: authLimitMs + commitMarginMs };
    },
    answerMargin: ({ invocationMs = NaN }) => answerMargin(invocationMs),
    expireAfter: ({ lastMoment = NaN }) => expireAfter(lastMoment),
    timeEnoughToReplay: ({ limitMs = NaN, refreshMs }) => timeEnoughToReplay(limitMs, refreshMs),
    smoothRefreshMs: ({ knownMs, measuredMs = NaN }) => smoothRefreshMs(knownMs, measuredMs),
  };

  test.each(each(timing))('%s', (_, { derive, given, expected }) => {
    expect(derivations[derive]?.(given)).toEqual(expected);
  });
});

describe('clocks', () => {
  test.each(each(clocks))('%s', (_, { replies, expected }) => {
    const host = new class extends MovableHost {
      override now = () => now;
    }();
    const clock = tableClock(host);
    for (const { date, sentAt, receivedAt } of replies) clock.learn(date, sentAt, receivedAt);
    expect({ offsetMs: clock.isUnsure() ? 'unsure' : clock.now() - now }).toEqual(expected);
  });
});

describe('requests', () => {
  const { table } = tablePerFile();
  type Send = (store: TokenStore, given: RequestVector['given']) => Promise<WriteReply | TokenItem | undefined>;
  const { signal } = new AbortController();
  const lateCommitOf = ({ lease, claimed, carried, earlyRejections = 0, failedAt, forced = false, source, answer, now: at = NaN }: RequestVector['given']) =>
    commitOf({ lease: lease as Lease, claimed: itemOf(claimed), carried, earlyRejections, failedAt, forced, source }, answer as Answer, at);
  const operations: Readonly<Record<string, Send>> = {
    'read': store => store.read(TOKEN_ID, signal),
    'claim': (store, { lease, seen, forced = false }) => store.claim(TOKEN_ID, claimOf(lease as Lease, itemOf(seen), forced), signal),
    'renew': (store, { lease, until = NaN }) => store.renew(TOKEN_ID, { lease: lease?.id ?? '', until }, signal),
    'commit': (store, given) => store.commit(TOKEN_ID, { ...lateCommitOf(given), onlyIf: { lease: given.lease?.id ?? '' } }, signal),
    'commit late': (store, given) => {
      const commit = lateCommitOf(given);
      return store.commit(TOKEN_ID, { ...commit, keepsFailure: failureSince(commit, itemOf(given.known ?? given.claimed)) !== undefined }, signal);
    },
    'release': (store, { lease, claimed, failure, savedRefreshToken }) => {
      const recorded = failure && { failure, base: itemOf(claimed)?.base, refreshToken: savedRefreshToken };
      return store.release(TOKEN_ID, { lease: lease?.id ?? '', failure: recorded }, signal);
    },
  };

  type Mend = (store: OperatorStore, given: RequestVector['given']) => Promise<boolean | Attributes | undefined>;
  const operators: Readonly<Record<string, Mend>> = {
    'look': store => store.look(TOKEN_ID, signal),
    'end lease': (store, { seen }) => store.mend(TOKEN_ID, (...item) => endLeaseRequest(...item, itemOf(seen)?.lease as Lease), signal),
    'clear failure': (store, { seen }) => store.mend(TOKEN_ID, (...item) => clearFailureRequest(...item, itemOf(seen)?.failure as Failure), signal),
    'expire': (store, { seen, now: at = NaN }) => store.mend(TOKEN_ID, (...item) => expireRequest(...item, itemOf(seen)?.base as NonNullable<Base>, at), signal),
  };

  /** Sends the request to a table that holds this item. */
  const send = async ({ operation, given }: RequestVector, item: Attributes | undefined) => {
    await table().delete(TOKEN_ID);
    if (item) await table().put({ tokenId: TOKEN_ID, ...item });
    table().requests.length = 0;
    const where = [table().name, systemHost, tableClock(systemHost)] as const;
    const mends = operators[operation];
    const reply = await (mends ? mends(createOperatorStore(...where), given) : operations[operation]?.(createDynamoDbTokenStore(...where), given));
    const isApplied = typeof reply === 'boolean' ? reply : reply && 'applied' in reply ? reply.applied : undefined;
    return { isApplied, body: table().requests[0]?.body };
  };

  test.each(each(requests))('%s', async (_, vector) => {
    const { operation, given, expected, appliedOn = [], refusedOn = [] } = vector;
    const isRead = ['read', 'look'].includes(operation);
    const { isApplied, body } = await send(vector, given.seen ?? given.claimed);
    const names = Object.values(expected).filter(value => typeof value === 'string').join(' ').match(/#\w+/g) ?? [];
    expect(body).toEqual({
      ...(isRead ? defaults.read : operation in operators ? defaults.mend : defaults.update),
      ...expected,
      TableName: table().name,
      ExpressionAttributeNames: Object.fromEntries(names.map(name => [name, name.slice(1)])),
    });
    expect(isApplied).toBe(isRead ? undefined : true);
    for (const item of appliedOn) expect([item, (await send(vector, item)).isApplied]).toEqual([item, true]);
    for (const item of refusedOn) expect([item, (await send(vector, item)).isApplied]).toEqual([item, false]);
  });
});

describe('items', () => {
  test.each(each(items))('%s', (_, { item, expected }) => {
    expect(outcomeOf(() => itemOf(item && unmarshall(item)))).toEqual(expected);
  });
});

describe('results', () => {
  test.each(each(results))('%s', (_, { result, expected }) => {
    expect(outcomeOf(() => validateRefreshResult(TOKEN_ID, result, now))).toEqual(expected);
  });
});

/** The fields of a vector, as paths: down to those that are described, or to one that is not. */
function pathsIn(value: object, described: readonly string[], path = ''): string[] {
  return Object.entries(value).flatMap(([name, inner]: [string, unknown]) => {
    const own = path + name;
    const isMap = typeof inner === 'object' && inner !== null && !Array.isArray(inner);
    const goesOn = isMap && described.some(known => known.startsWith(`${own}.`));
    return [...(goesOn && !described.includes(own) ? [] : [own]), ...(goesOn ? pathsIn(inner, described, `${own}.`) : [])];
  });
}

/** The names in a value, at every depth. */
function namesIn(value: unknown): string[] {
  return typeof value === 'object' && value !== null ? Object.entries(value).flatMap(([name, inner]) => [name, ...namesIn(inner)]) : [];
}

describe('envelopes', () => {
  test.each(each(envelopes))('%s', (_, { attribute, text, dataKey, encryptedDataKey, nonce, expected }) => {
    const bytes = (hex: string) => Buffer.from(hex, 'hex');
    const key = { plain: bytes(dataKey), encrypted: bytes(encryptedDataKey) };
    const envelope = seal(attribute, text, key, bytes(nonce));
    expect(Buffer.from(envelope).toString('hex')).toBe(expected);
    expect(encryptedKeyOf(envelope)).toEqual(key.encrypted);
    expect(open(attribute, envelope, key)).toBe(text);
  });
});
