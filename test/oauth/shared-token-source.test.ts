import { CLIENT, expectNothingSecret, SENTINEL } from './asking';
import { RefreshError, type SharedTokenError } from '../../lambda-runtime';
import { clientCredentials, refreshToken } from '../../lambda-runtime/oauth';
import { Instance } from '../support/instance';
import { OAuthServer } from '../support/oauth-server';
import { tablePerFile } from '../support/per-test';

/*
 * Sources together with the token that asks them, and the table.
 */
const { table, tokenId } = tablePerFile();
let server: OAuthServer;
beforeAll(async () => { server = await OAuthServer.start(); });
afterAll(async () => server.stop());
beforeEach(() => Object.assign(server, { change: undefined }).requests.splice(0));

test('instances share what clientCredentials fetched once', async () => {
  const refresh = clientCredentials({ tokenUrl: server.tokenUrl, credentials: CLIENT });
  const first = await new Instance().token(tokenId(), { refresh }).get();
  const second = await new Instance().token(tokenId(), { refresh }).get();
  expect(second).toBe(first);
  expect(server.requests).toHaveLength(1);
});

test('rotating refresh tokens: the secret\'s is used once, then those that the table keeps', async () => {
  let issued = 0;
  server.change = answer => Object.assign(answer.body, { refresh_token: `rotated-${++issued}` });
  const refresh = refreshToken({ tokenUrl: server.tokenUrl, credentials: { ...CLIENT, refreshToken: 'seed' } });
  for (let round = 0; round < 3; round++) {
    await new Instance().token(tokenId(), { refresh }).get();
    const now = Date.now();
    await table().put({ ...await table().item(tokenId()), tokenId: tokenId(), issuedAt: now - 60_000, expiresAt: now - 5_000 }); // clocks may be a second off
  }
  expect(server.requests.map(({ form }) => form.refresh_token)).toEqual(['seed', 'rotated-1', 'rotated-2']);
  expect(await table().item(tokenId())).toMatchObject({ refreshToken: 'rotated-3' });
});

test('a refused client: the caller sees why, the table holds the code, and nothing secret is shown', async () => {
  server.change = answer => Object.assign(answer, { statusCode: 401, body: { error: 'invalid_client', error_description: SENTINEL } });
  const instance = new Instance();
  const refresh = clientCredentials({ tokenUrl: server.tokenUrl, credentials: CLIENT });
  const error: unknown = await instance.token(tokenId(), { refresh }).get().catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: 'REFRESH_FAILED', original: expect.any(Function) });
  expect((error as SharedTokenError).original()).toBeInstanceOf(RefreshError);
  expect((error as Error).cause).toMatchObject({ code: 'invalid_client', message: expect.stringContaining('check clientId') });
  expect(await table().item(tokenId())).toMatchObject({ failure: { code: 'invalid_client' } });
  expect(server.requests).toHaveLength(1);
  expectNothingSecret([error, instance.events]);
});

test('a RefreshError says what it was told, or else its code', () => {
  expect(new RefreshError('503', { message: 'Try later.' })).toMatchObject({ code: '503', message: 'Try later.' });
  expect(new RefreshError('503').message).toBe('The token could not be refreshed: 503');
});
