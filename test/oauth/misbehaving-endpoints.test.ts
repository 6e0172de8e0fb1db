import { once } from 'node:events';
import { inspect } from 'node:util';
import { gzipSync } from 'node:zlib';
import { ask, CLIENT, expectNothingSecret, failureFrom, SENTINEL } from './asking';
import type { Refresh } from '../../lambda-runtime';
import { clientCredentials, httpRequest, refreshToken } from '../../lambda-runtime/oauth';
import { selfSignedCertificate } from '../support/certificate';
import { stopAfterEach } from '../support/stop-after-each';
import { type Behaviour, json, WildServer } from '../support/wild-server';

/*
 * Whatever an endpoint does, `refresh` throws a RefreshError with a code that can be stored and a message that helps, and shows nothing secret (failureFrom).
 */
const stopLater = stopAfterEach();
const TOKEN = `${SENTINEL}-token`;
const PROVIDERS_TEXT = `${SENTINEL}-text`;

const SOURCES: readonly (readonly [string, (url: string) => Refresh])[] = [
  ['clientCredentials', tokenUrl => clientCredentials({ tokenUrl, credentials: CLIENT })],
  ['refreshToken', tokenUrl => refreshToken({ tokenUrl, credentials: { ...CLIENT, refreshToken: `${SENTINEL}-refresh` } })],
  ['httpRequest', url => httpRequest({ url, credentials: CLIENT, body: { id: '{{clientId}}', secret: '{{clientSecret}}' } })],
];
const OAUTH_SOURCES = SOURCES.slice(0, 2);

describe.each(SOURCES)('%s', (_, sourceAt) => {
  const failureAt = async (behaviour: Behaviour) => {
    const server = stopLater(await WildServer.start(behaviour));
    return failureFrom(sourceAt(server.url));
  };

  test.each([
    [400, { error: 'invalid_scope', error_description: PROVIDERS_TEXT }, 'invalid_scope'],
    [401, { error: 'invalid_client', error_description: PROVIDERS_TEXT }, 'invalid_client'],
    [400, { error: 'unauthorized_client' }, 'unauthorized_client'],
    [400, { error: 'unsupported_grant_type' }, 'unsupported_grant_type'],
    [400, { error: 'invalid_target' }, 'invalid_target'],
    [503, { error: 'temporarily_unavailable' }, 'temporarily_unavailable'],
    [400, { error: `${PROVIDERS_TEXT} with blanks` }, '400'],
    [400, { error: `${SENTINEL}-0123456789` }, '400'],
    [400, { error: { code: 'x' } }, '400'],
    [403, { message: PROVIDERS_TEXT }, '403'],
    [404, [PROVIDERS_TEXT], '404'],
    [429, PROVIDERS_TEXT, '429'],
    [500, null, '500'],
  ])('a refusal: %s with %j has the code %s', async (status, body, code) => {
    const error = await failureAt(json(body, status));
    expect(error).toMatchObject({ code, status });
    expect(error.message).toMatch(new RegExp(`^The endpoint at http://127.0.0.1:\\d+ answered ${status}( with the code ${code})?\\. [A-Z].+\\.$`));
  });

  test('a refusal in HTML has the status as its code', async () => {
    const error = await failureAt(response => response.writeHead(502, { 'content-type': 'text/html' }).end(`<h1>${PROVIDERS_TEXT}</h1>`));
    expect(error).toMatchObject({ code: '502', message: expect.stringContaining('provider') });
  });

  test('a refusal that challenges the client in a header is read all the same', async () => {
    const error = await failureAt(json({ error: 'invalid_client' }, 401, { 'www-authenticate': `Basic realm="${PROVIDERS_TEXT}"` }));
    expect(error.code).toBe('invalid_client');
  });

  test('a refusal that is very large has the status as its code', async () => {
    const error = await failureAt(json({ error: 'invalid_scope', error_description: PROVIDERS_TEXT.repeat(100_000) }, 400));
    expect(error.code).toBe('400');
  });

  test.each(['120', 'Wed, 21 Oct 2026 07:28:00 GMT'])('a refusal passes Retry-After on: %s', async retryAfter => {
    expect(await failureAt(json({}, 429, { 'retry-after': retryAfter }))).toMatchObject({ code: '429', retryAfter });
  });

  test('a refusal with status 200 has the provider\'s code', async () => {
    const error = await failureAt(json({ error: 'bad_verification_code', error_description: PROVIDERS_TEXT }));
    expect(error).toMatchObject({ code: 'bad_verification_code', status: 200 });
  });

  test('a redirect is not followed, and its origin is told, no more', async () => {
    const elsewhere = stopLater(await WildServer.start(json({ access_token: TOKEN, token_type: 'Bearer' })));
    const error = await failureAt(json({}, 307, { location: `${elsewhere.origin}/login?secret=${SENTINEL}` }));
    expect(error).toMatchObject({ code: 'REDIRECTED', message: expect.stringContaining(`to ${elsewhere.origin}. `) });
    expect(elsewhere.requests).toEqual([]);
  });

  test('a redirect on the same server is none either', async () => {
    const server = stopLater(await WildServer.start(json({}, 302, { location: `/login/${SENTINEL}` })));
    const error = await failureFrom(sourceAt(server.url));
    expect(error).toMatchObject({ code: 'REDIRECTED', message: expect.stringContaining(`to ${server.origin}. `) });
    expect(server.requests).toHaveLength(1);
  });

  test.each([{ location: `javascript:${SENTINEL}` }, {} as Record<string, string>])('a redirect to nowhere: %j', async headers => {
    expect(await failureAt(json({}, 302, headers))).toMatchObject({ code: 'REDIRECTED', message: expect.not.stringContaining(' to ') });
  });

  test.each<[string, Behaviour]>([
    ['one that never ends', response => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const more = () => {
        while (!response.destroyed && response.write(PROVIDERS_TEXT.repeat(1_000)));
      };
      response.on('drain', more);
      more();
    }],
    ['one that is small on the wire', response => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(JSON.stringify({ access_token: TOKEN, padding: ' '.repeat(1_000_000) })));
    }],
  ])('an answer above 1 MB is not read to its end: %s', async (__, behaviour) => {
    expect(await failureAt(behaviour)).toMatchObject({ code: 'ANSWER_TOO_LARGE', message: expect.stringContaining('1 MB') });
  });

  test('an answer just below 1 MB is read', async () => {
    const small = { access_token: TOKEN, token_type: 'Bearer', padding: '' };
    const padding = ' '.repeat(1_000_000 - JSON.stringify(small).length);
    const server = stopLater(await WildServer.start(json({ ...small, padding })));
    expect(await ask(sourceAt(server.url))).toMatchObject({ accessToken: TOKEN });
  });

  test.each<[string, Behaviour]>([
    ['HTML', response => response.writeHead(200, { 'content-type': 'text/html' }).end(`<html>${PROVIDERS_TEXT}</html>`)],
    ['HTML that says it is JSON', response => response.writeHead(200, { 'content-type': 'application/json' }).end(`<html>${PROVIDERS_TEXT}</html>`)],
    ['half of the JSON', response => response.writeHead(200).end(`{"access_token":"${TOKEN}`)],
    ['a text', json(TOKEN)],
    ['null', json(null)],
    ['nothing', response => response.writeHead(200).end()],
    ['no content', response => response.writeHead(204).end()],
  ])('%s instead of a JSON object', async (__, behaviour) => {
    expect(await failureAt(behaviour)).toMatchObject({ code: 'ANSWER_NOT_JSON', message: expect.stringContaining('check the URL') });
  });

  test.each<[string, object]>([
    ['absent', { token_type: 'Bearer' }],
    ['null', { access_token: null, token_type: 'Bearer' }],
    ['empty', { access_token: '', token_type: 'Bearer' }],
    ['an object', { access_token: { token: TOKEN }, token_type: 'Bearer' }],
    ['a number', { access_token: 12, token_type: 'Bearer' }],
    ['in an array', [{ access_token: TOKEN }]],
  ])('an access token that is %s', async (__, body) => {
    expect(await failureAt(json(body))).toMatchObject({ code: 'ACCESS_TOKEN_MISSING', message: expect.stringContaining('access_token') });
  });

  test.each([-1, 0, 'soon', {}])('expires_in %j is an error', async expires_in => {
    const error = await failureAt(json({ access_token: TOKEN, token_type: 'Bearer', expires_in }));
    expect(error).toMatchObject({ code: 'EXPIRY_INVALID', message: expect.stringContaining('tokenLifeSeconds') });
  });

  test.each<[string, Behaviour]>([
    ['before it answers', response => response.destroy()],
    ['within the answer', response => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': 1_000 });
      response.write(`{"access_token":"${TOKEN}`, () => response.destroy());
    }],
  ])('a server that breaks the connection %s', async (__, behaviour) => {
    const error = await failureAt(behaviour);
    expect(error).toMatchObject({ code: expect.stringMatching(/^(UND_ERR_\w+|ECONNRESET)$/), message: expect.stringContaining('failed (') });
    expect(error.cause).toMatchObject({ code: error.code });
  });

  test('a server that speaks no HTTP', async () => {
    const error = await failureAt(response => response.socket?.end(`${PROVIDERS_TEXT}\r\n\r\n`));
    expect(error).toMatchObject({ code: 'ANSWER_NOT_HTTP', cause: { name: 'HTTPParserError' }, message: expect.stringContaining('host and port') });
  });

  test('no server at all', async () => {
    const server = await WildServer.start(json({}));
    const { url } = server;
    await server.stop();
    const error = await failureFrom(sourceAt(url));
    expect(error).toMatchObject({ code: 'ECONNREFUSED', cause: { code: 'ECONNREFUSED' }, message: expect.stringContaining('VPC') });
  });

  test('no such host', async () => {
    const error = await failureFrom(sourceAt('https://no-such-host.invalid/token'));
    // Where there is no name server at all, the answer is EAI_AGAIN.
    expect(error.code).toMatch(/^(ENOTFOUND|EAI_AGAIN)$/);
  });

  test('a port that fetch refuses: a reason without a code', async () => {
    expect(await failureFrom(sourceAt('http://127.0.0.1:6667/token'))).toMatchObject({ code: 'ENDPOINT_UNREACHABLE' });
  });

  test('a certificate that nobody has signed', async () => {
    const server = stopLater(await WildServer.start(json({}), selfSignedCertificate()));
    const error = await failureFrom(sourceAt(server.url));
    expect(error).toMatchObject({ code: 'DEPTH_ZERO_SELF_SIGNED_CERT', message: expect.stringMatching(/certificate is not trusted.*NODE_EXTRA_CA_CERTS/) });
    expect(server.requests).toEqual([]);
  });

  test('https to a server that speaks http', async () => {
    const server = stopLater(await WildServer.start(json({})));
    const error = await failureFrom(sourceAt(server.url.replace('http:', 'https:')));
    expect(error).toMatchObject({ code: expect.stringMatching(/SSL/), message: expect.stringContaining('speak HTTPS') });
  });

  test.each<[string, Behaviour]>([
    ['while the server is silent', () => undefined],
    ['within the answer', response => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write('{');
    }],
  ])('the signal ends the request: %s', async (__, behaviour) => {
    const giveUp = new AbortController();
    let left: Promise<unknown> | undefined;
    const server = stopLater(await WildServer.start((response, request) => {
      left = once(response, 'close');
      behaviour(response, request);
      setImmediate(() => giveUp.abort(new Error(SENTINEL)));
    }));
    expect(await failureFrom(sourceAt(server.url), { signal: giveUp.signal })).toMatchObject({ code: 'ABORTED' });
    await left;
    expect(server.givenUp).toBe(1);
  });

  test('a signal that is aborted already: nothing is sent', async () => {
    const server = stopLater(await WildServer.start(json({})));
    expect(await failureFrom(sourceAt(server.url), { signal: AbortSignal.abort() })).toMatchObject({ code: 'ABORTED' });
    expect(server.requests).toEqual([]);
  });

  test('the connection is not kept open: after a freeze it would be dead, and the next request lost', async () => {
    const server = stopLater(await WildServer.start(json({ access_token: TOKEN, token_type: 'Bearer' })));
    await ask(sourceAt(server.url));
    expect(server.last.headers.connection).toBe('close');
  });

  test('neither the function nor its options show a credential', () => {
    expectNothingSecret(sourceAt('https://auth.example/token'));
    expect(inspect(sourceAt('https://auth.example/token'), { showHidden: true })).toMatch(/Function/);
  });
});

describe.each(OAUTH_SOURCES)('%s, by the rules of OAuth', (_, sourceAt) => {
  const failureAt = async (body: object) => {
    const server = stopLater(await WildServer.start(json(body)));
    return failureFrom(sourceAt(server.url));
  };

  test.each(['mac', 'dpop', 'N_A'])('a token of the type %s is refused', async token_type => {
    expect(await failureAt({ access_token: TOKEN, token_type })).toMatchObject({ code: 'TOKEN_TYPE_UNSUPPORTED', message: expect.stringContaining('bearer') });
  });

  test.each([
    ['without token_type', { access_token: TOKEN }, 'token_type'],
    ['with a token_type that is null', { access_token: TOKEN, token_type: null }, 'token_type'],
    ['with a token_type that is no text', { access_token: TOKEN, token_type: [SENTINEL] }, 'token_type'],
    ['with a refresh token that is no text', { access_token: TOKEN, token_type: 'Bearer', refresh_token: [SENTINEL] }, 'refresh_token'],
  ])('an answer %s is not as the standard says, and the other way is named', async (__, body, field) => {
    const error = await failureAt(body);
    expect(error).toMatchObject({ code: 'ANSWER_INVALID', message: expect.stringMatching(`${field}.*httpRequest`) });
  });

  test.each(['a b', 'a\r\nX: y', 'a\u00A0b', 'a\u0000b', 'a\u007Fb', 'a\u0000', ' \n'])('a token with white space or control characters in it is none: %j', async access_token => {
    expect(await failureAt({ access_token, token_type: 'Bearer' }))
      .toMatchObject({ code: 'ACCESS_TOKEN_MISSING', message: expect.stringMatching(/access_token .* white space/) });
  });

  test('white space around the token is no part of it', async () => {
    const server = stopLater(await WildServer.start(json({ access_token: ` ${TOKEN}\n`, token_type: 'Bearer' })));
    expect(await ask(sourceAt(server.url))).toMatchObject({ accessToken: TOKEN });
  });

  test.each(['bearer', 'BEARER', 'Bearer'])('%s is a bearer token', async token_type => {
    const server = stopLater(await WildServer.start(json({ access_token: TOKEN, token_type })));
    expect(await ask(sourceAt(server.url))).toMatchObject({ accessToken: TOKEN });
  });

  test.each([
    ['an ID token of any issuer', { id_token: 'x' }],
    ['scopes as an array', { scope: ['a', 'b'] }],
    ['scopes that are null', { scope: null }],
    ['a refresh token that is null', { refresh_token: null }],
    ['a refresh token that is empty', { refresh_token: '' }],
  ])('%s does no harm', async (__, more) => {
    const server = stopLater(await WildServer.start(json({ access_token: TOKEN, token_type: 'Bearer', expires_in: 60, ...more }, 201)));
    expect(await ask(sourceAt(server.url))).toEqual({ accessToken: TOKEN, expiresIn: 60, refreshToken: undefined });
  });

  test('JSON that says it is text is read', async () => {
    const body = JSON.stringify({ access_token: TOKEN, token_type: 'Bearer' });
    const server = stopLater(await WildServer.start(response => response.writeHead(200, { 'content-type': 'text/plain' }).end(`\uFEFF${body}`)));
    expect(await ask(sourceAt(server.url))).toMatchObject({ accessToken: TOKEN });
  });
});
