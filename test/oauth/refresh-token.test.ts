import { ask, CLIENT, failureFrom, SENTINEL } from './asking';
import { refreshTokenOf } from '../../lambda-runtime/errors';
import { type CredentialFields, type Credentials, refreshToken, type RefreshTokenOptions } from '../../lambda-runtime/oauth';
import { SecretsServer } from '../../local-aws/secrets-server';
import { OAuthServer } from '../support/oauth-server';

let server: OAuthServer;
let secrets: SecretsServer;
let environment: NodeJS.ProcessEnv;
/** The refresh tokens that the server accepts, and what it issues with the next answer. */
let valid: Set<string>;
let issued: string | undefined;
beforeAll(async () => { server = await OAuthServer.start(); });
afterAll(async () => server.stop());
beforeEach(async () => {
  secrets = await SecretsServer.start();
  environment = { ...process.env };
  Object.assign(process.env, secrets.environment);
  server.requests.splice(0);
  valid = new Set();
  issued = undefined;
  server.change = (answer, { form }) => {
    if (!valid.has(form.refresh_token!)) Object.assign(answer, { statusCode: 400, body: { error: 'invalid_grant', error_description: SENTINEL } });
    else answer.body.refresh_token = issued;
  };
});
afterEach(async () => {
  process.env = environment;
  await secrets.stop();
});

const sourceOf = (credentials: Credentials = { secretArn: 'crm' }, options: Partial<RefreshTokenOptions> = {}) =>
  refreshToken({ tokenUrl: server.tokenUrl, credentials, ...options });
const put = (fields: CredentialFields) => secrets.put('crm', JSON.stringify({ ...CLIENT, ...fields }));
const tried = () => server.requests.map(({ form }) => form.refresh_token);

test('sends the grant with the parameters that were given', async () => {
  valid.add('seed');
  const options = { scopes: ['a', 'b'], audience: 'https://api.example', resource: 'https://r.example', parameters: { tenant: 't' } };
  const result = await ask(sourceOf({ ...CLIENT, refreshToken: 'seed' }, options));
  expect(server.last.form).toEqual({
    grant_type: 'refresh_token', refresh_token: 'seed', scope: 'a b', audience: 'https://api.example', resource: 'https://r.example', tenant: 't',
  });
  expect(result).toMatchObject({ accessToken: expect.stringMatching(/^ey/), expiresIn: 3600 });
});

describe('which refresh token is used', () => {
  test('the stored one, and not the secret\'s', async () => {
    put({ refreshToken: 'seed' });
    valid.add('stored').add('seed');
    await ask(sourceOf(), { refreshToken: 'stored' });
    expect(tried()).toEqual(['stored']);
  });

  test('the secret\'s while none is stored, in either spelling', async () => {
    put({ refresh_token: 'seed' });
    valid.add('seed');
    await ask(sourceOf());
    expect(tried()).toEqual(['seed']);
  });

  test('none at all is an error that names the field', async () => {
    put({});
    expect(await failureFrom(sourceOf())).toMatchObject({ code: 'SECRET_FIELD_MISSING', message: 'The secret "crm" lacks the field "refreshToken": add it.' });
    expect(server.requests).toEqual([]);
  });

  test('the stored one needs none in the secret', async () => {
    put({});
    valid.add('stored');
    await ask(sourceOf(), { refreshToken: 'stored' });
    expect(tried()).toEqual(['stored']);
  });
});

describe('which refresh token is to be stored', () => {
  const toStoreAfter = async (stored?: string) => (await ask(sourceOf(), { refreshToken: stored })).refreshToken;

  test.each<[string, string | undefined, string | undefined, string | undefined]>([
    ['the new one that replaces the stored one', 'stored', 'new', 'new'],
    ['the new one that replaces the secret\'s', undefined, 'new', 'new'],
    ['none where the stored one stays good', 'stored', undefined, undefined],
    ['none where the answer repeats the stored one', 'stored', 'stored', undefined],
    ['none where the secret\'s stays good: it is where it belongs', undefined, undefined, undefined],
    ['none where the answer repeats the secret\'s', undefined, 'seed', undefined],
    ['the secret\'s where the stored one was refused: else that would be tried each time', 'dead', undefined, 'seed'],
    ['the new one where the stored one was refused', 'dead', 'new', 'new'],
  ])('%s', async (_, stored, answered, expected) => {
    put({ refreshToken: 'seed' });
    valid.add('stored').add('seed');
    issued = answered;
    expect(await toStoreAfter(stored)).toBe(expected);
  });
});

describe('a refused refresh token (invalid_grant)', () => {
  test('the stored one: the secret\'s is tried in the same refresh, read anew', async () => {
    put({ refreshToken: 'first-login' });
    valid.add('stored');
    const refresh = sourceOf();
    await ask(refresh, { refreshToken: 'stored' });
    valid.delete('stored');
    put({ refreshToken: 'second-login' });
    valid.add('second-login');
    expect(await ask(refresh, { refreshToken: 'stored' })).toMatchObject({ refreshToken: 'second-login' });
    expect([tried(), secrets.reads.length]).toEqual([['stored', 'stored', 'second-login'], 2]);
  });

  test('the secret\'s: one that was put there meanwhile is tried', async () => {
    put({ refreshToken: 'first-login' });
    valid.add('first-login');
    const refresh = sourceOf();
    await ask(refresh);
    valid.delete('first-login');
    put({ refreshToken: 'second-login' });
    valid.add('second-login');
    expect(await ask(refresh)).toMatchObject({ refreshToken: undefined });
    expect(tried()).toEqual(['first-login', 'first-login', 'second-login']);
  });

  test('the secret\'s, unchanged: it is sent once, and the advice is to log in again', async () => {
    put({ refreshToken: 'seed' });
    expect(await failureFrom(sourceOf())).toMatchObject({ code: 'invalid_grant', message: expect.stringMatching(/log in again.*into the secret/) });
    expect(tried()).toEqual(['seed']);
  });

  test('one with status 401 is no other matter', async () => {
    server.change = answer => Object.assign(answer, { statusCode: 401, body: { error: 'invalid_grant' } });
    put({ refreshToken: 'seed' });
    const refresh = sourceOf();
    await failureFrom(refresh, { refreshToken: 'stored' });
    put({ refreshToken: 'second-login' });
    await failureFrom(refresh, { refreshToken: 'stored' });
    expect(tried()).toEqual(['stored', 'seed', 'stored', 'second-login']);
  });

  test('the stored one, and the secret holds the same: it is sent once', async () => {
    put({ refreshToken: 'stored' });
    expect(await failureFrom(sourceOf(), { refreshToken: 'stored' })).toMatchObject({ code: 'invalid_grant' });
    expect(tried()).toEqual(['stored']);
  });

  test('the stored one, and the secret has none', async () => {
    put({});
    expect(await failureFrom(sourceOf(), { refreshToken: 'stored' })).toMatchObject({ code: 'invalid_grant' });
    expect(tried()).toEqual(['stored']);
  });

  test('the stored one, and the secret cannot be read again: the provider\'s error stays', async () => {
    put({ refreshToken: 'seed' });
    valid.add('stored');
    const refresh = sourceOf();
    await ask(refresh, { refreshToken: 'stored' });
    valid.delete('stored');
    secrets.failure = { code: 'AccessDeniedException' };
    expect(await failureFrom(refresh, { refreshToken: 'stored' })).toMatchObject({ code: 'invalid_grant' });
    expect(tried()).toEqual(['stored', 'stored']);
  });

  test('one that was refused in this process is not tried again in place of the stored one', async () => {
    put({ refreshToken: 'seed' });
    const refresh = sourceOf();
    await failureFrom(refresh, { refreshToken: 'stored' });
    await failureFrom(refresh, { refreshToken: 'stored' });
    expect(tried()).toEqual(['stored', 'seed', 'stored']);
  });

  test('but while none is stored it is, since there is no other', async () => {
    put({ refreshToken: 'seed' });
    const refresh = sourceOf();
    await failureFrom(refresh);
    await failureFrom(refresh);
    expect(tried()).toEqual(['seed', 'seed']);
  });

  test('one that was refused to another client is tried for this one', async () => {
    server.change = (answer, { form }) => {
      if (form.client_id !== 'right') Object.assign(answer, { statusCode: 400, body: { error: 'invalid_grant' } });
    };
    put({ clientId: 'wrong', refreshToken: 'seed' });
    const refresh = sourceOf(undefined, { clientAuthentication: 'client_secret_post' });
    await failureFrom(refresh);
    put({ clientId: 'right', refreshToken: 'seed' });
    await ask(refresh);
    expect(server.requests.map(({ form }) => form.client_id)).toEqual(['wrong', 'wrong', 'right']);
  });

  test('plain fields: the one in them is tried in place of the stored one', async () => {
    valid.add('seed');
    expect(await ask(sourceOf({ ...CLIENT, refreshToken: 'seed' }), { refreshToken: 'stored' })).toMatchObject({ refreshToken: 'seed' });
  });

  test('plain fields whose refresh token is no text', async () => {
    const credentials = { ...CLIENT, refreshToken: [SENTINEL] } as unknown as CredentialFields;
    expect(await failureFrom(sourceOf(credentials), { refreshToken: 'stored' })).toMatchObject({ code: 'invalid_grant' });
    expect(await failureFrom(sourceOf(credentials))).toMatchObject({ code: 'SECRET_FIELD_INVALID', message: expect.stringContaining('"refreshToken"') });
  });
});

test.each([['invalid_scope', 400], ['server_error', 500]])('%s is about something else: nothing is read or tried again', async (error, statusCode) => {
  put({ refreshToken: 'seed' });
  server.change = answer => Object.assign(answer, { statusCode, body: { error } });
  expect(await failureFrom(sourceOf(), { refreshToken: 'stored' })).toMatchObject({ code: error });
  expect([tried(), secrets.reads.length]).toEqual([['stored'], 1]);
});

test('a client that was replaced as a whole: the stored token is tried once with each, then the new log-in\'s', async () => {
  put({ clientId: 'old', refreshToken: 'first-login' });
  valid.add('stored');
  const refresh = sourceOf(undefined, { clientAuthentication: 'client_secret_post' });
  await ask(refresh, { refreshToken: 'stored' });
  put({ clientId: 'new', refreshToken: 'second-login' });
  server.change = (answer, { form }) => {
    if (form.client_id === 'old') Object.assign(answer, { statusCode: 401, body: { error: 'invalid_client' } });
    else if (form.refresh_token !== 'second-login') Object.assign(answer, { statusCode: 400, body: { error: 'invalid_grant' } });
  };
  server.requests.splice(0);
  await ask(refresh, { refreshToken: 'stored' });
  expect(server.requests.map(({ form }) => [form.client_id, form.refresh_token])).toEqual([['old', 'stored'], ['new', 'stored'], ['new', 'second-login']]);
});

test.each([['invalid_client', 401], ['unauthorized_client', 400]])('%s: a changed secret is tried with the stored token', async (error, statusCode) => {
  put({ clientSecret: 'old' });
  const refresh = sourceOf(undefined, { clientAuthentication: 'client_secret_post' });
  valid.add('stored');
  await ask(refresh, { refreshToken: 'stored' });
  put({ clientSecret: 'new' });
  server.change = (answer, { form }) => {
    if (form.client_secret !== 'new') Object.assign(answer, { statusCode, body: { error } });
  };
  await ask(refresh, { refreshToken: 'stored' });
  expect(server.requests.map(({ form }) => form.client_secret)).toEqual(['old', 'old', 'new']);
  expect(tried()).toEqual(['stored', 'stored', 'stored']);
});

describe('a refresh token in an answer that is of no use otherwise', () => {
  test.each<[string, object]>([
    ['makes no sense of the expiry', { expires_in: 0 }],
    ['has a token of another type', { token_type: 'mac' }],
    ['has no token', { access_token: undefined }],
  ])('comes with the error, and is not shown: an answer that %s', async (_, change) => {
    valid.add('stored');
    issued = `${SENTINEL}-rotated`;
    const { change: rotate } = server;
    server.change = (answer, request) => {
      rotate?.(answer, request);
      Object.assign(answer.body, change);
    };
    put({});
    const error = await failureFrom(sourceOf(), { refreshToken: 'stored' });
    expect(refreshTokenOf(error)).toBe(issued);
  });
});

test('the secret\'s refresh token that was refused once is tried again after a while: the mishap may have been the provider\'s', async () => {
  let now = 0;
  jest.spyOn(performance, 'now').mockImplementation(() => now);
  put({ refreshToken: 'login' });
  const refresh = sourceOf();
  await failureFrom(refresh, { refreshToken: 'dead' });
  await failureFrom(refresh, { refreshToken: 'dead' });
  expect(tried()).toEqual(['dead', 'login', 'dead']);
  now += 15 * 60_000;
  valid.add('login');
  expect(await ask(refresh, { refreshToken: 'dead' })).toMatchObject({ refreshToken: 'login' });
  jest.restoreAllMocks();
});
