import { SharedTokenError } from '../../lambda-runtime';
import { AuthServer, type AuthServerOptions } from '../support/auth-server';
import { Instance } from '../support/instance';
import { tablePerFile } from '../support/per-test';
import { stopAfterEach } from '../support/stop-after-each';

/*
 * What providers do to those who share a token, each as an HTTP server that does it.
 */
const { table, tokenId } = tablePerFile();
const started = stopAfterEach();
const startServer = async (options?: AuthServerOptions) => started(await AuthServer.start(options));
const instances = (count: number) => Array.from({ length: count }, () => new Instance());

/** A token of an hour, of which so many seconds are left. */
async function store(accessToken: string, leftS: number, more: Record<string, unknown> = {}): Promise<void> {
  const expiresAt = Date.now() + leftS * 1_000;
  await table().put({ tokenId: tokenId(), accessToken, generation: 7, issuedAt: expiresAt - 3_600_000, expiresAt, refreshMs: 50, ...more });
}

/** An instance whose moment to refresh ahead has come as soon as there is one. */
function eager(): Instance {
  const instance = new Instance();
  instance.host.random = () => 0;
  return instance;
}

async function errorOf(call: Promise<unknown>): Promise<SharedTokenError> {
  const error: unknown = await call.then(() => undefined, (thrown: unknown) => thrown);
  if (error instanceof SharedTokenError) return error;
  throw new Error(`Expected a SharedTokenError, got ${String(error)}`);
}

test('a refresh token that is good for once, 50 instances at its token\'s expiry: one redemption, and nobody sees invalid_grant', async () => {
  const server = await startServer({ rotates: true, latencyMs: 100 });
  const { accessToken, refreshToken } = server.logIn();
  await store(accessToken, -2, { refreshToken });
  const tokens = await Promise.all(instances(50).map(async instance => instance.token(tokenId(), { refresh: server.refresh }).get()));
  expect(new Set(tokens)).toEqual(new Set(['access-2']));
  expect([server.calls, server.refusals]).toEqual([1, 0]);
  expect(await table().item(tokenId())).toMatchObject({ accessToken: 'access-2', refreshToken: 'refresh-2', generation: 8 });
});

test('an auth request that takes too long is ended inside its lease: two instances never have two requests at the provider', async () => {
  const server = await startServer({ misbehave: call => call === 1 ? 'silent' : undefined });
  const tokens = await Promise.all(instances(2).map(async instance =>
    instance.token(tokenId(), { refresh: server.refresh, authLimitMs: 300 }).get()));
  expect(tokens).toEqual(['access-1', 'access-1']);
  expect([server.calls, server.mostAtOnce, server.givenUp]).toEqual([2, 1, 1]);
});

test.each(['silent', 'headers only', 'half a body'] as const)(
  'an auth endpoint that hangs (%s): one limit over connection, headers and body; the connection is closed, the lease given back', async misbehaviour => {
    const server = await startServer({ misbehave: () => misbehaviour });
    const error = await errorOf(new Instance().token(tokenId(), { refresh: server.refresh, authLimitMs: 200 }).get({ timeoutMs: 600 }));
    expect(error.code).toBe('REFRESH_TIMED_OUT');
    expect(server.calls).toBe(1);
    while (server.givenUp === 0) await new Promise(setImmediate);
    expect(await table().item(tokenId())).not.toHaveProperty('lease');
  });

describe('a provider that keeps one token alive', () => {
  test('after a revocation 10 instances make one refresh, and nobody\'s new token ends another\'s', async () => {
    const server = await startServer({ latencyMs: 100 });
    await store(server.logIn().accessToken, 3_000);
    const tokens = instances(10).map(instance => instance.token(tokenId(), { refresh: server.refresh }));
    await Promise.all(tokens.map(async token => token.get()));
    server.revoke();
    for (let round = 0; round < 3; round++) {
      const responses = await Promise.all(tokens.map(async token => token.use(server.callApi)));
      expect(responses.map(({ status }) => status)).toEqual(tokens.map(() => 200));
    }
    expect(server.calls).toBe(1);
  });

  test('and refuses a new one while it lives: the token is used, and the provider left alone until the cool-down ends', async () => {
    const server = await startServer({ misbehave: () => ({ status: 409, body: { error: 'token_still_valid' }, headers: { 'retry-after': '60' } }) });
    const { accessToken } = server.logIn();
    await store(accessToken, 100);
    for (const instance of [eager(), eager()]) {
      const token = instance.token(tokenId(), { refresh: server.refresh });
      for (let call = 0; call < 10; call++) expect((await token.use(server.callApi)).status).toBe(200);
    }
    expect(server.calls).toBe(1);
    expect(await table().item(tokenId())).toMatchObject({ accessToken, failure: { code: 'token_still_valid', count: 1 } });
  });
});

test('a provider whose window is narrower than ours hands out the same token again: it is asked once, not with each call', async () => {
  const server = await startServer({ misbehave: () => ({ status: 200, body: { access_token: 'access-1', expires_in: 100 } }) });
  const { accessToken } = server.logIn();
  await store(accessToken, 100);
  for (const instance of [eager(), eager()]) {
    const token = instance.token(tokenId(), { refresh: server.refresh });
    for (let call = 0; call < 10; call++) expect(await token.get()).toBe(accessToken);
  }
  expect(server.calls).toBe(1);
  expect(await table().item(tokenId())).toMatchObject({ accessToken, generation: 8, failure: { code: 'SAME_TOKEN', count: 1 } });
});

test('dead credentials are sent once: every instance is told that they are, and until when nobody sends them again', async () => {
  const server = await startServer({ misbehave: call => call === 1 ? { status: 401, body: { error: 'invalid_client' } } : { status: 429, body: {} } });
  const first = await errorOf(new Instance().token(tokenId(), { refresh: server.refresh }).get());
  expect(first).toMatchObject({ code: 'REFRESH_FAILED', cause: { code: 'invalid_client' } });
  const others = await Promise.all(instances(20).map(async instance => errorOf(instance.token(tokenId(), { refresh: server.refresh }).get())));
  for (const { code, message, retryAt } of others) {
    expect(code).toBe('COOLING_DOWN');
    expect(message).toContain('invalid_client');
    expect(retryAt).toBe(first.retryAt);
  }
  expect(server.calls).toBe(1);
});

test('a token\'s life is counted from the start of its request: what the answer takes is not added to it', async () => {
  const server = await startServer();
  const instance = new Instance();
  const refresh: AuthServer['refresh'] = async request => {
    const answer = await server.refresh(request);
    instance.host.pass(6_000); // the answer was slow, or a freeze lay between
    return answer;
  };
  const before = Date.now();
  await instance.token(tokenId(), { refresh }).get();
  const { issuedAt, expiresAt } = await table().item(tokenId()) as { issuedAt: number; expiresAt: number };
  expect(issuedAt).toBeLessThan(before + 5_000);
  expect(expiresAt).toBe(issuedAt + 3_600_000);
});
