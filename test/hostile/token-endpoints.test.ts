import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { ended, prototypes } from './support/outcome';
import { getWire, putWire } from './support/wire-table';
import { canonical, isValid, type WireItem } from './support/wire-values';
import type { Refresh } from '../../lambda-runtime';
import { clientCredentials, httpRequest, refreshToken } from '../../lambda-runtime/oauth';
import { isStorableCode } from '../../lambda-runtime/storable-code';
import { ask, CLIENT, failureFrom, SENTINEL } from '../oauth/asking';
import { Instance } from '../support/instance';
import { tablePerFile } from '../support/per-test';
import { stopAfterEach } from '../support/stop-after-each';
import { type Behaviour, WildServer } from '../support/wild-server';

/*
 * Whatever a token endpoint answers: a token that is one, or a RefreshError that shows nothing of the answer; and in the table the refresh token is still there.
 * test/oauth/misbehaving-endpoints.test.ts says what the errors are; here the answers are made at random, and go through the real table.
 */
jest.setTimeout(120_000);
const { table } = tablePerFile();
const stopLater = stopAfterEach();
const prototypesBefore = prototypes();
afterEach(async () => {
  await sleep(20); // jest fails a test for a rejection that nobody handles, while it runs
  expect(prototypes()).toBe(prototypesBefore);
});

const TEXT = `${SENTINEL} text`;
const SOURCES: readonly (readonly [string, (url: string) => Refresh])[] = [
  ['clientCredentials', tokenUrl => clientCredentials({ tokenUrl, credentials: CLIENT })],
  ['refreshToken', tokenUrl => refreshToken({ tokenUrl, credentials: { ...CLIENT, refreshToken: `${SENTINEL}-refresh` } })],
  ['httpRequest', url => httpRequest({ url, credentials: CLIENT, body: { id: '{{clientId}}', secret: '{{clientSecret}}' } })],
];

/** What is sent, before anything is made of it. */
interface WildAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

const json = fc.oneof(
  { weight: 1, arbitrary: fc.json({ maxDepth: 3, noUnicodeString: false }) },
  // As text: what JSON.stringify would not write.
  {
    weight: 6,
    arbitrary: fc.array(fc.tuple(
      fc.constantFrom('access_token', 'access_token', 'token_type', 'refresh_token', 'expires_in', 'error', '__proto__', 'constructor', 'prototype', 'toString', 'then'),
      fc.constantFrom(
        '"good"', '"Bearer"', '"bearer"', '3600', '"3600"', 'null', '""', '" "', '[]', '{}', 'true', '-1', '1e999', '1e-999', `"${TEXT}"`, '"invalid_grant"', '"\\ud800"', '"a\\u0000b"',
        '{"polluted":true}', '{"prototype":{"polluted":true}}', '{"access_token":"inherited","error":"x"}', `${'['.repeat(2_000)}${']'.repeat(2_000)}`, '"é"',
        `"${'x'.repeat(400_000)}"`,
      ),
    ), { maxLength: 7 }).map(entries => `{${entries.map(([name, value]) => `"${name}":${value}`).join()}}`),
  },
  { weight: 1, arbitrary: fc.constantFrom('{"access_token":"good","token_type":"bearer","refresh_token":"rotated"}', '{"access_token":"good","token_type":"bearer"}') },
);
const body = fc.oneof(
  { weight: 5, arbitrary: json.map(text => Buffer.from(text)) },
  { weight: 1, arbitrary: json.map(text => Buffer.from(`\uFEFF${text}`)) },
  { weight: 1, arbitrary: json.map(text => Buffer.from(text, 'latin1')) }, // no UTF-8 any more where it is not ASCII
  { weight: 1, arbitrary: json.map(text => Buffer.from(text, 'utf16le')) },
  { weight: 1, arbitrary: fc.tuple(json, fc.nat(), fc.nat(255)).map(([text, place, byte]) => withByte(Buffer.from(text), place, byte)) },
  { weight: 1, arbitrary: fc.tuple(json, fc.nat()).map(([text, length]) => Buffer.from(text).subarray(0, length % (text.length + 1))) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 200 }).map(bytes => Buffer.from(bytes)) },
);
const headers = fc.record({
  'content-type': fc.constantFrom('application/json', 'text/html; charset=utf-16', 'image/png', '', ';;;', 'application/json; charset=nonsense'),
  'retry-after': fc.constantFrom('5', '-1', '99999999999', TEXT, 'Fri, 31 Dec 9999 23:59:59 GMT'),
  'www-authenticate': fc.constantFrom(`Basic realm="${TEXT}"`, 'Bearer', '"', ',,,='),
  'content-encoding': fc.constantFrom('identity', 'gzip', 'br', 'nonsense'),
  'location': fc.constantFrom(`https://elsewhere.example/${SENTINEL}`, '//', TEXT),
  'set-cookie': fc.constant(`a=${TEXT}`),
}, { requiredKeys: [] });
const STATUSES = [201, 202, 204, 206, 302, 304, 308, 400, 401, 403, 404, 407, 429, 500, 503, 599, 999];
const wildAnswer: fc.Arbitrary<WildAnswer> = fc.record({
  status: fc.oneof({ weight: 3, arbitrary: fc.constant(200) }, fc.constantFrom(...STATUSES)),
  headers: fc.oneof({ weight: 2, arbitrary: fc.constant({ 'content-type': 'application/json' }) }, headers),
  body,
});

function withByte(bytes: Buffer, place: number, byte: number): Buffer {
  if (bytes.length > 0) bytes[place % bytes.length] = byte;
  return bytes;
}

const answering = ({ status, headers: sent, body: bytes }: WildAnswer): Behaviour =>
  response => response.writeHead(status, sent as Record<string, string>).end(bytes);

/** A source's answer: a token that can go into a header, or an error that failureFrom is content with. */
async function expectTokenOrError(refresh: Refresh): Promise<'token' | 'error'> {
  let result: Awaited<ReturnType<Refresh>>;
  try {
    result = await ask(refresh, { refreshToken: 'stored-refresh-token' });
  } catch (error) {
    await failureFrom(async () => { throw error; });
    return 'error';
  }
  expect(typeof result.accessToken === 'string' && /^[^\s\u0000-\u001F\u007F]+$/.test(result.accessToken)).toBe(true);
  expect(result.refreshToken === undefined || typeof result.refreshToken === 'string').toBe(true);
  return 'token';
}

test.each(SOURCES)('%s: whatever the endpoint answers is a token that is one, or an error that shows nothing of it', async (_, sourceAt) => {
  const server = stopLater(await WildServer.start(response => response.end()));
  const counted = { token: 0, error: 0 };
  await fc.assert(fc.asyncProperty(wildAnswer, async answer => {
    server.behaviour = answering(answer);
    counted[await expectTokenOrError(sourceAt(server.url))]++;
  }), { numRuns: 200 });
  expect(Math.min(counted.token, counted.error)).toBeGreaterThan(0); // else this says little
});

test('through the real table: the refresh token is still there, or a newer one; a failure is a code', async () => {
  const server = stopLater(await WildServer.start(response => response.end()));
  let count = 0;
  await fc.assert(fc.asyncProperty(wildAnswer, async answer => {
    server.behaviour = answering(answer);
    const tokenId = `endpoint-${count++}`;
    const stored: WireItem = {
      accessToken: { S: 'stored-token' }, generation: { N: '1' }, issuedAt: { N: '1700000000000' }, refreshToken: { S: 'stored-refresh-token' },
    };
    expect(await putWire(table(), tokenId, stored)).toBe(true);
    const refresh = refreshToken({ tokenUrl: server.url, credentials: { ...CLIENT, refreshToken: 'of-the-secret' } });
    const { code, error } = await ended(new Instance().token(tokenId, { refresh }).refresh({ timeoutMs: 20_000 }));
    const item = (await getWire(table(), tokenId))!;
    expect(isValid(item)).toBe(true);
    expect(item.lease).toBeUndefined();
    expect((item.refreshToken?.S as string).trim()).not.toBe('');
    if (code === undefined) return;
    expect(item.accessToken).toEqual(stored.accessToken);
    expect(isStorableCode((item.failure?.M as WireItem).code?.S)).toBe(true);
    expect(canonical({ ...item, refreshToken: undefined })).not.toContain(SENTINEL);
    expect(`${error?.message} ${error?.stack}`).not.toContain(SENTINEL);
  }), { numRuns: 60, endOnFailure: true });
});

test.each(SOURCES)('%s: keys of prototypes in JSON bring in no token and change nothing', async (_, sourceAt) => {
  const inherited = '{"access_token":"inherited","token_type":"bearer","polluted":true,"expires_in":1}';
  for (const text of [
    `{"__proto__":${inherited}}`, `{"constructor":{"prototype":${inherited}}}`, `[${inherited}]`, `{"access_token":{"__proto__":${inherited},"toString":"x"},"token_type":"bearer"}`,
  ]) {
    const server = stopLater(await WildServer.start(response => response.writeHead(200).end(text)));
    expect(await failureFrom(sourceAt(server.url))).toMatchObject({ code: 'ACCESS_TOKEN_MISSING' });
    expect(({} as { readonly polluted?: unknown }).polluted).toBeUndefined();
  }
});

test.each(SOURCES)('%s: of a key that is there twice the last counts, and is checked', async (_, sourceAt) => {
  const server = stopLater(await WildServer.start(response => response.writeHead(200).end('{"access_token":"good","token_type":"bearer","access_token":5}')));
  expect(await failureFrom(sourceAt(server.url))).toMatchObject({ code: 'ACCESS_TOKEN_MISSING' });
});

test.each(SOURCES)('%s: an answer that is nested as deep as 1 MB allows', async (_, sourceAt) => {
  const deep = `${'['.repeat(400_000)}${']'.repeat(400_000)}`;
  const server = stopLater(await WildServer.start(response => response.writeHead(200).end(`{"deep":${deep},"access_token":"good","token_type":"bearer"}`)));
  expect(await expectTokenOrError(sourceAt(server.url))).toBe('token');
  server.behaviour = response => response.writeHead(200).end(`{"access_token":"good","token_type":${deep}}`);
  await expectTokenOrError(sourceAt(server.url));
  server.behaviour = response => response.writeHead(400).end(`{"error":${deep}}`);
  expect(await failureFrom(sourceAt(server.url))).toMatchObject({ code: '400' });
});

/** Far more than the limit, and than what lies in sockets on the way. */
const LARGE = 100_000_000;

test.each(SOURCES.flatMap(([name, sourceAt]) => [[name, 200, sourceAt] as const, [name, 500, sourceAt] as const]))(
  '%s: of an answer of 100 MB with status %s no more is taken than the limit and what was on its way', async (_, status, sourceAt) => {
    let sent = 0;
    let closed: Promise<unknown> | undefined;
    const chunk = Buffer.alloc(100_000, 'x');
    const server = stopLater(await WildServer.start((response: ServerResponse) => {
      closed = once(response, 'close');
      response.writeHead(status, { 'content-type': 'application/json', 'content-length': LARGE });
      const more = () => {
        for (let isWritable = true; isWritable && !response.destroyed && sent < LARGE; sent += chunk.length) isWritable = response.write(chunk);
        if (sent >= LARGE) response.end();
      };
      response.on('drain', more);
      more();
    }));
    expect(await failureFrom(sourceAt(server.url))).toMatchObject({ code: status === 200 ? 'ANSWER_TOO_LARGE' : '500' });
    await closed;
    expect(sent).toBeGreaterThan(0);
    expect(sent).toBeLessThan(LARGE / 2);
    expect(server.givenUp).toBe(1);
  });

test.each<[string, Behaviour]>([
  ['2,000 headers', response => {
    for (let count = 0; count < 2_000; count++) response.setHeader(`x-${count}`, TEXT);
    response.writeHead(200).end('{"access_token":"good","token_type":"bearer"}');
  }],
  ['a header of 1 MB', response => response.writeHead(200, { 'x-large': SENTINEL.repeat(130_000) }).end('{"access_token":"good","token_type":"bearer"}')],
])('%s are too many for every source', async (_, behaviour) => {
  for (const [, sourceAt] of SOURCES) {
    const server = stopLater(await WildServer.start(behaviour));
    expect(await failureFrom(sourceAt(server.url))).toMatchObject({ code: 'UND_ERR_HEADERS_OVERFLOW' });
  }
});
