import { ask, CLIENT, failureFrom, SENTINEL } from './asking';
import { clientCredentials, type Credentials } from '../../lambda-runtime/oauth';
import { awsSecret } from '../../lambda-runtime/oauth/aws-secrets';
import { SecretsServer } from '../../local-aws/secrets-server';
import { OAuthServer } from '../support/oauth-server';

let server: OAuthServer;
let secrets: SecretsServer;
let environment: NodeJS.ProcessEnv;
beforeAll(async () => { server = await OAuthServer.start(); });
afterAll(async () => server.stop());
beforeEach(async () => {
  secrets = await SecretsServer.start();
  environment = { ...process.env };
  Object.assign(process.env, secrets.environment);
  Object.assign(server, { change: undefined }).requests.splice(0);
});
afterEach(async () => {
  process.env = environment;
  await secrets.stop();
});

const sourceOf = (credentials: Credentials) => clientCredentials({ tokenUrl: server.tokenUrl, clientAuthentication: 'client_secret_post', credentials });
const SECRET = JSON.stringify(CLIENT);
/** The server knows one secret. */
const accept = (clientSecret: string, error: object = { error: 'invalid_client' }, status = 401) => {
  server.change = (answer, { form }) => {
    if (form.client_secret !== clientSecret) Object.assign(answer, { statusCode: status, body: error });
  };
};

describe('where the credentials are', () => {
  test.each<[string, () => Credentials, string, string]>([
    ['a secret, by its name', () => ({ secretArn: 'crm' }), 'secretsmanager', 'eu-central-1'],
    ['a secret, by its ARN, whose region wins', () => ({ secretArn: secrets.secretArn('crm', 'us-west-2') }), 'secretsmanager', 'us-west-2'],
    ['a parameter, by its name', () => ({ parameterName: 'crm' }), 'ssm', 'eu-central-1'],
    ['a parameter, by its ARN, whose region wins', () => ({ parameterName: secrets.parameterArn('crm', 'us-west-2') }), 'ssm', 'us-west-2'],
  ])('%s', async (_, credentials, service, region) => {
    secrets.put('crm', SECRET);
    await ask(sourceOf(credentials()));
    expect(server.last.form).toMatchObject({ client_id: CLIENT.clientId, client_secret: CLIENT.clientSecret });
    expect(secrets.reads).toEqual([{ service, region, id: Object.values(credentials())[0] }]);
  });

  test('the ARN alone tells the region', async () => {
    delete process.env.AWS_REGION;
    secrets.put('crm', SECRET);
    await ask(sourceOf({ secretArn: secrets.secretArn('crm', 'us-west-2') }));
    expect(secrets.reads).toHaveLength(1);
  });

  test('plain fields are used as they are', async () => {
    await ask(sourceOf(CLIENT));
    expect(server.last.form).toMatchObject({ client_id: CLIENT.clientId, client_secret: CLIENT.clientSecret });
  });

  test.each<[string, (signals: AbortSignal[]) => Credentials]>([
    ['a function', signals => ({ signal }) => { signals.push(signal); return CLIENT; }],
    ['an async function', signals => async ({ signal }) => { signals.push(signal); return CLIENT; }],
  ])('%s gives them anew for each refresh, and is given the signal', async (_, credentialsWith) => {
    const signals: AbortSignal[] = [];
    const refresh = sourceOf(credentialsWith(signals));
    const { signal } = new AbortController();
    await ask(refresh, { signal });
    await ask(refresh, { signal });
    expect(server.last.form).toMatchObject({ client_secret: CLIENT.clientSecret });
    expect(signals).toEqual([signal, signal]);
  });
});

test('a stored secret is read with the first refresh, and kept for the next ones', async () => {
  secrets.put('crm', SECRET);
  const refresh = sourceOf({ secretArn: 'crm' });
  expect(secrets.reads).toHaveLength(0);
  await ask(refresh);
  await ask(refresh);
  expect(server.requests).toHaveLength(2);
  expect(secrets.reads).toHaveLength(1);
});

test('refreshes at the same time read it once', async () => {
  secrets.put('crm', SECRET);
  const refresh = sourceOf({ secretArn: 'crm' });
  await Promise.all([ask(refresh), ask(refresh), ask(refresh)]);
  expect(secrets.reads).toHaveLength(1);
});

describe('the provider refuses the credentials', () => {
  test.each<[string, object, number]>([
    ['invalid_client', { error: 'invalid_client' }, 400],
    ['unauthorized_client', { error: 'unauthorized_client' }, 400],
    ['401 without a code', {}, 401],
    ['401 with another code', { error: 'access_denied' }, 401],
  ])('by %s: a secret that was changed meanwhile is tried in the same refresh', async (_, error, status) => {
    secrets.put('crm', JSON.stringify({ clientId: 'a', clientSecret: 'old' }));
    const refresh = sourceOf({ secretArn: 'crm' });
    await ask(refresh);
    secrets.put('crm', JSON.stringify({ clientId: 'a', clientSecret: 'new' }));
    accept('new', error, status);
    await ask(refresh);
    expect(server.requests.map(({ form }) => form.client_secret)).toEqual(['old', 'old', 'new']);
    await ask(refresh);
    expect([server.requests.length, secrets.reads.length]).toEqual([4, 2]);
  });

  test('an unchanged secret is not tried again: the error is the provider\'s', async () => {
    secrets.put('crm', SECRET);
    accept('other');
    expect(await failureFrom(sourceOf({ secretArn: 'crm' }))).toMatchObject({ code: 'invalid_client', status: 401 });
    expect([server.requests.length, secrets.reads.length]).toEqual([1, 2]);
  });

  test('a changed secret that is refused, too, is not tried a third time', async () => {
    secrets.put('crm', JSON.stringify({ clientId: 'a', clientSecret: 'old' }));
    const refresh = sourceOf({ parameterName: 'crm' });
    await ask(refresh);
    secrets.put('crm', SECRET);
    accept('other');
    expect(await failureFrom(refresh)).toMatchObject({ code: 'invalid_client' });
    expect(server.requests).toHaveLength(3);
  });

  test('a secret that cannot be read again leaves the provider\'s error', async () => {
    secrets.put('crm', SECRET);
    const refresh = sourceOf({ secretArn: 'crm' });
    await ask(refresh);
    accept('other');
    secrets.failure = { code: 'AccessDeniedException' };
    expect(await failureFrom(refresh)).toMatchObject({ code: 'invalid_client' });
  });

  test.each([['invalid_scope', 400], ['access_denied', 403], ['server_error', 500]])('%s with %i is about something else: nothing is read or tried again', async (code, status) => {
    secrets.put('crm', SECRET);
    accept('other', { error: code }, status);
    expect(await failureFrom(sourceOf({ secretArn: 'crm' }))).toMatchObject({ code });
    expect([server.requests.length, secrets.reads.length]).toEqual([1, 1]);
  });

  test('a function is called again, and what it gives is tried if it is something else', async () => {
    let calls = 0;
    accept('secret-2');
    await ask(sourceOf(() => ({ clientId: 'a', clientSecret: `secret-${++calls}` })));
    expect(server.requests.map(({ form }) => form.client_secret)).toEqual(['secret-1', 'secret-2']);
  });

  test('plain fields stay what they are: no second try', async () => {
    accept('other');
    expect(await failureFrom(sourceOf(CLIENT))).toMatchObject({ code: 'invalid_client' });
    expect(server.requests).toHaveLength(1);
  });
});

test('a field that was added to the secret counts at once', async () => {
  secrets.put('crm', JSON.stringify({ clientId: 'a' }));
  const refresh = sourceOf({ secretArn: 'crm' });
  expect(await failureFrom(refresh)).toMatchObject({ code: 'SECRET_FIELD_MISSING', message: 'The secret "crm" lacks the field "clientSecret": add it.' });
  secrets.put('crm', SECRET);
  await ask(refresh);
  expect(server.requests).toHaveLength(1);
});

describe.each<[string, Credentials, string]>([
  ['a secret', { secretArn: 'crm' }, 'secret "crm"'],
  ['a parameter', { parameterName: 'crm' }, 'parameter "crm"'],
])('%s that cannot be used', (_, credentials, name) => {
  test('one that does not exist', async () => {
    const error = await failureFrom(sourceOf(credentials));
    expect(error).toMatchObject({ code: 'SECRET_NOT_FOUND', message: expect.stringMatching(`^The ${name} does not exist .*create it`) });
    expect(error.cause).toMatchObject({ name: expect.stringMatching(/NotFound/) });
  });

  test.each([
    ['AccessDeniedException', 'SECRET_ACCESS_DENIED', /grant this function's role/],
    ['DecryptionFailure', 'SECRET_ACCESS_DENIED', /kms:Decrypt/],
    ['InvalidKeyId', 'SECRET_ACCESS_DENIED', /kms:Decrypt/],
    ['UnrecognizedClientException', 'SECRET_ACCESS_DENIED', /AWS credentials/],
    ['ExpiredTokenException', 'SECRET_ACCESS_DENIED', /AWS credentials/],
    ['InvalidRequestException', 'SECRET_NOT_FOUND', /deleted/],
    ['ValidationException', 'SECRET_NOT_FOUND', /correct the name/],
    ['ParameterVersionNotFound', 'SECRET_NOT_FOUND', /correct the name/],
    ['SomethingNewException', 'SECRET_UNAVAILABLE', /see the cause/],
  ])('one that the service refuses with %s', async (code, expected, message) => {
    secrets.failure = { code };
    const error = await failureFrom(sourceOf(credentials));
    expect(error).toMatchObject({ code: expected, message: expect.stringMatching(message), cause: { name: code } });
    expect(error.message).toContain(`The ${name} `);
  });

  test('one that cannot be reached', async () => {
    process.env.AWS_ENDPOINT_URL_SECRETS_MANAGER = process.env.AWS_ENDPOINT_URL_SSM = 'http://127.0.0.1:1';
    process.env.AWS_MAX_ATTEMPTS = '1';
    expect(await failureFrom(sourceOf(credentials))).toMatchObject({ code: 'SECRET_UNAVAILABLE', message: expect.stringContaining('reach') });
  });

  test('one in a region that nobody names', async () => {
    for (const variable of ['AWS_REGION', 'AWS_DEFAULT_REGION']) delete process.env[variable];
    process.env.AWS_CONFIG_FILE = process.env.AWS_SHARED_CREDENTIALS_FILE = '/dev/null';
    expect(await failureFrom(sourceOf(credentials))).toMatchObject({ code: 'SECRET_UNAVAILABLE', message: expect.stringContaining('AWS_REGION') });
  });

  test.each([
    ['malformed JSON', `{"clientSecret":"${SENTINEL}`, 'not valid JSON'],
    ['plain text', SENTINEL, 'not valid JSON'],
    ['empty', '', '(not valid JSON|is binary)'],
    ['a text in JSON', JSON.stringify(SENTINEL), 'not an object'],
    ['an array', JSON.stringify([SENTINEL]), 'not an object'],
    ['null', 'null', 'not an object'],
  ])('one that is %s', async (__, value, message) => {
    secrets.put('crm', value);
    expect(await failureFrom(sourceOf(credentials)))
      .toMatchObject({ code: 'SECRET_INVALID', message: expect.stringMatching(`^The ${name} .*${message}`) });
    expect(server.requests).toEqual([]);
  });

  test('one that lacks a field', async () => {
    secrets.put('crm', JSON.stringify({ clientSecret: SENTINEL }));
    expect(await failureFrom(sourceOf(credentials)))
      .toMatchObject({ code: 'SECRET_FIELD_MISSING', message: `The ${name} lacks the field "clientId": add it.` });
  });

  test('one that is silent: the signal ends the read', async () => {
    const release = secrets.hold();
    const giveUp = new AbortController();
    const failed = failureFrom(sourceOf(credentials), { signal: giveUp.signal });
    while (secrets.reads.length === 0) await new Promise(setImmediate);
    giveUp.abort();
    expect(await failed).toMatchObject({ code: 'ABORTED' });
    while (secrets.givenUp === 0) await new Promise(setImmediate);
    release();
    expect(server.requests).toEqual([]);
  });
});

test('a binary secret', async () => {
  secrets.put('crm', Buffer.from(SECRET));
  expect(await failureFrom(sourceOf({ secretArn: 'crm' }))).toMatchObject({ code: 'SECRET_INVALID', message: expect.stringContaining('is binary') });
});

describe('a function for the credentials', () => {
  test.each<[string, () => unknown]>([
    ['throws', () => { throw Object.assign(new TypeError(SENTINEL), { code: 'MY_CODE', value: SENTINEL }); }],
    ['rejects', async () => Promise.reject(Object.assign(new TypeError(SENTINEL), { code: 'MY_CODE', value: SENTINEL }))],
  ])('that %s: what is told is the name and the code, since anything may be in the rest', async (_, credentials) => {
    const error = await failureFrom(sourceOf(credentials as Credentials));
    expect(error).toMatchObject({ code: 'CREDENTIALS_FAILED', message: expect.stringContaining('threw'), cause: { name: 'TypeError', code: 'MY_CODE' } });
  });

  test.each([undefined, null, SENTINEL, [SENTINEL]])('that returns %p instead of fields', async returned => {
    expect(await failureFrom(sourceOf((() => returned) as unknown as Credentials)))
      .toMatchObject({ code: 'SECRET_INVALID', message: expect.stringMatching(/^What the function in the option credentials returned is not an object/) });
  });

  test('that never ends: the signal does', async () => {
    const giveUp = new AbortController();
    const failed = failureFrom(sourceOf(async () => new Promise(() => giveUp.abort())), { signal: giveUp.signal });
    expect(await failed).toMatchObject({ code: 'ABORTED' });
  });
});

test('a client that cannot be made, as of a package that a bundler gives empty, is a typed error each time', async () => {
  const read = awsSecret('secret "crm"', async () => { throw new TypeError('SecretsManagerClient is not a constructor'); });
  for (let times = 0; times < 2; times++) {
    await expect(read(new AbortController().signal)).rejects.toMatchObject({ name: 'RefreshError', code: 'SECRET_UNAVAILABLE' });
  }
});
