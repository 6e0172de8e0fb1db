import { ask, CLIENT, failureFrom } from './asking';
import { clientCredentials, type ClientCredentialsOptions } from '../../lambda-runtime/oauth';
import { OAuthServer } from '../support/oauth-server';

let server: OAuthServer;
beforeAll(async () => { server = await OAuthServer.start(); });
afterAll(async () => server.stop());
beforeEach(() => Object.assign(server, { change: undefined, claims: {} }).requests.splice(0));

const sourceWith = (options: Partial<ClientCredentialsOptions> = {}) =>
  clientCredentials({ tokenUrl: server.tokenUrl, credentials: CLIENT, ...options });

test('sends the grant alone where nothing else is asked for', async () => {
  await ask(sourceWith());
  expect(server.last.form).toEqual({ grant_type: 'client_credentials' });
});

test('sends scopes, audience, resource and parameters of the provider\'s own', async () => {
  await ask(sourceWith({ scopes: ['orders.read', 'orders.write'], audience: 'https://api.example', resource: 'urn:crm', parameters: { tenant: 'a&b=c' } }));
  expect(server.last.form).toEqual({
    grant_type: 'client_credentials', scope: 'orders.read orders.write', audience: 'https://api.example', resource: 'urn:crm', tenant: 'a&b=c',
  });
});

test('options that are undefined count as absent', async () => {
  await ask(sourceWith({ scopes: undefined, audience: undefined, parameters: undefined, tokenLifeSeconds: undefined } as object));
  expect(server.last.form).toEqual({ grant_type: 'client_credentials' });
});

test('options are read once: a later change has no effect', async () => {
  const options: ClientCredentialsOptions & { tokenUrl: string } = { tokenUrl: server.tokenUrl, credentials: CLIENT };
  const refresh = clientCredentials(options);
  options.tokenUrl = 'https://elsewhere.example/token';
  await ask(refresh);
  expect(server.requests).toHaveLength(1);
});

test('returns the token and its life, and no refresh token, though the server sends one', async () => {
  server.change = answer => Object.assign(answer.body, { access_token: 'the-token', expires_in: '1800', refresh_token: 'needless' });
  expect(await ask(sourceWith())).toEqual({ accessToken: 'the-token', expiresIn: 1800, refreshToken: undefined });
});

test('takes the life from the token where the answer does not say it', async () => {
  const exp = Math.floor(Date.now() / 1_000) + 600;
  server.claims = { exp };
  server.change = ({ body }) => delete body.expires_in;
  expect(await ask(sourceWith({ tokenLifeSeconds: 60 }))).toMatchObject({ expiresAt: exp * 1_000 });
});

test('takes the configured life where nothing else says it', async () => {
  server.change = ({ body }) => {
    delete body.expires_in;
    body.access_token = 'opaque';
  };
  expect(await ask(sourceWith({ tokenLifeSeconds: 60 }))).toMatchObject({ expiresIn: 60 });
  expect(await ask(sourceWith())).toEqual({ accessToken: 'opaque', refreshToken: undefined });
});

test('a token that has expired already is an error', async () => {
  server.claims = { exp: Math.floor(Date.now() / 1_000) - 1 };
  server.change = ({ body }) => delete body.expires_in;
  expect(await failureFrom(sourceWith())).toMatchObject({ code: 'EXPIRY_INVALID' });
});
