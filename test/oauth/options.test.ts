import { optionErrorOf, SENTINEL } from './asking';
import {
  clientCredentials, httpRequest, refreshFrom, refreshToken,
  type ClientCredentialsOptions, type Credentials, type HttpRequestOptions, type RefreshTokenOptions, type SourceSettings,
} from '../../lambda-runtime/oauth';

/*
 * Options and settings are checked when a source is made, since they may come from JavaScript or from another version. `as object` stands for that.
 */
const ENDPOINT = { tokenUrl: 'https://auth.example/token', credentials: { secretArn: 'crm' } };
const REQUEST = { url: 'https://auth.example/session', credentials: { secretArn: 'crm' } };
const GRANTS = [
  ['clientCredentials', (options: object) => clientCredentials(options as ClientCredentialsOptions)],
  ['refreshToken', (options: object) => refreshToken(options as RefreshTokenOptions)],
] as const;
const request = (options: object) => httpRequest(options as HttpRequestOptions);
const SOURCES = [
  ...GRANTS.map(([name, make]) => [name, (options: object) => make({ ...ENDPOINT, ...options }), 'tokenUrl'] as const),
  ['httpRequest', (options: object) => request({ ...REQUEST, ...options }), 'url'] as const,
];

describe.each(SOURCES)('%s', (name, make, url) => {
  test.each([undefined, null, 'a', [], 1])('no options but %p', options => {
    const factory = { clientCredentials, refreshToken, httpRequest }[name] as (options: unknown) => unknown;
    expect(optionErrorOf(() => factory(options)).message).toBe(`${name}: the options are not an object.`);
  });

  test('an unknown option, with the known ones', () => {
    const { message } = optionErrorOf(() => make({ tokenURL: SENTINEL }));
    expect(message).toMatch(new RegExp(`^${name}: there is no option "tokenURL"\\. Known: ${url}, credentials, tokenLifeSeconds, .*\\.$`));
  });

  test.each(['kind', 'constructor', 'toString'])('"%s" is no option', option => {
    expect(optionErrorOf(() => make({ [option]: SENTINEL })).message).toContain(`no option "${option}"`);
  });

  test('no URL', () => {
    expect(optionErrorOf(() => make({ [url]: undefined })).message).toContain(`${name}: the option "${url}" is missing`);
  });

  test.each([
    'https://auth.example/token?tenant=a', 'http://localhost:3000/token', 'http://127.0.0.1/token', 'http://[::1]:3000/token', 'HTTPS://AUTH.EXAMPLE',
  ])('the URL %s', value => {
    expect(make({ [url]: value })).toBeInstanceOf(Function);
  });

  test.each([
    'http://auth.example/token', 'http://localhost.auth.example/token', 'http://127.0.0.2/token', 'http://192.168.0.1/token', 'ftp://localhost/token',
    'auth.example/token', '/token', '', `https://user:${SENTINEL}@auth.example/token`, 'https://auth.example/{{tenant}}', 'https://auth.example/token#top',
    'https://auth.example/token#', 1, null, new URL('https://auth.example'),
  ])('not the URL %s', value => {
    expect(optionErrorOf(() => make({ [url]: value })).message).toMatch(new RegExp(`^${name}: the option "${url}" must be a URL with https \\(http only for localhost`));
  });

  test.each<[string, Credentials]>([
    ['a secret', { secretArn: 'a' }], ['a parameter', { parameterName: 'a' }], ['fields', { clientId: 'a' }], ['no fields', {}], ['a function', () => ({})],
  ])('credentials: %s', (_, credentials) => {
    expect(make({ credentials })).toBeInstanceOf(Function);
  });

  test.each<[string, unknown]>([
    ['a secret without a name', { secretArn: undefined }], ['a secret with an empty name', { secretArn: '' }], ['a parameter without a name', { parameterName: undefined }],
    ['a name that is no text', { secretArn: { name: SENTINEL } }], ['both', { secretArn: 'a', parameterName: 'b' }],
    ['a secret and fields', { secretArn: 'a', clientSecret: SENTINEL }], ['text', SENTINEL], ['null', null], ['an array', [SENTINEL]],
  ])('not the credentials: %s', (_, credentials) => {
    expect(optionErrorOf(() => make({ credentials })).message).toMatch(`${name}: the option "credentials" must be one of { secretArn }, { parameterName }`);
  });

  test.each([1, 1.5, 3600, 3_153_600_000])('a life of %d seconds', tokenLifeSeconds => {
    expect(make({ tokenLifeSeconds })).toBeInstanceOf(Function);
  });

  test.each([0, 0.999, -1, NaN, Infinity, '3600', null, 3_153_600_001])('not a life of %p seconds', tokenLifeSeconds => {
    expect(optionErrorOf(() => make({ tokenLifeSeconds })).message).toContain('"tokenLifeSeconds" must be a number of seconds, from one to');
  });
});

describe.each(GRANTS)('%s, as a grant', (name, make) => {
  test('no credentials', () => {
    expect(optionErrorOf(() => make({ tokenUrl: ENDPOINT.tokenUrl })).message).toContain(`${name}: the option "credentials" is missing: it must be one of`);
  });

  test.each(['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none'])('clientAuthentication %s', clientAuthentication => {
    expect(make({ ...ENDPOINT, clientAuthentication })).toBeInstanceOf(Function);
  });

  test.each<[string, unknown, string]>([
    ['clientAuthentication', 'client_secret_jwt', 'one of client_secret_basic, client_secret_post, private_key_jwt, none'],
    ['clientAuthentication', 'toString', 'one of client_secret_basic'],
    ['clientAuthentication', ['none'], 'one of client_secret_basic'],
    ['scopes', 'a b', 'an array of non-empty strings'],
    ['scopes', ['a', ''], 'an array of non-empty strings'],
    ['scopes', [1], 'an array of non-empty strings'],
    ['scopes', null, 'an array of non-empty strings'],
    ['scopes', [], 'at least one'],
    ...['a b', 'a\tb', 'a"b', 'a\\b', 'é', 'a\n'].map((scope): [string, unknown, string] => ['scopes', ['a', scope], 'without spaces, quotes, backslashes']),
    ['audience', '', 'a non-empty string'],
    ['audience', ['a'], 'a non-empty string'],
    ['resource', 1, 'a non-empty string'],
    ['parameters', 'a=b', 'an object of strings'],
    ['parameters', { a: 1 }, 'an object of strings'],
    ['parameters', ['a'], 'an object of strings'],
    ...['grant_type', 'client_id', 'client_secret', 'client_assertion', 'client_assertion_type', 'refresh_token', 'scope', 'audience', 'resource']
      .map((parameter): [string, unknown, string] => ['parameters', { [parameter]: SENTINEL }, parameter]),
  ])('not %s: %j', (option, value, rule) => {
    const { message } = optionErrorOf(() => make({ ...ENDPOINT, [option]: value }));
    expect(message).toContain(`${name}: the option "${option}" must be `);
    expect(message).toContain(rule);
  });
});

describe('httpRequest, as a request', () => {
  const make = (options: object) => request({ ...REQUEST, ...options });

  test('credentials may be left out where no placeholder needs them', () => {
    expect(request({ url: REQUEST.url, headers: { 'x-a': 'b' }, body: { a: '{b}' } })).toBeInstanceOf(Function);
  });

  test.each([{ body: { a: [{ b: 'c {{token}}' }] } }, { headers: { 'x-a': '{{token}}' } }])('not where one does: %j', options => {
    expect(optionErrorOf(() => request({ url: REQUEST.url, ...options })).message).toBe('httpRequest: the placeholder "{{token}}" needs the option "credentials".');
  });

  test.each([{ body: { a: [{ b: 'c {{}}' }] } }, { body: { a: '{{user}}{{ }}' } }, { headers: { 'x-a': '{{}}' } }])('no placeholder without a name: %j', options => {
    for (const needed of [REQUEST, { url: REQUEST.url }]) {
      expect(optionErrorOf(() => request({ ...needed, ...options })).message).toMatch(/^httpRequest: the placeholder "{{}}" names no field/);
    }
  });

  test.each<[string, unknown, string]>([
    ['method', 'FETCH', 'one of GET, PATCH, POST, PUT'],
    ['method', 'get', 'one of GET'],
    ['method', 1, 'one of GET'],
    ['headers', 'a: b', 'an object of strings'],
    ['headers', { a: 1 }, 'an object of strings'],
    ['headers', { 'a b': SENTINEL }, 'that a header may have'],
    ['headers', { a: `${SENTINEL}\nb` }, 'that a header may have'],
    ['format', 'xml', 'json or form'],
    ['body', 'a=b', 'an object'],
    ['body', ['a'], 'an object'],
    ['body', { a: { b: 1n } }, 'that JSON can express'],
    ['accessTokenField', '', 'the path of a field'],
    ['accessTokenField', 'a..b', 'the path of a field'],
    ['expiresInField', '.a', 'the path of a field'],
    ['expiresAtField', 1, 'the path of a field'],
  ])('not %s: %p', (option, value, rule) => {
    const { message } = optionErrorOf(() => make({ [option]: value }));
    expect(message).toContain(`httpRequest: the option "${option}" must be `);
    expect(message).toContain(rule);
  });

  test('no body that is a circle', () => {
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    expect(optionErrorOf(() => make({ body: circle })).message).toContain('that JSON can express');
  });

  test.each([{}, [], null, undefined])('not %p in a form', value => {
    expect(optionErrorOf(() => make({ format: 'form', body: { a: value } })).message).toContain('strings, numbers or booleans');
    expect(make({ format: 'json', body: { a: value } })).toBeInstanceOf(Function);
  });

  test('no body with GET', () => {
    expect(optionErrorOf(() => make({ method: 'GET', body: {} })).message).toContain('a GET request has no body');
  });
});

describe('refreshFrom', () => {
  const KINDS: readonly SourceSettings[] = [
    { kind: 'client_credentials', ...ENDPOINT, scopes: ['a'] }, { kind: 'refresh_token', ...ENDPOINT }, { kind: 'http_request', ...REQUEST, body: { a: '{{a}}' } },
  ];
  test.each(KINDS.map(settings => [settings.kind, settings] as const))('makes a source of the kind %s, from JSON as well', (_, settings) => {
    expect(refreshFrom(settings)).toBeInstanceOf(Function);
    expect(refreshFrom(JSON.parse(JSON.stringify(settings)) as SourceSettings)).toBeInstanceOf(Function);
  });

  test.each(['password', 'constructor', '', undefined, null, 1])('knows no kind %p', kind => {
    const { message } = optionErrorOf(() => refreshFrom({ ...ENDPOINT, kind } as unknown as SourceSettings));
    expect(message).toMatch(/^refreshFrom: there is no kind of source .*Known: client_credentials, refresh_token, http_request\. Deploy/);
  });

  test.each([undefined, null, '{"kind":"client_credentials"}', 1])('takes no settings but an object: %p', settings => {
    expect(optionErrorOf(() => refreshFrom(settings as unknown as SourceSettings)).message).toBe('refreshFrom: the settings are not an object.');
  });

  test.each<[SourceSettings['kind'], string]>([
    ['client_credentials', 'clientCredentials'], ['refresh_token', 'refreshToken'], ['http_request', 'httpRequest'],
  ])('a setting of another version: %s', (kind, factory) => {
    const settings = { ...(kind === 'http_request' ? REQUEST : ENDPOINT), kind, newer: SENTINEL } as unknown as SourceSettings;
    expect(optionErrorOf(() => refreshFrom(settings)).message).toContain(`${factory}: there is no option "newer"`);
  });
});
