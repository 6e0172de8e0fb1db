import { setTimeout as sleep } from 'node:timers/promises';
import { SharedTokenError } from '../../lambda-runtime';
import type { ProxiedRequest } from '../../testing-kit';
import { Instance } from '../support/instance';
import { providerWith, tablePerFile } from '../support/per-test';

/*
 * Cases in which a good idea of the protocol's used to turn against somebody. Each was found by trying to break it.
 */
const { table, tokenId } = tablePerFile();
const updateOf = ({ body }: ProxiedRequest) => String(body.UpdateExpression);
const isCommit = (request: ProxiedRequest) => updateOf(request).includes('if_not_exists(#generation');
const isClaim = (request: ProxiedRequest) => updateOf(request).includes('#lease = :lease');

interface Answer {
  readonly accessToken: string;
  readonly expiresIn: number;
}

/** A provider that answers when the test says so. */
function heldAnswers() {
  const open: ((answer: Answer) => void)[] = [];
  return {
    refresh: async () => new Promise<Answer>(resolve => { open.push(resolve); }),
    answer: (index: number, answer: Answer) => open[index]?.(answer),
    asked: () => open.length,
  };
}

/** A grant whose refresh tokens can be traced: r0, r0+, r0++ ... */
function tracedGrant() {
  const redeemed: (string | undefined)[] = [];
  const refresh = async ({ refreshToken }: { readonly refreshToken?: string | undefined }) => {
    redeemed.push(refreshToken);
    return { accessToken: `of-${refreshToken}`, expiresIn: 3600, refreshToken: `${refreshToken}+` };
  };
  return { redeemed, refresh };
}

const invocationOf = (ms: number) => {
  const end = Date.now() + ms;
  return { getRemainingTimeInMillis: () => end - Date.now() };
};

/** The token, or the code of the error. */
const outcomeOf = async (call: Promise<string>) => call.catch((error: unknown) => error instanceof SharedTokenError ? error.code : error);

async function storeExpired(more: Record<string, unknown> = {}): Promise<void> {
  await table().put({ tokenId: tokenId(), accessToken: 'old', generation: 4, issuedAt: Date.now() - 9_000_000, expiresAt: Date.now() - 1_000, ...more });
}

async function storeInWindow(): Promise<void> {
  const now = Date.now();
  await table().put({ tokenId: tokenId(), accessToken: 'good', generation: 4, issuedAt: now - 865_000, expiresAt: now + 135_000 });
}

/** An instance whose moment to refresh ahead has come. */
function eagerInstance(): Instance {
  const instance = new Instance();
  instance.host.random = () => 0;
  return instance;
}

describe('I7: a token that works is never held back', () => {
  test('nor while the table is down: one short attempt to look ahead, then a pause', async () => {
    await storeInWindow();
    const instance = eagerInstance();
    await instance.token(tokenId()).get(); // a reader: the token is in memory
    table().faults = () => ({ kind: 'dropBefore' });
    const token = instance.token(tokenId(), providerWith().options);
    expect(await token.get({ timeoutMs: 3_000 })).toBe('good');
    table().requests.length = 0;
    expect(await token.get({ timeoutMs: 3_000 })).toBe('good');
    expect(table().requests).toEqual([]);
  });

  test('nor by a claim ahead that gets no answer', async () => {
    await storeInWindow();
    table().faults = ({ operation }) => operation === 'UpdateItem' ? { kind: 'stall' } : undefined;
    expect(await outcomeOf(eagerInstance().token(tokenId(), providerWith().options).get({ timeoutMs: 3_000 }))).toBe('good');
  });

  test('nor from the callers of a cold process: only the first waits for the refresh ahead', async () => {
    await storeInWindow();
    const { refresh, answer, asked } = heldAnswers();
    const token = eagerInstance().token(tokenId(), { refresh });
    const calls = Array.from({ length: 20 }, async () => token.get());
    expect(await Promise.all(calls.slice(1))).toEqual(Array.from({ length: 19 }, () => 'good'));
    while (asked() === 0) await sleep(5);
    answer(0, { accessToken: 'next', expiresIn: 3600 });
    expect(await calls[0]).toBe('next');
  });

  test('nor by whatever a refresh ahead throws', async () => {
    await storeInWindow();
    const hostile = new Proxy({}, { getPrototypeOf() { throw new Error('trap'); } });
    expect(await outcomeOf(eagerInstance().token(tokenId(), { refresh: async () => { throw hostile; } }).get())).toBe('good');
  });
});

describe('a function that has time enough refreshes', () => {
  test('though its first read took long: a cold function of 3 s, a provider of 1 s', async () => {
    await storeExpired({ refreshMs: 1_000 });
    let isFirst = true;
    table().faults = ({ operation }) => {
      if (operation !== 'GetItem' || !isFirst) return undefined;
      isFirst = false;
      return { kind: 'delayAfter', ms: 700 };
    };
    const { options } = providerWith({ latencyMs: 1_000 });
    expect(await outcomeOf(new Instance().token(tokenId(), options).get({ context: invocationOf(3_000) }))).toBe('token-1');
  });

  test('though its claims take longer than the commit margin: no claiming and releasing in turn', async () => {
    table().faults = request => isClaim(request) ? { kind: 'delayAfter', ms: 900 } : undefined;
    expect(await outcomeOf(new Instance().token(tokenId(), providerWith().options).get({ timeoutMs: 4_000 }))).toBe('token-1');
  });
});

describe('I3: what the provider issued is not thrown away', () => {
  test('because AWS refused the commit once', async () => {
    await storeExpired({ refreshToken: 'r0' });
    let refused = 0;
    table().faults = request => isCommit(request) && refused++ === 0 ? { kind: 'error', type: 'ExpiredTokenException' } : undefined;
    const { redeemed, refresh } = tracedGrant();
    const token = new Instance().token(tokenId(), { refresh });
    expect(await outcomeOf(token.get({ timeoutMs: 4_000 }))).toBe('of-r0');
    expect(await token.get()).toBe('of-r0');
    expect(redeemed).toEqual(['r0']);
    expect(await table().item(tokenId())).toMatchObject({ accessToken: 'of-r0', refreshToken: 'r0+' });
  });

  test('nor replaced by the refresh token that it has used up: one that is not stored yet is the newer', async () => {
    await storeExpired({ refreshToken: 'r0' });
    table().faults = request => isCommit(request) ? { kind: 'dropBefore' } : undefined;
    const { redeemed, refresh } = tracedGrant();
    const instance = new Instance();
    const token = instance.token(tokenId(), { refresh });
    expect(await outcomeOf(token.get({ timeoutMs: 900 }))).toBe('of-r0');
    instance.host.pass(6_000);
    token.reject('of-r0');
    await outcomeOf(token.get({ timeoutMs: 3_000 }));
    expect(redeemed).toEqual(['r0', 'r0+']);
  });

  test('an older late answer gives way to a newer late answer', async () => {
    const { refresh, answer, asked } = heldAnswers();
    const [first, second] = [new Instance(), new Instance()];
    await outcomeOf(first.token(tokenId(), { refresh, authLimitMs: 300 }).get({ timeoutMs: 2_000 }));
    const asksOfFirst = asked();
    table().pass(6_000); // more than two clocks may differ by
    const call = outcomeOf(second.token(tokenId(), { refresh, authLimitMs: 300 }).get({ timeoutMs: 8_000 }));
    await second.until('refreshing');
    answer(0, { accessToken: 'older', expiresIn: 3600 });
    await first.until('committed');
    await second.until('released');
    answer(asksOfFirst, { accessToken: 'newer', expiresIn: 3600 });
    await call;
    await second.until('committed');
    expect(await table().item(tokenId())).toMatchObject({ accessToken: 'newer' });
  });

  test('a late answer that could not be stored yet is used, not fetched again', async () => {
    const instance = new Instance();
    const { refresh, answer, asked } = heldAnswers();
    const token = instance.token(tokenId(), { refresh, authLimitMs: 200 });
    await outcomeOf(token.get({ timeoutMs: 700 }));
    const asks = asked();
    table().faults = request => isCommit(request) ? { kind: 'dropBefore' } : undefined;
    answer(0, { accessToken: 'late', expiresIn: 3600 });
    await sleep(1_300);
    expect(await outcomeOf(token.get({ timeoutMs: 3_000 }))).toBe('late');
    expect(asked()).toBe(asks);
  });

  test('the caller gets the token that its process was issued, though the commit gets no answer', async () => {
    table().faults = request => isCommit(request) ? { kind: 'stall' } : undefined;
    expect(await outcomeOf(new Instance().token(tokenId(), providerWith().options).get({ timeoutMs: 1_500 }))).toBe('token-1');
  });

  test('an item whose only content is a refresh token gets no time to live', async () => {
    await table().put({ tokenId: tokenId(), refreshToken: 'seed' });
    const refresh = async () => { throw Object.assign(new Error('x'), { code: 'invalid_client' }); };
    await outcomeOf(new Instance().token(tokenId(), { refresh }).get({ timeoutMs: 3_000 }));
    const item = await table().item(tokenId());
    expect(item).toMatchObject({ refreshToken: 'seed', failure: { code: 'invalid_client' } });
    expect(item).not.toHaveProperty('expireAfter');
  });
});

describe('when everyone has left', () => {
  test('nothing is sent to the provider any more, and the lease is given back', async () => {
    table().faults = request => isClaim(request) ? { kind: 'delayAfter', ms: 400 } : undefined;
    const { provider, options } = providerWith();
    const instance = new Instance();
    const leave = new AbortController();
    const call = outcomeOf(instance.token(tokenId(), options).get({ signal: leave.signal }));
    await sleep(200);
    leave.abort();
    expect(await call).toBe('ABORTED');
    await instance.until('released');
    expect(provider.calls).toBe(0);
    expect(await table().item(tokenId())).not.toHaveProperty('lease');
  });

  test('a claim that met trouble is not sent again', async () => {
    table().faults = request => isClaim(request) ? { kind: 'dropBefore' } : undefined;
    const leave = new AbortController();
    const call = outcomeOf(new Instance().token(tokenId(), providerWith().options).get({ signal: leave.signal }));
    await sleep(500);
    leave.abort();
    await call;
    const sent = table().requests.length;
    await sleep(1_500);
    expect(table().requests.length - sent).toBeLessThanOrEqual(1);
  });
});

test('whatever refresh throws, hostile getters included: a typed error, and no lease is left behind', async () => {
  const hostile = Object.defineProperty(new Error('x'), 'code', { get() { throw new Error('hostile'); } });
  const token = new Instance().token(tokenId(), { refresh: async () => { throw hostile; } });
  const error: unknown = await token.get({ timeoutMs: 900 }).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(SharedTokenError);
  expect(await table().item(tokenId())).not.toHaveProperty('lease');
});

test('a table that never answers is told apart from too little time', async () => {
  table().faults = () => ({ kind: 'stall' });
  expect(await outcomeOf(new Instance().token(tokenId(), providerWith().options).get({ timeoutMs: 1_500 }))).toBe('TABLE_UNAVAILABLE');
});

test('an observer that fails later changes nothing: its rejection is no unhandled one', async () => {
  const onEvent = async () => { throw new Error('the observer\'s own trouble'); };
  expect(await new Instance().token(tokenId(), { ...providerWith().options, onEvent }).get()).toBe('token-1');
  await sleep(20); // jest fails a test on an unhandled rejection
});

test('the errors of HTTP clients: the provider\'s code and its Retry-After are read from the response', async () => {
  const thrown = Object.assign(new Error('Request failed'), {
    code: 'ERR_BAD_REQUEST', response: { status: 400, data: { error: 'temporarily_unavailable' }, headers: { 'retry-after': '90' } },
  });
  const error: unknown = await new Instance().token(tokenId(), { refresh: async () => { throw thrown; } }).get().catch((e: unknown) => e);
  expect(error).toMatchObject({ code: 'REFRESH_FAILED', cause: thrown });
  const { failure } = await table().item(tokenId()) as { failure: { code: string; at: number; retryAt: number } };
  expect(failure.code).toBe('temporarily_unavailable');
  expect(failure.retryAt - failure.at).toBe(90_000);
});
