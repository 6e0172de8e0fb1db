import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { nameOf, prebuiltRefresher } from '../../lambda-runtime/refresher/prebuilt-refresher';
import { SecretsServer } from '../../local-aws/secrets-server';
import { ENV } from '../../src/private/contract';
import type { ClientCredentialsSettings, RefreshTokenSettings, SourceSettings } from '../../src/private/source-settings';
import { tablePerFile } from '../support/per-test';

/*
 * The refresher that a stack's TokenSource makes: told of its source by the environment, its credentials from a secret.
 */
const { table, tokenId } = tablePerFile();
let secrets: SecretsServer;
let provider: Server;
let asked: URLSearchParams[];
const logged: string[] = [];

beforeAll(async () => {
  secrets = await SecretsServer.start();
  secrets.put('crm', JSON.stringify({ clientId: 'orders', clientSecret: 'sentinel-secret', refreshToken: 'sentinel-first' }));
  provider = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => { body += chunk.toString(); });
    request.on('end', () => {
      asked.push(new URLSearchParams(body));
      response.writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ access_token: `sentinel-${asked.length}`, token_type: 'Bearer', expires_in: 3_600 }));
    });
  });
  provider.listen(0, '127.0.0.1');
  await once(provider, 'listening');
  Object.assign(process.env, secrets.environment);
});
afterAll(async () => {
  for (const name of Object.keys(secrets.environment)) delete process.env[name];
  await secrets.stop();
  provider.closeAllConnections();
  provider.close();
});
beforeEach(() => {
  asked = [];
  logged.length = 0;
  jest.spyOn(console, 'log').mockImplementation((line: string) => { logged.push(line); });
});
afterEach(() => { jest.restoreAllMocks(); });

const tokenUrl = (host = '127.0.0.1', path = 'token') => `http://${host}:${(provider.address() as AddressInfo).port}/${path}`;
const clientCredentials = (more: Partial<ClientCredentialsSettings> = {}): ClientCredentialsSettings =>
  ({ kind: 'client_credentials', tokenUrl: tokenUrl(), credentials: { secretArn: secrets.secretArn('crm') }, ...more });
const refreshToken = (more: Partial<RefreshTokenSettings> = {}): RefreshTokenSettings =>
  ({ kind: 'refresh_token', tokenUrl: tokenUrl(), credentials: { secretArn: secrets.secretArn('crm') }, ...more });
const deployed = (settings: SourceSettings, variables: Readonly<Record<string, string>> = {}) =>
  prebuiltRefresher({ [ENV.TOKEN_ID]: tokenId(), [ENV.SOURCE]: JSON.stringify(settings), ...variables });
const context = { awsRequestId: 'request', getRemainingTimeInMillis: () => 20_000 };

test('fetches a token with the credentials of its secret, stores it, and names its source', async () => {
  const settings = clientCredentials({ scopes: ['orders.read'] });
  expect(await deployed(settings)(undefined, context)).toEqual({ refreshed: true });
  expect(asked.map(String)).toEqual(['scope=orders.read&grant_type=client_credentials']);
  expect(await table().item(tokenId())).toMatchObject({ accessToken: 'sentinel-1', meta: { source: nameOf(settings) } });
});

test('after a deployment with other settings the stored token is due, once', async () => {
  await deployed(clientCredentials())(undefined, context);
  const changed = deployed(clientCredentials({ scopes: ['orders.write'] }));
  expect(await changed(undefined, context)).toEqual({ refreshed: true });
  expect(await changed(undefined, context)).toEqual({ refreshed: false });
  expect(asked).toHaveLength(2);
});

test('sends a stored refresh token to the origin that it came from, also after path or other settings changed', async () => {
  await deployed(refreshToken())(undefined, context);
  await table().set(tokenId(), 'refreshToken', 'sentinel-rotated');
  await deployed(refreshToken({ scopes: ['orders.read'], tokenUrl: tokenUrl('127.0.0.1', 'v2/token/') }))(undefined, context);
  expect(asked.map(body => body.get('refresh_token'))).toEqual(['sentinel-first', 'sentinel-rotated']);
});

test('and to no other: there it begins with the one in its secret', async () => {
  await deployed(refreshToken())(undefined, context);
  await table().set(tokenId(), 'refreshToken', 'sentinel-rotated');
  await deployed(refreshToken({ tokenUrl: tokenUrl('localhost') }))(undefined, context);
  expect(asked.map(body => body.get('refresh_token'))).toEqual(['sentinel-first', 'sentinel-first']);
  expect(await table().item(tokenId())).not.toHaveProperty('refreshToken'); // else the next refresh would send it there
});

test('gives up a request at the limit that its stack sets', async () => {
  const release = secrets.hold();
  try {
    const answer = deployed(clientCredentials(), { [ENV.AUTH_LIMIT_MS]: '150' })(undefined, context);
    await expect(answer).rejects.toMatchObject({ code: 'REFRESH_TIMED_OUT', message: expect.stringContaining('within 150 ms') as string });
  } finally {
    release();
  }
});

test('logs what it does, and no credential', async () => {
  await deployed(refreshToken())(undefined, context);
  expect(logged.map(line => (JSON.parse(line) as { sharedToken: { type: string } }).sharedToken.type)).toEqual(['read', 'claimed', 'refreshing', 'refreshed', 'committed']);
  expect(logged.join('\n')).not.toContain('sentinel');
});

test.each([[undefined], ['not JSON'], ['null'], ['"text"']])('settings that are none fail when the function is loaded, and say what to do: %s', variable => {
  expect(() => prebuiltRefresher({ [ENV.SOURCE]: variable })).toThrow(expect.objectContaining({
    code: 'INVALID_OPTION', message: expect.stringContaining('addRefresher') as string,
  }) as Error);
});
