import { CfnParameter, Duration, Lazy, Stack } from 'aws-cdk-lib';
import * as secretsmanager from 'aws-cdk-lib/aws-secretsmanager';
import * as ssm from 'aws-cdk-lib/aws-ssm';
import { addCrm, SECRET_ARN, setUp, TOKEN_URL } from './support/refreshers';
import { variablesOf } from './support/stacks';
import { BodyFormat, ClientAuthentication, ClientCredentialsSourceProps, HttpRequestSourceProps, TokenSource } from '../../src';

const ANYWHERE = 'https://login.example.com/session';
const secretIn = (stack: Stack) => secretsmanager.Secret.fromSecretCompleteArn(stack, 'Secret', SECRET_ARN);
const secureIn = (stack: Stack) => ssm.StringParameter.fromSecureStringParameterAttributes(stack, 'Parameter', { parameterName: '/crm/client' });

/** What the refresher is told. */
function settingsOf(makeSource: (stack: Stack) => TokenSource): unknown {
  const { stack, tokens } = setUp();
  const crm = addCrm({ stack, tokens }, { source: makeSource(stack) });
  return JSON.parse(variablesOf(stack, crm.function).SHARED_TOKEN_SOURCE as string);
}

const refused = (makeSource: (stack: Stack) => TokenSource) => expect(() => {
  const { stack, tokens } = setUp();
  addCrm({ stack, tokens }, { source: makeSource(stack) });
});

const refusedClient = (props: Partial<ClientCredentialsSourceProps>) =>
  refused(stack => TokenSource.clientCredentials({ tokenUrl: TOKEN_URL, credentials: secretIn(stack), ...props }));

const refusedRequest = (props: Partial<HttpRequestSourceProps>) => refused(() => TokenSource.httpRequest({ url: ANYWHERE, ...props }));

describe('the refresher is told', () => {
  test('of client credentials what was given, in the names of the contract, and nothing else', () => {
    expect(settingsOf(stack => TokenSource.clientCredentials({ tokenUrl: TOKEN_URL, credentials: secretIn(stack) })))
      .toEqual({ kind: 'client_credentials', tokenUrl: TOKEN_URL, credentials: { secretArn: SECRET_ARN } });
    expect(settingsOf(stack => TokenSource.clientCredentials({
      tokenUrl: TOKEN_URL,
      credentials: secretIn(stack),
      clientAuthentication: ClientAuthentication.PRIVATE_KEY_JWT,
      scopes: ['orders.read', 'orders.write'],
      audience: 'orders',
      resource: 'https://api.example.com/orders',
      parameters: { tenant: '42' },
      tokenLife: Duration.minutes(30),
    }))).toEqual({
      kind: 'client_credentials',
      tokenUrl: TOKEN_URL,
      credentials: { secretArn: SECRET_ARN },
      clientAuthentication: 'private_key_jwt',
      scopes: ['orders.read', 'orders.write'],
      audience: 'orders',
      resource: 'https://api.example.com/orders',
      parameters: { tenant: '42' },
      tokenLifeSeconds: 1800,
    });
  });

  test.each([
    [ClientAuthentication.CLIENT_SECRET_BASIC, 'client_secret_basic'],
    [ClientAuthentication.CLIENT_SECRET_POST, 'client_secret_post'],
    [ClientAuthentication.PRIVATE_KEY_JWT, 'private_key_jwt'],
    [ClientAuthentication.NONE, 'none'],
  ])('the registered name of %s', (clientAuthentication, name) => {
    expect(settingsOf(stack => TokenSource.clientCredentials({ tokenUrl: TOKEN_URL, credentials: secretIn(stack), clientAuthentication })))
      .toMatchObject({ clientAuthentication: name });
  });

  test('of a refresh token the same, and where the first one is', () => {
    expect(settingsOf(stack => TokenSource.refreshToken({
      tokenUrl: TOKEN_URL, credentialsParameter: secureIn(stack), clientAuthentication: ClientAuthentication.NONE, scopes: ['orders.read'],
    }))).toEqual({
      kind: 'refresh_token',
      tokenUrl: TOKEN_URL,
      credentials: { parameterName: '/crm/client' },
      clientAuthentication: 'none',
      scopes: ['orders.read'],
    });
  });

  test('of a request its parts, with the names of fields where credentials belong', () => {
    expect(settingsOf(stack => TokenSource.httpRequest({
      url: ANYWHERE,
      method: 'PUT',
      headers: { 'authorization': 'Key {{apiKey}}', 'x-tenant': '42' },
      bodyFormat: BodyFormat.FORM,
      body: { user: '{{user}}', password: '{{password}}', remember: true, attempts: 1 },
      credentials: secretIn(stack),
      accessTokenField: 'data.token',
      expiresInField: 'data.ttl',
      expiresAtField: 'data.until',
    }))).toEqual({
      kind: 'http_request',
      url: ANYWHERE,
      method: 'PUT',
      headers: { 'authorization': 'Key {{apiKey}}', 'x-tenant': '42' },
      format: 'form',
      body: { user: '{{user}}', password: '{{password}}', remember: true, attempts: 1 },
      credentials: { secretArn: SECRET_ARN },
      accessTokenField: 'data.token',
      expiresInField: 'data.ttl',
      expiresAtField: 'data.until',
    });
    expect(settingsOf(() => TokenSource.httpRequest({ url: ANYWHERE }))).toEqual({ kind: 'http_request', url: ANYWHERE });
  });

  test('values that are known only at deployment, within the same JSON', () => {
    const { stack, tokens } = setUp();
    const tenant = new CfnParameter(stack, 'Tenant').valueAsString;
    const crm = addCrm({ stack, tokens }, { source: TokenSource.httpRequest({ url: `https://${tenant}.example.com/`, body: { tenant } }) });
    expect(variablesOf(stack, crm.function).SHARED_TOKEN_SOURCE).toEqual({
      'Fn::Join': ['', ['{"kind":"http_request","url":"https://', { Ref: 'Tenant' }, '.example.com/","body":{"tenant":"', { Ref: 'Tenant' }, '"}}']],
    });
  });
});

describe('a URL that credentials are sent to', () => {
  test.each([TOKEN_URL, 'https://auth.example.com:8443/token?tenant=42&key_id=7', 'http://localhost:8080/token', 'http://127.0.0.1/', 'http://[::1]:80/'])('may be %s', (url) => {
    expect(settingsOf(() => TokenSource.httpRequest({ url }))).toMatchObject({ url });
    expect(settingsOf(stack => TokenSource.clientCredentials({ tokenUrl: url, credentials: secretIn(stack) }))).toMatchObject({ tokenUrl: url });
  });

  test('may be known only at deployment', () => {
    const { stack, tokens } = setUp();
    const url = new CfnParameter(stack, 'Url').valueAsString;
    expect(() => addCrm({ stack, tokens }, { source: TokenSource.httpRequest({ url }) })).not.toThrow();
  });

  test.each([
    ['auth.example.com/token', /is a URL\. Got "auth\.example\.com\/token"/],
    ['', /is a URL\. Got ""/],
    [undefined as unknown as string, /is a URL\. Got nothing/],
    ['http://auth.example.com/token', /sent encrypted.* Got 'http:\/\/auth\.example\.com\/token'/],
    ['http://localhost.example.com/', /sent encrypted/],
    ['ftp://auth.example.com/token', /sent encrypted/],
    ['https://auth.example.com/token#top', /no fragment/],
    ['https://auth.example.com/token#', /no fragment/],
    ['https://auth.example.com/{{key}}', /hold no credentials\. Got a URL with \{\{\.\.\.\}\}/],
    ['https://auth.example.com/?api_key=k-123', /hold no credentials\. Got a query with 'api_key'/],
    ['https://auth.example.com/?secret_key=k-123', /Got a query with 'secret_key'/],
    ['https://auth.example.com/?v=1&sig=k-123', /Got a query with 'sig'/],
    ['https://auth.example.com/?key=k-123', /Got a query with 'key'/],
  ])('cannot be %s', (url, message) => {
    refusedClient({ tokenUrl: url }).toThrow(message);
    refusedClient({ tokenUrl: url }).toThrow(/^Stack0\/Tokens\/Crm: .*expected an https URL without credentials.* Correct `tokenUrl`\.$/);
    refusedRequest({ url }).toThrow(/Correct `url`\.$/);
  });

  test.each(['https://me:hush@auth.example.com/', 'https://hush@auth.example.com/', 'https://:hush@auth.example.com/', 'https://a.example.com/?client_secret=hush'])(
    'cannot hold credentials, and the message does not repeat them: %s', (url) => {
      refusedRequest({ url }).toThrow(/hold no credentials/);
      refusedRequest({ url }).not.toThrow(/hush/);
    });
});

describe('credentials', () => {
  test('are in one place', () => {
    refused(stack => TokenSource.clientCredentials({ tokenUrl: TOKEN_URL, credentials: secretIn(stack), credentialsParameter: secureIn(stack) }))
      .toThrow('Stack0/Tokens/Crm: A source has its credentials in one place. Got both `credentials` and `credentialsParameter`, expected one of the two.');
  });

  test.each<[string, TokenSource, RegExp]>([
    ['client credentials', TokenSource.clientCredentials({ tokenUrl: TOKEN_URL }), /needs credentials: `clientId`, and `clientSecret` or `privateKey`\. Got neither/],
    ['a client that proves nothing, for it has an id', TokenSource.clientCredentials({ tokenUrl: TOKEN_URL, clientAuthentication: ClientAuthentication.NONE }), /Got neither/],
    ['a refresh token', TokenSource.refreshToken({ tokenUrl: TOKEN_URL }), /needs credentials: `refreshToken` and `clientId`.* Got neither/],
    ['a request with fields', TokenSource.httpRequest({ url: ANYWHERE, body: { key: '{{ apiKey }}' } }), /needs credentials: the fields that the request names\. Got neither/],
    ['a request with fields deep within', TokenSource.httpRequest({ url: ANYWHERE, body: { a: [{ b: 'x{{apiKey}}' }] } }), /Got neither/],
  ])('are needed for %s', (_name, tokenSource, message) => {
    refused(() => tokenSource).toThrow(message);
  });

  test('are of use to a request in its fields only', () => {
    refused(stack => TokenSource.httpRequest({ url: ANYWHERE, headers: { a: 'b' }, body: { '{{name}}': 'x' }, credentials: secretIn(stack) }))
      .toThrow(/uses the credentials by their fields\. Got credentials, and none of their fields in `headers` or `body`/);
  });

  test.each<[string, (stack: Stack) => Partial<HttpRequestSourceProps>]>([
    ['a header', stack => ({ headers: { 'x-key': new CfnParameter(stack, 'Template').valueAsString } })],
    ['a body', () => ({ body: { user: { key: Lazy.any({ produce: () => '{{key}}' }) } } })],
  ])('may be used by what is known only at deployment: in %s', (_name, props) => {
    const { stack, tokens } = setUp();
    const source = TokenSource.httpRequest({ url: ANYWHERE, credentials: secretIn(stack), ...props(stack) });
    expect(() => addCrm({ stack, tokens }, { source })).not.toThrow();
  });

  test.each<[string, (stack: Stack) => ssm.IStringParameter, string]>([
    ['one that a template holds', stack => new ssm.StringParameter(stack, 'Plain', { stringValue: 'visible' }), 'that a stack makes'],
    ['an imported one of the type String', stack => ssm.StringParameter.fromStringParameterName(stack, 'Plain', 'crm-client'), "of the type 'String'"],
  ])('in a parameter are a SecureString, not %s', (_name, make, got) => {
    refused(stack => TokenSource.clientCredentials({ tokenUrl: TOKEN_URL, credentialsParameter: make(stack) }))
      .toThrow(`Credentials in Parameter Store are encrypted. Got a parameter ${got}, expected a SecureString, which CloudFormation cannot make.`);
  });

  test('in a secret that knows no ARN cannot be granted', () => {
    refused((stack) => {
      const secret = secretIn(stack);
      Object.defineProperty(secret, 'secretArn', { value: 'crm-client' }); // as `Secret.fromSecretName` does, which is deprecated
      return TokenSource.clientCredentials({ tokenUrl: TOKEN_URL, credentials: secret });
    }).toThrow(/A policy names a secret by its ARN\. Got a secret that knows its name alone, 'crm-client'.*fromSecretNameV2/);
  });
});

describe('what stands in the template is no credential:', () => {
  test.each(['client_secret', 'refresh_token', 'client_id', 'client_assertion', 'grant_type', 'scope', 'audience', 'resource'])(
    'the parameter %s is not for `parameters`', (name) => {
      refusedClient({ parameters: { [name]: 'x' } }).toThrow(`Stack0/Tokens/Crm: The parameter ${name} of a token request is not for \`parameters\`.`);
    });

  test.each(['password', 'user_password', 'api_key', 'apiKey', 'app_secret', 'subject_token', 'assertion', 'token'])('the parameter %s would be one', (name) => {
    refusedClient({ parameters: { [name]: 'hush' } }).toThrow(`Got the parameter '${name}' with a value of its own, expected credentials in \`credentials\` alone.`);
    refusedClient({ parameters: { [name]: 'hush' } }).not.toThrow(/hush/);
  });

  test.each(['authorization', 'Authorization', 'Proxy-Authorization', 'x-api-key', 'X-Auth-Token', 'cookie'])('the header %s with a value of its own would be one', (name) => {
    refusedRequest({ headers: { [name]: 'hush' } }).toThrow(`Got '${name}' in \`headers\` with a value of its own`);
    refusedRequest({ headers: { [name]: 'hush' } }).not.toThrow(/hush/);
  });

  test.each([
    'X-Vault-Token', 'api_token', 'secret_key', 'apiSecretKey', 'signature', 'X-Amz-Signature', 'sig', 'sessionId', 'PHPSESSID', 'pass', 'userPass', 'DB_PASS', 'passcode', 'pin',
    'Ocp-Apim-Subscription-Key', 'x-functions-key', 'DD-APPLICATION-KEY', 'X-Auth-Key', 'credential', 'credentials', 'secret_id', 'api_key_2', 'password1', 'user[password]',
    'user.password', 'jwt',
  ])('the name %s says so, in headers and bodies', (name) => {
    const isHeader = /^[\w.-]+$/.test(name);
    if (isHeader) refusedRequest({ headers: { [name]: 'hush' } }).toThrow(`Got '${name}' in \`headers\` with a value of its own`);
    refusedRequest({ body: { [name]: 'hush' } }).toThrow(`Got '${name}' in \`body\` with a value of its own`);
  });

  test.each([
    'token_type', 'grant_type', 'audience', 'key_id', 'keyId', 'kid', 'key', 'public_key', 'partitionKey', 'client_id', 'username', 'session', 'session_duration',
    'signature_method', 'subject_token_type', 'authorization_details', 'token_endpoint', 'credential_type', 'bypass', 'compass', 'shipping', 'config', 'design', 'monkey',
    'x-api-key-version', 'passenger',
  ])('the name %s does not', (name) => {
    expect(settingsOf(() => TokenSource.httpRequest({ url: ANYWHERE, headers: { [name]: 'x' }, body: { [name]: 'x' } }))).toMatchObject({ body: { [name]: 'x' } });
  });

  test.each<[string, { [field: string]: unknown }]>([
    ['a field', { password: 'hush' }],
    ['a number', { password: 1234 }],
    ['a field within a field', { user: { name: 'me', clientSecret: 'hush' } }],
    ['a field of a list', { users: [{ apiKey: 'hush' }] }],
    ['a list', { secret: ['hush'] }],
    ['braces that name no field', { password: '{{}}' }],
  ])('in a body %s would be one', (_name, body) => {
    refusedRequest({ body }).toThrow(/Got '\w+' in `body` with a value of its own.*'\{\{apiKey\}\}'/);
  });

  test.each<[string, { [field: string]: unknown }]>([
    ['what only sounds like one', { requested_token_type: 'x', token_format: 'jwt', passwordless: 'yes', keyId: '7' }],
    ['an empty text, a switch, nothing', { password: '', secret: false, token: null }],
  ])('%s is not one', (_name, body) => {
    expect(settingsOf(() => TokenSource.httpRequest({ url: ANYWHERE, body }))).toMatchObject({ body });
  });
});

describe('settings that no provider would understand are errors:', () => {
  test.each<[string, Partial<ClientCredentialsSourceProps>, RegExp]>([
    ['no scopes', { scopes: [] }, /list of scopes, each an item of its own\. Got an empty list/],
    ['an empty scope', { scopes: ['a', ''] }, /Got '', expected at least one/],
    ['two scopes in one', { scopes: ['orders.read orders.write'] }, /Got 'orders\.read orders\.write'/],
    ['scopes that are no list', { scopes: 'orders' as unknown as string[] }, /Got 'orders'/],
    ['an empty audience', { audience: '' }, /`audience` is a text that the server knows/],
    ['an empty resource', { resource: '' }, /`resource` is a text that the server knows/],
    ['an authentication that does not exist', { clientAuthentication: 'tls' as ClientAuthentication }, /no such way to authenticate a client\. Got 'tls', expected ClientAuthentication\.CLIENT_SECRET_BASIC/],
    ['a parameter that is a number', { parameters: { tenant: 42 as unknown as string } }, /values of `parameters` are text\. Got a value of 'tenant'/],
    ['a life of no time', { tokenLife: Duration.millis(999) }, /Got Duration\.millis\(999\), expected a second to a hundred years/],
    ['a life of ages', { tokenLife: Duration.days(36_501) }, /Got Duration\.days\(36501\)/],
  ])('%s', (_name, props, message) => refusedClient(props).toThrow(message));

  test.each<[string, Partial<HttpRequestSourceProps>, RegExp]>([
    ['a method that gets no token', { method: 'DELETE' }, /Got 'DELETE', expected GET, PATCH, POST, PUT/],
    ['a GET with a body', { method: 'GET', body: { a: 'b' } }, /A GET request has no body/],
    ['a format that does not exist', { bodyFormat: 'xml' as BodyFormat }, /no such format of a body\. Got 'xml', expected BodyFormat\.JSON/],
    ['a form within a form', { bodyFormat: BodyFormat.FORM, body: { user: { name: 'me' } } }, /A form has no fields within fields\. Got 'user', which is \{"name":"me"\}/],
    ['a form with nothing', { bodyFormat: BodyFormat.FORM, body: { user: null } }, /Got 'user', which is null/],
    ['a header of two lines', { headers: { 'x-tenant': 'a\nb' } }, /A header has a name and a value that HTTP allows/],
    ['a header without a name', { headers: { '': 'a' } }, /A header has a name/],
    ['a placeholder without a name', { body: { user: 'me {{}}' } }, /pairs of braces stand for a field.* Got braces without a name \('\{\{\}\}'\) in `body`, expected '\{\{field\}\}'/],
    ['a placeholder of a blank', { body: { users: [{ name: '{{ }}' }] } }, /braces without a name/],
    ['a placeholder without a name beside one with a name', { body: { user: '{{user}}{{}}' } }, /braces without a name/],
    ['a placeholder without a name in a header', { headers: { 'x-user': '{{}}' } }, /braces without a name .* in `headers`/],
    ['a header that is a number', { headers: { 'x-tenant': 42 as unknown as string } }, /values of `headers` are text\. Got a value of 'x-tenant' that is none/],
    ['no field for the token', { accessTokenField: '' }, /`accessTokenField` names a field of the answer\. Got ''/],
    ['half a path', { expiresInField: 'data.' }, /`expiresInField` names a field of the answer\. Got 'data\.'/],
    ['half a path to the moment', { expiresAtField: '.until' }, /`expiresAtField` names/],
  ])('%s', (_name, props, message) => refusedRequest(props).toThrow(message));
});

test('unresolved scopes and headers pass: nobody can look at them yet', () => {
  const { stack, tokens } = setUp();
  const list = new CfnParameter(stack, 'Scopes', { type: 'CommaDelimitedList' }).valueAsList;
  const text = new CfnParameter(stack, 'Key', { noEcho: true }).valueAsString;
  addCrm({ stack, tokens }, { source: TokenSource.clientCredentials({ tokenUrl: TOKEN_URL, credentials: secretIn(stack), scopes: list }) });
  expect(() => tokens.addRefresher('Erp', { tokenId: 'erp', source: TokenSource.httpRequest({ url: ANYWHERE, headers: { 'x-api-key': text } }) })).not.toThrow();
});

test('a source is checked where it is used: one may serve several refreshers', () => {
  const { stack, tokens } = setUp();
  const source = TokenSource.clientCredentials({ tokenUrl: TOKEN_URL, credentials: secretIn(stack) });
  const functions = ['crm', 'erp'].map(tokenId => tokens.addRefresher(tokenId, { tokenId, source }).function);
  const [crm, erp] = functions.map(fn => variablesOf(stack, fn).SHARED_TOKEN_SOURCE);
  expect(crm).toBe(erp);
  expect(crm).toEqual(expect.any(String));
});
