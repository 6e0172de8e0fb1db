import { ask, failureFrom, SENTINEL } from './asking';
import { type HttpRequestOptions, httpRequest } from '../../lambda-runtime/oauth';
import { UnsecuredJWT } from '../support/jose';
import { type Behaviour, json, WildServer } from '../support/wild-server';

let server: WildServer;
const GRANTED = json({ access_token: 'the-token', expires_in: 60 });
beforeAll(async () => { server = await WildServer.start(GRANTED); });
afterAll(async () => server.stop());
beforeEach(() => Object.assign(server, { behaviour: GRANTED }).requests.splice(0));

const FIELDS = { user: 'Ann', password: 'a"b\\c&d=e\nf$&g', number: 7, isTest: true, api_key: 'key' };
const sourceWith = (options: Partial<HttpRequestOptions> = {}) => httpRequest({ url: server.url, credentials: FIELDS, ...options });
const answering = (behaviour: Behaviour) => { server.behaviour = behaviour; };

describe('the request', () => {
  test.each<Partial<HttpRequestOptions>>([{}, { format: 'form' }])('is a POST without a body where nothing is said: %j', async options => {
    await ask(httpRequest({ url: server.url, ...options }));
    expect(server.last).toMatchObject({ method: 'POST', path: '/token', body: '', headers: { accept: 'application/json' } });
    expect(server.last.headers).not.toHaveProperty('content-type');
  });

  test.each(['GET', 'POST', 'PUT', 'PATCH'])('has the method %s', async method => {
    await ask(sourceWith({ method }));
    expect(server.last.method).toBe(method);
  });

  test('has a JSON body, with placeholders at any depth, and values as they are', async () => {
    await ask(sourceWith({
      body: {
        user: '{{user}}', deep: { list: ['{{password}}', { text: '{{ number }}/{{isTest}}/{{user}}' }] }, count: 3, flag: false, none: null, ['{{user}}']: 'a',
      },
    }));
    expect(server.last.headers['content-type']).toBe('application/json');
    expect(JSON.parse(server.last.body)).toEqual({
      user: 'Ann', deep: { list: [FIELDS.password, { text: '7/true/Ann' }] }, count: 3, flag: false, none: null, ['{{user}}']: 'a',
    });
  });

  test('has a form', async () => {
    await ask(sourceWith({ format: 'form', body: { user: '{{user}}', password: '{{password}}', count: 3, flag: true } }));
    expect(server.last.headers['content-type']).toBe('application/x-www-form-urlencoded;charset=UTF-8');
    expect(Object.fromEntries(new URLSearchParams(server.last.body))).toEqual({ user: 'Ann', password: FIELDS.password, count: '3', flag: 'true' });
  });

  test('has headers, which count before its own', async () => {
    await ask(sourceWith({ headers: { 'X-Api-Key': '{{apiKey}}-{{user}}', 'Accept': 'application/vnd.erp+json', 'content-type': 'text/json' }, body: { a: 1 } }));
    expect(server.last.headers).toMatchObject({ 'x-api-key': 'key-Ann', 'accept': 'application/vnd.erp+json', 'content-type': 'text/json' });
  });

  test('does not read placeholders in the values of fields', async () => {
    await ask(sourceWith({ credentials: { a: '{{b}}', b: SENTINEL }, body: { a: '{{a}}' } }));
    expect(JSON.parse(server.last.body)).toEqual({ a: '{{b}}' });
  });

  test('has dates as JSON writes them, and is not changed any more', async () => {
    const body = { at: new Date(0), user: '{{user}}' };
    const refresh = sourceWith({ body });
    body.user = 'other';
    await ask(refresh);
    expect(JSON.parse(server.last.body)).toEqual({ at: '1970-01-01T00:00:00.000Z', user: 'Ann' });
  });

  test('keeps a member of the name __proto__', async () => {
    await ask(sourceWith({ body: JSON.parse('{"__proto__":{"a":"{{user}}"}}') as Record<string, unknown> }));
    expect(server.last.body).toBe('{"__proto__":{"a":"Ann"}}');
  });
});

describe('a placeholder whose field', () => {
  test.each<[string, Partial<HttpRequestOptions>]>([
    ['is missing, in the body', { body: { a: [{ b: '{{token}}' }] } }],
    ['is missing, in a header', { headers: { authorization: 'Bearer {{token}}' } }],
    ['is empty', { credentials: { token: '' }, body: { a: '{{token}}' } }],
    ['is null', { credentials: { token: null }, body: { a: '{{token}}' } }],
  ])('%s: the error names it', async (_, options) => {
    expect(await failureFrom(sourceWith(options)))
      .toMatchObject({ code: 'SECRET_FIELD_MISSING', message: 'The option credentials lacks the field "token": add it.' });
    expect(server.requests).toEqual([]);
  });

  test('only an object has by nature is missing', async () => {
    expect(await failureFrom(sourceWith({ body: { a: '{{constructor}}' } }))).toMatchObject({ code: 'SECRET_FIELD_MISSING' });
  });

  test('is no text: the error names it', async () => {
    expect(await failureFrom(sourceWith({ credentials: { token: { value: SENTINEL } }, body: { a: '{{token}}' } })))
      .toMatchObject({ code: 'SECRET_FIELD_INVALID', message: expect.stringContaining('"token"') });
  });

  test.each([`${SENTINEL}\nX-Other: 1`, `${SENTINEL}€`])('cannot stand in a header: the error names the header, and not the value (%j)', async token => {
    expect(await failureFrom(sourceWith({ credentials: { token }, headers: { 'X-Token': 'a {{token}}' } })))
      .toMatchObject({ code: 'SECRET_FIELD_INVALID', message: expect.stringContaining('"X-Token"') });
    expect(server.requests).toEqual([]);
  });
});

test('a refused credential is read again, and a changed one is tried once', async () => {
  let calls = 0;
  answering((response, { headers }) => headers['x-key'] === 'key-2' ? GRANTED(response, server.last) : json({}, 401)(response, server.last));
  await ask(sourceWith({ credentials: () => ({ key: `key-${++calls}` }), headers: { 'x-key': '{{key}}' } }));
  expect(server.requests.map(({ headers }) => headers['x-key'])).toEqual(['key-1', 'key-2']);
});

describe('the answer', () => {
  test('may have white space around the token, and none in it: it goes into a header', async () => {
    answering(json({ access_token: ' abc\n', expires_in: 60 }));
    expect(await ask(sourceWith())).toMatchObject({ accessToken: 'abc' });
    for (const access_token of ['a\r\nX: y', 'a b', 'a\u00A0b', 'a\u0000b', 'a\u007Fb', 'a\u0000']) {
      answering(json({ access_token, expires_in: 60 }));
      expect(await failureFrom(sourceWith())).toMatchObject({ code: 'ACCESS_TOKEN_MISSING', message: expect.stringContaining('white space') });
    }
  });

  test('holds token and life where OAuth puts them', async () => {
    expect(await ask(sourceWith())).toEqual({ accessToken: 'the-token', expiresIn: 60 });
  });

  test('needs no token_type', async () => {
    answering(json({ access_token: 'the-token', token_type: 'mac' }));
    expect(await ask(sourceWith())).toEqual({ accessToken: 'the-token' });
  });

  test('holds them where it was told, at any depth and in arrays', async () => {
    answering(json({ data: { sessions: [{ 'token': 'deep', 'ttl': '90', 'valid-until': '2099-01-01T00:00:00Z' }] }, access_token: 'other', expires_in: 1 }));
    const accessTokenField = 'data.sessions.0.token';
    expect(await ask(sourceWith({ accessTokenField, expiresInField: 'data.sessions.0.ttl' }))).toEqual({ accessToken: 'deep', expiresIn: 90 });
    expect(await ask(sourceWith({ accessTokenField, expiresAtField: 'data.sessions.0.valid-until' })))
      .toEqual({ accessToken: 'deep', expiresAt: Date.parse('2099-01-01T00:00:00Z') });
  });

  test('may be an array', async () => {
    answering(json([{ token: 'first' }]));
    expect(await ask(sourceWith({ accessTokenField: '0.token' }))).toEqual({ accessToken: 'first' });
  });

  test('may be a JWT that says when it ends', async () => {
    const exp = Math.floor(Date.now() / 1_000) + 600;
    answering(json({ access_token: new UnsecuredJWT({ exp }).encode() }));
    expect(await ask(sourceWith())).toMatchObject({ expiresAt: exp * 1_000 });
  });

  test('may not say when it ends: the configured life counts', async () => {
    answering(json({ access_token: 'the-token' }));
    expect(await ask(sourceWith({ tokenLifeSeconds: 60 }))).toEqual({ accessToken: 'the-token', expiresIn: 60 });
  });

  test.each<Partial<HttpRequestOptions>>([{ expiresInField: 'ttl' }, { expiresAtField: 'validUntil' }])('lacks a field that was named (%j): never no expiry', async options => {
    answering(json({ access_token: 'the-token' }));
    expect(await failureFrom(sourceWith(options))).toMatchObject({ code: 'EXPIRY_INVALID' });
    expect(await ask(sourceWith({ ...options, tokenLifeSeconds: 60 }))).toEqual({ accessToken: 'the-token', expiresIn: 60 });
  });

  test.each([
    ['absent', { data: {} }], ['under a text', { data: SENTINEL }], ['under null', { data: null }], ['an object', { data: { token: {} } }],
    ['a number', { data: { token: 1 } }], ['blank', { data: { token: ' ' } }],
  ])('holds a token that is %s: the error names the field', async (_, body) => {
    answering(json(body));
    expect(await failureFrom(sourceWith({ accessTokenField: 'data.token' })))
      .toMatchObject({ code: 'ACCESS_TOKEN_MISSING', message: expect.stringContaining('data.token') });
  });

  test('is searched for what it holds itself, and not for what an object has by nature', async () => {
    answering(json({}));
    expect(await failureFrom(sourceWith({ accessTokenField: 'constructor.name' }))).toMatchObject({ code: 'ACCESS_TOKEN_MISSING' });
  });
});
