import { createHash } from 'node:crypto';
import { RefreshError, type RefreshRequest, SharedToken } from '../../lambda-runtime';
import { type RefresherContext, refresherHandler } from '../../lambda-runtime/refresher';
import { ENV } from '../../src/private/contract';
import { tablePerFile } from '../support/per-test';
import { Provider } from '../support/provider';

const { table, tokenId } = tablePerFile();
const MINUTE = 60_000;
const FUNCTION_ARN = 'arn:aws:lambda:eu-west-1:111122223333:function:refresh-crm';

const context = (qualifier?: string): RefresherContext => ({
  awsRequestId: 'request',
  getRemainingTimeInMillis: () => 10_000,
  invokedFunctionArn: qualifier === undefined ? FUNCTION_ARN : `${FUNCTION_ARN}:${qualifier}`,
});
const stored = (accessToken = 'stored-token', more: object = {}) => {
  const now = Date.now();
  return { tokenId: tokenId(), accessToken, generation: 4, issuedAt: now - 10 * MINUTE, expiresAt: now + 50 * MINUTE, ...more };
};
const fingerprintOf = (token: string) => createHash('sha256').update(token).digest('hex').slice(0, 12);
const refresher = (provider = new Provider()) => ({ provider, handler: refresherHandler({ tokenId: tokenId(), refresh: provider.refresh }) });

describe('a schedule', () => {
  test('has a token replaced that works', async () => {
    await table().put(stored());
    const { provider, handler } = refresher();
    expect(await handler({ tokenId: tokenId(), since: new Date().toISOString() }, context('scheduled'))).toEqual({ refreshed: true });
    expect(provider.calls).toBe(1);
    expect(await table().item(tokenId())).toMatchObject({ accessToken: 'token-1', generation: 5 });
  });

  test('that runs twice, at once or one after the other, makes one auth call', async () => {
    await table().put(stored());
    const { provider, handler } = refresher();
    const event = { tokenId: tokenId(), since: new Date().toISOString() };
    const answers = [...await Promise.all([handler(event, context('scheduled')), handler(event, context('scheduled'))]), await handler(event, context('scheduled'))];
    expect(answers.filter(({ refreshed }) => refreshed)).toHaveLength(1);
    expect(provider.calls).toBe(1);
  });

  test('beside a reader that asks makes one auth call', async () => {
    await table().put(stored());
    const { provider, handler } = refresher();
    const asked = { generation: 4, fingerprint: fingerprintOf('stored-token') };
    await Promise.all([
      handler({ tokenId: tokenId(), asked }, context()),
      handler({ tokenId: tokenId(), since: new Date().toISOString() }, context('scheduled')),
    ]);
    expect(provider.calls).toBe(1);
  });

  test('without a time of its own, as by hand, means now', async () => {
    await table().put(stored());
    expect(await refresher().handler({}, context('scheduled'))).toEqual({ refreshed: true });
  });
});

describe('who may invoke the function without a qualifier', () => {
  test.each([
    ['pass for the schedule', { since: new Date().toISOString() }],
    ['have a working token replaced by saying nothing', {}],
    ['have it replaced by naming another', { asked: { generation: 4, fingerprint: fingerprintOf('another') } }],
  ])('cannot %s', async (_, event) => {
    await table().put(stored());
    const { provider, handler } = refresher();
    expect(await handler(event, context())).toEqual({ refreshed: false });
    expect(provider.calls).toBe(0);
  });

  test('cannot have the token of another id refreshed', async () => {
    const { provider, handler } = refresher();
    expect(await handler({ tokenId: 'another', asked: {} }, context())).toEqual({ refreshed: false });
    expect(provider.calls).toBe(0);
  });

  test.each(['crm', { generation: '4', fingerprint: 'x' }, { generation: 4 }, 7, null])('gets nothing for a report that makes no sense, nor fills a queue with it: %j', async asked => {
    const { provider, handler } = refresher();
    expect(await handler({ asked }, context())).toEqual({ refreshed: false });
    expect(provider.calls).toBe(0);
  });

  test('does not become the schedule because the function has the name of its alias', async () => {
    await table().put(stored());
    const invokedFunctionArn = 'arn:aws:lambda:eu-west-1:111122223333:function:scheduled';
    expect(await refresher().handler({ asked: {} }, { ...context(), invokedFunctionArn })).toEqual({ refreshed: false });
  });

  test('does not make a token of another source due: two refreshers of one token would take turns', async () => {
    await table().put(stored('of another', { meta: { source: 'another' } }));
    const provider = new Provider();
    const handler = refresherHandler({ tokenId: tokenId(), refresh: provider.refresh, source: 'this one' });
    expect(await handler({ asked: {} }, context())).toEqual({ refreshed: false });
  });
});

describe('a deployment, which sends no event at all,', () => {
  test.each([[null], [undefined], [''], [{}]])('fetches the first token: %j', async event => {
    expect(await refresher().handler(event, context('12'))).toEqual({ refreshed: true });
  });

  test('leaves a token alone that works', async () => {
    await table().put(stored());
    expect(await refresher().handler(undefined, context('12'))).toEqual({ refreshed: false });
  });

  test('waits for a token that another is fetching, and fails if there is none in the end', async () => {
    const now = Date.now();
    await table().put({ tokenId: tokenId(), lease: { id: 'other', since: now, until: now + 1_000, holder: 'other' } });
    expect(await refresher().handler(undefined, context('12'))).toEqual({ refreshed: true });
    await table().put({ tokenId: tokenId(), lease: { id: 'other', since: now, until: now + 60_000, holder: 'other' } });
    const failing = refresherHandler({ tokenId: tokenId(), refresh: new Provider().refresh });
    await expect(failing(undefined, { ...context('12'), getRemainingTimeInMillis: () => 1_000 })).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
  });

  test('replaces a token of another source, once', async () => {
    await table().put(stored('of another', { meta: { source: 'another' } }));
    const provider = new Provider();
    const handler = refresherHandler({ tokenId: tokenId(), refresh: provider.refresh, source: 'this one' });
    expect(await handler(undefined, context('12'))).toEqual({ refreshed: true });
    expect(await handler(undefined, context('12'))).toEqual({ refreshed: false });
    expect(await table().item(tokenId())).toMatchObject({ accessToken: 'token-1', meta: { source: 'this one' } });
  });
});

describe('a refresh that fails', () => {
  const failing = (error: unknown) => refresherHandler({ tokenId: tokenId(), refresh: async () => Promise.reject(error as Error) });

  test('is thrown, so that it reaches the failure destination: with a message to read, and without what refresh threw', async () => {
    const handler = failing(Object.assign(new Error('sentinel-secret'), { code: 'invalid_client', request: 'sentinel-secret' }));
    const error: unknown = await handler(undefined, context('12')).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'REFRESH_FAILED', message: expect.stringContaining('invalid_client') as string });
    expect(JSON.stringify([error, (error as Error).message, (error as Error).stack, (error as Error).cause])).not.toContain('sentinel-secret');
  });

  test('of a source of ours says what to do', async () => {
    const handler = failing(new RefreshError('ANSWER_NOT_JSON', { message: 'The endpoint answered with a page for people: check the URL.' }));
    await expect(handler(undefined, context('12'))).rejects.toMatchObject({ message: expect.stringContaining('check the URL') as string });
  });

  test('is remembered while it cools down: the retries of Lambda say what to do, too', async () => {
    const handler = failing(new RefreshError('invalid_client', { message: 'Check the secret.' }));
    await expect(handler(undefined, context('12'))).rejects.toMatchObject({ code: 'REFRESH_FAILED', message: expect.stringMatching(/\(invalid_client\)\. Check the secret\.$/) as string });
    await expect(handler(undefined, context('12'))).rejects.toMatchObject({ code: 'COOLING_DOWN', message: expect.stringMatching(/invalid_client.*Check the secret\.$/) as string });
  });

  test('leaves the stored token as it is, and readers are told by the table', async () => {
    const before = stored();
    await table().put(before);
    const handler = failing(new RefreshError('invalid_client'));
    await expect(handler({ since: new Date().toISOString() }, context('scheduled'))).rejects.toMatchObject({ code: 'REFRESH_FAILED' });
    expect(await table().item(tokenId())).toMatchObject({ accessToken: 'stored-token', generation: 4, failure: { code: 'invalid_client', forced: true } });
  });

  test('during its cool-down a reader that asks is no failure; a schedule is', async () => {
    const handler = failing(new RefreshError('invalid_client'));
    await expect(handler(undefined, context('12'))).rejects.toMatchObject({ code: 'REFRESH_FAILED' });
    expect(await handler({ asked: {} }, context())).toEqual({ refreshed: false });
    await expect(handler({}, context('scheduled'))).rejects.toMatchObject({ code: 'COOLING_DOWN' });
  });
});

describe('options', () => {
  test('the token id comes from the environment where it is not given', async () => {
    process.env[ENV.TOKEN_ID] = tokenId();
    const provider = new Provider();
    const handler = refresherHandler({ refresh: provider.refresh });
    delete process.env[ENV.TOKEN_ID];
    expect(await handler(undefined, context())).toEqual({ refreshed: true });
    expect(await table().item(tokenId())).toMatchObject({ accessToken: 'token-1' });
  });

  test('in a test of the user\'s it needs no context', async () => {
    expect(await refresher().handler({})).toEqual({ refreshed: true });
  });

  test('without an id, or without refresh, it fails when it is made', () => {
    expect(() => refresherHandler({ refresh: new Provider().refresh })).toThrow(expect.objectContaining({
      code: 'INVALID_TOKEN_ID', message: expect.stringContaining('SHARED_TOKEN_ID') as string,
    }) as Error);
    expect(() => refresherHandler({ tokenId: 'crm' } as never)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }) as Error);
  });
});

test('a reader and its refresher, by the protocol alone: the refused token is replaced', async () => {
  await table().put(stored());
  const requests: RefreshRequest[] = [];
  const provider = new Provider({ answer: (_, request) => { requests.push(request); return undefined; } });
  const { handler } = refresher(provider);
  const reader = new SharedToken(tokenId());
  expect(await reader.get()).toBe('stored-token');
  reader.reject('stored-token');
  const next = reader.get();
  await handler({ tokenId: tokenId(), asked: { generation: 4, fingerprint: fingerprintOf('stored-token') } }, context());
  expect(await next).toBe('token-1');
  expect(requests).toHaveLength(1);
});
