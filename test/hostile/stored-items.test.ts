import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { type Ended, ended, prototypes } from './support/outcome';
import { getWire, putWire } from './support/wire-table';
import { canonical, hostileAttributes, isReadable, isValid, mapOf, type WireItem, type WireValue, wireValue } from './support/wire-values';
import { Instance } from '../support/instance';
import { tablePerFile } from '../support/per-test';
import { WildServer } from '../support/wild-server';

/*
 * Items that somebody else wrote into the table, in its own protocol: whatever they hold, a call ends with a token that was stored as one or fetched, or with an
 * error that callers know; and what is not the protocol's own stays as it was.
 */
jest.setTimeout(120_000);
const { table } = tablePerFile();
const prototypesBefore = prototypes();

/** Of what refreshes: nobody's token is named so. */
const FETCHED = 'fetched-token';
const refresh = async () => ({ accessToken: FETCHED, expiresIn: 3_600, refreshToken: 'fetched-refresh-token' });
/** Nothing has to be waited for: what ends later has gone wrong. */
const AT_ONCE = { timeoutMs: 20_000 };
/** A lease or a cool-down may outlast any test. */
const SOON = { timeoutMs: 250 };
/** At the same time, as many instances would. */
const AT_A_TIME = 8;

let items = 0;
/** Not those that the table itself refuses. */
let lived = 0;

const own = <T>(item: Readonly<Record<string, T>> | undefined, name: string): T | undefined =>
  item && Object.hasOwn(item, name) ? item[name] : undefined;
const textOf = (wire: WireValue | undefined) => wire?.S as string | undefined;
const numberOf = (wire: WireValue | undefined) => wire === undefined ? undefined : Number(wire.N);

const OF_THE_PROTOCOL = ['accessToken', 'generation', 'issuedAt', 'expiresAt', 'refreshToken', 'lease', 'refreshMs', 'failure', 'meta', 'expireAfter'];
const without = (item: WireItem | undefined, names: readonly string[]): WireItem =>
  Object.fromEntries(Object.entries(item ?? {}).filter(([name]) => !names.includes(name)));

/** What is none of the protocol's business: unknown attributes, and unknown entries of `meta`. */
const foreign = (item: WireItem | undefined) =>
  canonical([without(item, OF_THE_PROTOCOL), without(own(item, 'meta')?.M as WireItem | undefined, ['earlyRejections', 'source'])]);

/** Is it one to which the table can add? */
function isCounted(generation: WireValue | undefined): boolean {
  const number = numberOf(generation) ?? 0;
  return Number.isInteger(number) && number < 8.64e15;
}

function expectToken({ value }: Ended<string>, item: WireItem, startedAt: number): void {
  if (value === undefined) return;
  expect(typeof value === 'string' && value !== '').toBe(true);
  if (value === FETCHED) return;
  expect(isReadable(item)).toBe(true);
  expect(value).toBe(textOf(own(item, 'accessToken')));
  expect(numberOf(own(item, 'expiresAt')) ?? Infinity).toBeGreaterThan(startedAt);
}

/** Everything that may be done with one item. */
async function live(attributes: WireItem): Promise<void> {
  const tokenId = `hostile-${items++}`;
  if (!await putWire(table(), tokenId, attributes)) return;
  lived++;
  const startedAt = Date.now();
  const stored = (await getWire(table(), tokenId))!;
  const asStored = canonical(stored);
  const isFree = own(stored, 'lease') === undefined && own(stored, 'failure') === undefined;

  /** Where a refresh usually takes longer than a call may, none is begun that nobody needs. */
  const isQuick = (numberOf(own(stored, 'refreshMs')) ?? 0) < 5_000;
  /** Bytes are what encrypted tokens look like, and nobody here knows a key. */
  const code = own(own(stored, 'accessToken'), 'B') === undefined ? 'INVALID_ITEM' : 'DECRYPTION_FAILED';

  const reader = new Instance().token(tokenId);
  const read = await ended(reader.get(isReadable(stored) ? SOON : AT_ONCE));
  expectToken(read, stored, startedAt);
  expect(canonical(await getWire(table(), tokenId))).toBe(asStored);

  const refresher = new Instance().token(tokenId, { refresh, authLimitMs: 10_000 });
  const time = isFree || !isReadable(stored) ? AT_ONCE : SOON;
  const got = await ended(refresher.get(time));
  expectToken(got, stored, startedAt);
  if (!isReadable(stored)) {
    expect([read.code, got.code]).toEqual([code, code]);
    expect((await ended(refresher.refresh(AT_ONCE))).code).toBe(code);
    refresher.reject(textOf(own(stored, 'accessToken')) ?? 'stored-token');
    expect((await ended(refresher.get(AT_ONCE))).code).toBe(code);
    expect(canonical(await getWire(table(), tokenId))).toBe(asStored);
    return;
  }
  if (!isValid(stored)) {
    // Readers do not see a refresh token; who claims does, and leaves it and everything else as it is, but for the claim.
    const refusal = own(own(stored, 'refreshToken'), 'B') === undefined ? 'INVALID_ITEM' : 'DECRYPTION_FAILED';
    expect([textOf(own(stored, 'accessToken')), refusal, ...isFree ? [] : ['DEADLINE_EXCEEDED', 'COOLING_DOWN']]).toContain(got.value ?? got.code);
    if (isFree) {
      // Or the failure was noted a moment ago; or the token is that new, by clocks that may differ.
      const isNew = (numberOf(own(stored, 'issuedAt')) ?? 0) > startedAt - 3_000;
      const expected = [refusal, ...got.code === refusal ? ['COOLING_DOWN'] : [], ...isQuick ? [] : ['DEADLINE_EXCEEDED'], ...isNew ? [false] : []];
      const { code: refused, value: refreshed } = await ended(refresher.refresh(AT_ONCE));
      expect(expected).toContain(refused ?? refreshed);
    }
    const claims = ['lease', 'failure', 'expireAfter'];
    expect(canonical(without(await getWire(table(), tokenId), claims))).toBe(canonical(without(stored, claims)));
    return;
  }
  if (isFree) expect(got.code).toBeUndefined();
  // One more, and the generation that is stored is no number of ours any more: the token is, and the next call says so.
  if (!isCounted(own(stored, 'generation'))) return;
  const forced = await ended(refresher.refresh(time));
  if (isFree) expect(isQuick ? [undefined] : [undefined, 'DEADLINE_EXCEEDED']).toContain(forced.code);
  const rejected = got.value ?? 'stored-token';
  refresher.reject(rejected);
  expectToken(await ended(refresher.get(time)), stored, startedAt);

  const left = (await getWire(table(), tokenId))!;
  expect(isValid(left)).toBe(true);
  expect(foreign(left)).toBe(foreign(stored));
  if (textOf(own(left, 'accessToken')) === FETCHED) expect(textOf(own(left, 'refreshToken'))).toBe('fetched-refresh-token');
}

afterEach(async () => {
  await sleep(20); // jest fails a test for a rejection that nobody handles, while it runs
  expect(prototypes()).toBe(prototypesBefore);
});

test('whatever stands in an item: a token that was stored or fetched, or a known error; an invalid item is left as it is, and so is what is not the protocol\'s', async () => {
  let valid = 0;
  let invalid = 0;
  await fc.assert(fc.asyncProperty(fc.array(hostileAttributes(Date.now()), { minLength: AT_A_TIME, maxLength: AT_A_TIME }), async batch => {
    for (const item of batch) isValid(item) ? valid++ : invalid++;
    await Promise.all(batch.map(async item => live(item).catch((cause: unknown) => {
      throw new Error(`With ${canonical(item)}`, { cause });
    })));
  }), { numRuns: 30, endOnFailure: true }); // to look for a smaller one takes minutes
  expect(Math.min(valid, invalid, lived / 4)).toBeGreaterThan(5); // else this says little
});

test.each([['or none', undefined], ['that ends now', 0], ['that ended', -100_000], ['that ends later', 100_000]])(
  'a refresh token that is none, beside a token with an expiry (%s), is found by who claims, and left', async (_, leftMs) => {
    const now = Date.now();
    const before = lived;
    await live({
      accessToken: { S: 'a' },
      generation: { N: '7' },
      issuedAt: { N: String(now - 1_000) },
      refreshMs: { N: '300' },
      refreshToken: { M: {} },
      ...leftMs !== undefined && { expiresAt: { N: String(now + leftMs) } },
    });
    expect(lived).toBe(before + 1);
  },
);

const NOW = Date.now();
const TOKEN: WireItem = {
  accessToken: { S: 'stored-token' },
  generation: { N: '7' },
  issuedAt: { N: String(NOW - 600_000) },
  refreshMs: { N: '300' },
};

test('unknown attributes of any kind, and unknown entries of meta, survive a commit', async () => {
  const attributesAndEntries = fc.tuple(mapOf(wireValue), mapOf(wireValue));
  await fc.assert(fc.asyncProperty(fc.array(attributesAndEntries, { minLength: AT_A_TIME, maxLength: AT_A_TIME }), async batch => {
    await Promise.all(batch.map(async ([attributes, entries]) => {
      const tokenId = `hostile-${items++}`;
      const more = without(attributes, [...OF_THE_PROTOCOL, 'tokenId']);
      const meta = { M: { ...without(entries, ['earlyRejections', 'source']), earlyRejections: { N: '1' } } };
      if (!await putWire(table(), tokenId, { ...more, ...TOKEN, meta })) return;
      const before = await getWire(table(), tokenId);
      const token = new Instance().token(tokenId, { refresh, source: 'auth.example.com#a' });
      expect(await token.get(AT_ONCE)).toBe('stored-token');
      expect(await token.refresh(AT_ONCE)).toBe(true);
      const after = await getWire(table(), tokenId);
      expect(after).toMatchObject({ accessToken: { S: FETCHED }, generation: { N: '8' } });
      expect(own(after, 'meta')).toMatchObject({ M: { source: { S: 'auth.example.com#a' } } });
      expect(foreign(after)).toBe(foreign(before));
    }));
  }), { numRuns: 20 });
});

/** Numbers that would be other ones in JavaScript: compared with what is stored they never match, and a claim would be sent over and over. */
test.each([
  ['issuedAt', '1700000000000.00000000001'], ['generation', '9007199254740993'], ['generation', '9007199254740992'], ['issuedAt', '0.12345678901234567890123456789'],
  ['expiresAt', '12345678901234567890123456789012345678'], ['refreshMs', `1${'0'.repeat(125)}`], ['expireAfter', '123456789012345678901.5'], ['issuedAt', '8640000000000001'],
])('%s that JavaScript cannot hold, or that is no moment (%s), is no number of ours: one read, and nothing is written', async (name, N) => {
  const tokenId = `hostile-${items++}`;
  expect(await putWire(table(), tokenId, { ...TOKEN, [name]: { N } })).toBe(true);
  const before = canonical(await getWire(table(), tokenId));
  const seen = table().requests.length;
  const { code, error } = await ended(new Instance().token(tokenId, { refresh }).refresh(AT_ONCE));
  expect(code).toBe('INVALID_ITEM');
  expect(error?.message).toContain(`"${name}" is not a number`);
  expect(error?.message).not.toContain(N);
  expect(table().operations().slice(seen)).toEqual(['GetItem']);
  expect(canonical(await getWire(table(), tokenId))).toBe(before);
});

test.each([['lease', 'until'], ['lease', 'since'], ['failure', 'count'], ['failure', 'at'], ['failure', 'retryAt'], ['meta', 'earlyRejections']])('the same within %s: %s', async (map, entry) => {
  const tokenId = `hostile-${items++}`;
  const lease = { id: { S: 'lease-1' }, since: { N: '1' }, until: { N: '2' } };
  const failure = { count: { N: '1' }, at: { N: '1' }, retryAt: { N: '2' } };
  const whole: Readonly<Record<string, WireItem>> = { lease, failure, meta: {} };
  expect(await putWire(table(), tokenId, { [map]: { M: { ...whole[map], [entry]: { N: '9007199254740991' } } } })).toBe(true);
  const { code, error } = await ended(new Instance().token(tokenId, { refresh }).get(AT_ONCE));
  expect(code).toBe('INVALID_ITEM');
  expect(error?.message).toContain(`"${map}.${entry}" is not a number`);
});

/** As AWS may answer: the embedded table's engine loses that name itself. */
test('what is named __proto__ brings in nothing, at any depth: neither a token, nor a lease, nor bytes that look encrypted', async () => {
  const inherited = '{"M":{"accessToken":{"S":"inherited"},"generation":{"N":"1"},"issuedAt":{"N":"1"},"refreshToken":{"B":"AQID"},"lease":{"S":"x"},"holder":{"N":"1"}}}';
  const encrypted = '{"M":{"accessToken":{"B":"AQID"}}}';
  const answers: Readonly<Record<string, string>> = {
    GetItem: `{"Item":{"__proto__":${inherited},"failure":{"M":{"__proto__":${inherited},"count":{"N":"1"},"at":{"N":"1"},"retryAt":{"N":"2"}}},"meta":{"M":{"__proto__":${inherited}}}}}`,
    UpdateItem: `{"Attributes":{"__proto__":${encrypted},"constructor":{"S":"x"}}}`,
  };
  const server = await WildServer.start((response, { headers }) => {
    response.writeHead(200, { 'content-type': 'application/x-amz-json-1.0' }).end(answers[String(headers['x-amz-target']).split('.')[1]!]);
  });
  const endpoint = process.env.AWS_ENDPOINT_URL_DYNAMODB;
  process.env.AWS_ENDPOINT_URL_DYNAMODB = server.origin;
  try {
    const reader = new Instance().token('crm');
    expect((await ended(reader.get({ timeoutMs: 10_000 }))).code).toBe('NO_USABLE_TOKEN');
    const asked: unknown[] = [];
    const token = new Instance().token('crm', {
      refresh: async request => {
        asked.push(request.refreshToken);
        return refresh();
      },
    });
    expect(await token.get(AT_ONCE)).toBe(FETCHED);
    expect(asked).toEqual([undefined]);
  } finally {
    process.env.AWS_ENDPOINT_URL_DYNAMODB = endpoint;
    await server.stop();
  }
});

test('a token of 390 KB is read and replaced; an unknown attribute that leaves no room for a lease is a known error, and stays', async () => {
  const large = 'x'.repeat(390 * 1024);
  expect(await putWire(table(), 'large-token', { ...TOKEN, accessToken: { S: large } })).toBe(true);
  const token = new Instance().token('large-token', { refresh });
  expect(await token.get(AT_ONCE)).toBe(large);
  expect(await token.refresh(AT_ONCE)).toBe(true);
  expect(await token.get(AT_ONCE)).toBe(FETCHED);

  expect(await putWire(table(), 'no-room', { later: { S: 'x'.repeat(400 * 1024 - 40) } })).toBe(true);
  const before = canonical(await getWire(table(), 'no-room'));
  expect((await ended(new Instance().token('no-room', { refresh }).get(AT_ONCE))).code).toBe('TABLE_REQUEST_REFUSED');
  expect(canonical(await getWire(table(), 'no-room'))).toBe(before);
});

test('a lease until the year 5000 that nobody renews is waited for no longer than the longest there is; one of 1970 is taken at once', async () => {
  const lease = (until: number) => ({ lease: { M: { id: { S: 'lease-1' }, since: { N: String(NOW) }, until: { N: String(until) } } } });
  expect(await putWire(table(), 'year-5000', lease(95_617_584_000_000))).toBe(true);
  const instance = new Instance();
  const token = instance.token('year-5000', { refresh });
  expect((await ended(token.get(SOON))).code).toBe('DEADLINE_EXCEEDED');
  instance.host.pass(15 * 60_000);
  table().pass(15 * 60_000);
  expect(await token.get(AT_ONCE)).toBe(FETCHED);
  table().reset();
  expect(await putWire(table(), 'year-1970', lease(1_000))).toBe(true);
  expect(await new Instance().token('year-1970', { refresh }).get(AT_ONCE)).toBe(FETCHED);
});

test('a failure whose retryAt is further off than any of ours keeps nobody waiting', async () => {
  const failure = { M: { code: { S: '503' }, count: { N: '3' }, at: { N: String(NOW) }, retryAt: { N: '95617584000000' } } };
  expect(await putWire(table(), 'retry-in-5000', { failure })).toBe(true);
  expect(await new Instance().token('retry-in-5000', { refresh }).get(AT_ONCE)).toBe(FETCHED);
});
