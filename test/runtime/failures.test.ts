import { RefreshError, SharedTokenError } from '../../lambda-runtime';
import type { RefreshResult } from '../../lambda-runtime';
import { Instance } from '../support/instance';
import { providerWith, tablePerFile } from '../support/per-test';

const { table, tokenId } = tablePerFile();

async function failureOf(call: Promise<unknown>): Promise<SharedTokenError> {
  const error: unknown = await call.then(() => undefined, thrown => thrown);
  if (error instanceof SharedTokenError) return error;
  throw new Error(`Expected a SharedTokenError, got ${String(error)}`);
}

describe('bad answers of refresh: a typed error, the lease given back, the stored token as it was', () => {
  const badAnswers: Record<string, [unknown, string]> = {
    'nothing': [undefined, 'INVALID_REFRESH_RESULT'],
    'no token': [{}, 'INVALID_REFRESH_RESULT'],
    'OAuth\'s own spelling, by which a refresh token would be lost': [{ accessToken: 'x', refresh_token: 'r' }, 'INVALID_REFRESH_RESULT'],
    'a moment taken for a life': [{ accessToken: 'x', expiresIn: Date.now() + 3_600_000 }, 'INVALID_REFRESH_RESULT'],
    'an empty token': [{ accessToken: '' }, 'INVALID_REFRESH_RESULT'],
    'an expiry of zero': [{ accessToken: 'x', expiresIn: 0 }, 'INVALID_REFRESH_RESULT'],
    'an expiry that is no number': [{ accessToken: 'x', expiresIn: 'soon' }, 'INVALID_REFRESH_RESULT'],
    'an expiry in seconds where milliseconds are meant': [{ accessToken: 'x', expiresAt: Math.round(Date.now() / 1000) + 3600 }, 'INVALID_REFRESH_RESULT'],
    'a token too large for an item': [{ accessToken: 'x'.repeat(400_000) }, 'TOKEN_TOO_LARGE'],
  };
  test.each(Object.entries(badAnswers))('%s', async (_, [answer, code]) => {
    const now = Date.now();
    const stored = { tokenId: tokenId(), accessToken: 'old', generation: 4, issuedAt: now - 9_000_000, expiresAt: now - 1_000, refreshToken: 'r' };
    await table().put(stored);
    const instance = new Instance();
    const error = await failureOf(instance.token(tokenId(), { refresh: async () => answer as RefreshResult }).get());
    expect(error).toMatchObject({ code, tokenId: tokenId() });
    expect(error.message).toContain(tokenId());
    expect(instance.count('refreshing')).toBe(1);
    expect(await table().item(tokenId())).toEqual({ ...stored, failure: { code, count: 1, at: expect.any(Number), retryAt: expect.any(Number) } });
  });
});

describe('a refresh that fails', () => {
  test('what it threw is the cause; every caller of the process gets the error', async () => {
    const thrown = new RefreshError('invalid_client');
    let calls = 0;
    const token = new Instance().token(tokenId(), { refresh: async () => { calls++; throw thrown; } });
    const errors = await Promise.all(Array.from({ length: 5 }, async () => failureOf(token.get())));
    expect(errors.map(error => [error.code, error.cause])).toEqual(Array.from({ length: 5 }, () => ['REFRESH_FAILED', thrown]));
    expect(calls).toBe(1);
    expect(errors[0]?.retryAt).toBeGreaterThan(Date.now() + 290_000);
  });

  test('an error of another SharedToken inside refresh is a failed refresh, with that error as its cause', async () => {
    const instance = new Instance();
    const other = instance.token(`${tokenId()}-other`, { refresh: async () => { throw new RefreshError('invalid_client'); } });
    const error = await failureOf(instance.token(tokenId(), { refresh: async () => ({ accessToken: await other.get() }) }).get({ timeoutMs: 900 }));
    expect(error).toMatchObject({ code: 'REFRESH_FAILED', tokenId: tokenId(), cause: { code: 'REFRESH_FAILED' } });
    expect(error.original()).toMatchObject({ tokenId: `${tokenId()}-other` });
  });

  test('a passing failure is tried again within the deadline, by the schedule', async () => {
    const { provider, options } = providerWith({ answer: call => { if (call === 1) throw new RefreshError('503'); return undefined; } });
    const instance = new Instance();
    expect(await instance.token(tokenId(), options).get()).toBe('token-2');
    const [first, second] = instance.events.filter(event => event.type === 'refreshing');
    expect(Number(second?.at) - Number(first?.at)).toBeGreaterThanOrEqual(400); // a second by the table's clock, which is known to half of one at first
    expect(provider.calls).toBe(2);
    expect(await table().item(tokenId())).not.toHaveProperty('failure');
  });

  test('I6: the failure is shared: other instances do not try before its time, and are told when', async () => {
    const { provider, options } = providerWith({ answer: () => { throw new RefreshError('429', { retryAfter: 120 }); } });
    await failureOf(new Instance().token(tokenId(), options).get());
    const errors = await Promise.all(Array.from({ length: 20 }, async () => failureOf(new Instance().token(tokenId(), options).get())));
    expect(provider.calls).toBe(1);
    expect(errors.every(error => error.code === 'COOLING_DOWN')).toBe(true);
    expect(Number(errors[0]?.retryAt) - Date.now()).toBeGreaterThan(115_000);
  });

  test('one that hangs is ended by the auth limit, and its signal is aborted', async () => {
    let aborted = false;
    const refresh = async ({ signal }: { readonly signal: AbortSignal }) => new Promise<never>(() => {
      signal.addEventListener('abort', () => { aborted = true; });
    });
    const error = await failureOf(new Instance().token(tokenId(), { refresh, authLimitMs: 100 }).get({ timeoutMs: 500 }));
    expect(error.code).toBe('REFRESH_TIMED_OUT');
    expect(aborted).toBe(true);
    expect(await table().item(tokenId())).not.toHaveProperty('lease');
  });

  test('the loser\'s invalid_grant does not mark a healthy token: a newer generation is adopted', async () => {
    const instance = new Instance();
    const refresh = async () => {
      const now = Date.now();
      await table().put({ tokenId: tokenId(), accessToken: 'newer', generation: 2, issuedAt: now, expiresAt: now + 3_600_000 });
      throw new RefreshError('invalid_grant');
    };
    expect(await instance.token(tokenId(), { refresh }).get()).toBe('newer');
    expect(await table().item(tokenId())).not.toHaveProperty('failure');
  });

  test('a retryAt further off than the longest cool-down is ignored', async () => {
    await table().put({ tokenId: tokenId(), failure: { code: 'x', count: 1, at: 0, retryAt: Date.now() + 86_400_000 } });
    expect(await new Instance().token(tokenId(), providerWith().options).get()).toBe('token-1');
  });
});

describe('the table, through a proxy that breaks things', () => {
  const isClaim = (body: unknown) => String((body as { UpdateExpression?: string }).UpdateExpression).startsWith('SET #lease = ');
  const isCommit = (body: unknown) => String((body as { UpdateExpression?: string }).UpdateExpression).includes('#accessToken = ');

  const firstOf = (matches: (body: unknown) => boolean) => {
    let met = 0;
    return (body: unknown) => matches(body) && met++ === 0;
  };

  test('a claim applied whose reply was lost is recognised as our own: one refresh, no wait for its lease', async () => {
    let dropped = 0;
    table().faults = ({ body }) => isClaim(body) && dropped++ === 0 ? { kind: 'dropAfter' } : undefined;
    const { provider, options } = providerWith();
    const instance = new Instance();
    expect(await instance.token(tokenId(), options).get()).toBe('token-1');
    expect(dropped).toBe(2);
    expect(provider.calls).toBe(1);
    expect(instance.count('waiting')).toBe(0);
  });

  test('a commit applied whose reply was lost is recognised as our own: generation 1, the lease is gone', async () => {
    let dropped = 0;
    table().faults = ({ body }) => isCommit(body) && dropped++ === 0 ? { kind: 'dropAfter' } : undefined;
    const { provider, options } = providerWith();
    expect(await new Instance().token(tokenId(), options).get()).toBe('token-1');
    expect(dropped).toBe(2);
    expect(provider.calls).toBe(1);
    expect(await table().item(tokenId())).toMatchObject({ accessToken: 'token-1', generation: 1 });
    expect(await table().item(tokenId())).not.toHaveProperty('lease');
  });

  test.each([
    ['claims', isClaim, { kind: 'failAfter' }],
    ['commits', isCommit, { kind: 'failAfter' }],
    ['commits', isCommit, { kind: 'truncate' }],
    ['claims', isClaim, { kind: 'stall' }],
    ['reads', () => false, { kind: 'failBefore' }],
    ['reads', () => false, { kind: 'delayAfter', ms: 300 }],
  ] as const)('%s that meet %#: a token, and one refresh', async (what, matches, fault) => {
    let met = 0;
    table().faults = ({ operation, body }) => (what === 'reads' ? operation === 'GetItem' : matches(body)) && met++ === 0 ? fault : undefined;
    const { provider, options } = providerWith();
    expect(await new Instance().token(tokenId(), options).get()).toBe('token-1');
    expect(met).toBeGreaterThan(0);
    expect(provider.calls).toBe(1);
  });

  test('a throttled claim is not sent again: the next step is a look', async () => {
    let met = 0;
    table().faults = ({ body }) => isClaim(body) && met++ === 0 ? { kind: 'error', type: 'ProvisionedThroughputExceededException' } : undefined;
    expect(await new Instance().token(tokenId(), providerWith().options).get()).toBe('token-1');
    expect(table().operations().slice(0, 4)).toEqual(['GetItem', 'UpdateItem', 'GetItem', 'UpdateItem']);
  });

  test('a throttled claim that may have been applied before is sent again, until the item shows it', async () => {
    let met = 0;
    table().faults = ({ body }) => {
      if (!isClaim(body)) return undefined;
      met++;
      return met === 1 ? { kind: 'dropAfter' } : met === 2 ? { kind: 'error', type: 'ProvisionedThroughputExceededException' } : undefined;
    };
    const instance = new Instance();
    expect(await instance.token(tokenId(), providerWith().options).get()).toBe('token-1');
    expect(met).toBe(3);
    expect(instance.count('waiting')).toBe(0);
  });

  test('an engine that leaves out the item on a failed condition: a strongly consistent read replaces it', async () => {
    const isFirst = firstOf(isClaim);
    table().faults = ({ body }) => isFirst(body) ? { kind: 'error', type: 'ConditionalCheckFailedException' } : undefined;
    const { provider, options } = providerWith();
    expect(await new Instance().token(tokenId(), options).get()).toBe('token-1');
    expect(table().operations().slice(0, 4)).toEqual(['GetItem', 'UpdateItem', 'GetItem', 'UpdateItem']);
    expect(table().requests[2]?.body.ConsistentRead).toBe(true);
    expect(provider.calls).toBe(1);
  });

  test.each([['claim', isClaim], ['commit', isCommit]] as const)(
    'a %s whose signature expired, for a freeze lay before its arrival, is signed and sent again', async (_, matches) => {
      const isFirst = firstOf(matches);
      table().faults = ({ body }) => isFirst(body) ? { kind: 'error', type: 'InvalidSignatureException', message: 'Signature expired: it is now earlier than the time of the service' } : undefined;
      const { provider, options } = providerWith();
      expect(await new Instance().token(tokenId(), options).get()).toBe('token-1');
      expect(table().requests.filter(({ body }) => matches(body))).toHaveLength(2);
      expect(await table().item(tokenId())).toMatchObject({ accessToken: 'token-1', generation: 1 });
      expect(provider.calls).toBe(1);
    });

  test('a throttled commit is sent again until it is through', async () => {
    let met = 0;
    table().faults = ({ body }) => isCommit(body) && met++ < 6 ? { kind: 'error', type: 'ProvisionedThroughputExceededException' } : undefined;
    const { provider, options } = providerWith();
    expect(await new Instance().token(tokenId(), options).get()).toBe('token-1');
    expect(met).toBe(7);
    expect(provider.calls).toBe(1);
  });

  test('a table that stays unreachable is told apart from a lost lease, by the deadline', async () => {
    table().faults = () => ({ kind: 'dropBefore' });
    const error = await failureOf(new Instance().token(tokenId(), providerWith().options).get({ timeoutMs: 600 }));
    expect(error.code).toBe('TABLE_UNAVAILABLE');
  });

  test('I3: a token that cannot be stored is used, and stored as soon as the table answers again', async () => {
    table().faults = ({ body }) => isCommit(body) ? { kind: 'dropBefore' } : undefined;
    const { provider, options } = providerWith();
    const token = new Instance().token(tokenId(), options);
    expect(await token.get({ timeoutMs: 1_500 })).toBe('token-1');
    expect(await table().item(tokenId())).not.toHaveProperty('accessToken');
    table().faults = () => undefined;
    expect(await token.get()).toBe('token-1');
    expect(await table().item(tokenId())).toMatchObject({ accessToken: 'token-1', generation: 1 });
    expect(provider.calls).toBe(1);
  });

  test('a missing table and a foreign item are typed errors that say what to do', async () => {
    const missing = await failureOf(new Instance().token(tokenId(), { table: 'no-such-table' }).get());
    expect(missing).toMatchObject({ code: 'TABLE_NOT_FOUND', tokenId: tokenId() });
    await table().put({ tokenId: tokenId(), accessToken: 17, generation: 1, issuedAt: 1 });
    const { provider, options } = providerWith();
    const foreign = await failureOf(new Instance().token(tokenId(), options).get());
    expect(foreign.code).toBe('INVALID_ITEM');
    expect(foreign.message).toContain('accessToken');
    expect(provider.calls).toBe(0);
    expect(await table().item(tokenId())).toMatchObject({ accessToken: 17 });
  });
});
