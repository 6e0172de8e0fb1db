import { setTimeout as sleep } from 'node:timers/promises';
import { Instance } from '../support/instance';
import { providerWith } from '../support/per-test';
import { Provider } from '../support/provider';
import { RuntimeTable } from '../support/runtime-table';

let table: RuntimeTable;
let id = '';
let count = 0;
beforeAll(async () => { table = await RuntimeTable.start(); });
afterAll(async () => table.stop());
beforeEach(() => {
  table.reset();
  id = `token-${++count}`;
});

/** A token that is stored, and old enough for its rejection to be believed. */
async function storeToken(accessToken = 'old', more: Record<string, unknown> = {}): Promise<void> {
  const now = Date.now();
  await table.put({ tokenId: id, accessToken, generation: 7, issuedAt: now - 3_000_000, expiresAt: now + 3_600_000, refreshMs: 50, ...more });
}

const unauthorizedFor = (refused: string, seen: string[] = []) => async (token: string) => {
  seen.push(token);
  return { status: token === refused ? 401 : 200 };
};

describe('get', () => {
  test('the first caller reads, claims, refreshes and commits; the item is as the protocol says', async () => {
    const instance = new Instance();
    const before = Date.now();
    expect(await instance.token(id, { refresh: new Provider().refresh }).get()).toBe('token-1');
    expect(instance.story()).toEqual(['read', 'claimed', 'refreshing', 'refreshed', 'committed']);
    const item = await table.item(id);
    expect(item).toEqual({
      tokenId: id,
      accessToken: 'token-1',
      generation: 1,
      issuedAt: expect.any(Number),
      expiresAt: Number(item?.issuedAt) + 3_600_000,
      refreshMs: expect.any(Number),
      expireAfter: Math.ceil(Number(item?.expiresAt) / 1000) + 7 * 24 * 3600,
    });
    expect(Number(item?.issuedAt)).toBeGreaterThanOrEqual(before - 1_000); // by the table's clock
  });

  test('a token in memory is used without any I/O', async () => {
    const token = new Instance().token(id, { refresh: new Provider().refresh });
    await token.get();
    table.reset();
    await token.get();
    expect(table.requests).toEqual([]);
  });

  test('a stored token is read once, strongly consistent, and never with the refresh token', async () => {
    await storeToken('stored', { refreshToken: 'secret' });
    expect(await new Instance().token(id).get()).toBe('stored');
    expect(table.operations()).toEqual(['GetItem']);
    const request = table.requests[0]?.body as { ConsistentRead?: boolean; ExpressionAttributeNames?: Record<string, string> };
    expect(request.ConsistentRead).toBe(true);
    expect(Object.values(request.ExpressionAttributeNames ?? {})).not.toContain('refreshToken');
  });

  test('1,000 parallel calls in one process make one read and one refresh', async () => {
    const provider = new Provider();
    const token = new Instance().token(id, { refresh: provider.refresh });
    const tokens = await Promise.all(Array.from({ length: 1000 }, async () => token.get()));
    expect(new Set(tokens)).toEqual(new Set(['token-1']));
    expect(provider.calls).toBe(1);
    expect(table.operations()).toEqual(['GetItem', 'UpdateItem', 'UpdateItem']);
  });

  test('two SharedTokens of one id share memory and flight, two ids share nothing', async () => {
    const provider = new Provider();
    const instance = new Instance();
    const refresh = provider.refresh;
    const [first, second, other] = await Promise.all([
      instance.token(id, { refresh }).get(), instance.token(id, { refresh }).get(), instance.token(`${id}-other`, { refresh }).get(),
    ]);
    expect(first).toBe(second);
    expect(other).not.toBe(first);
    expect(provider.calls).toBe(2);
  });

  test('I1: 20 instances that start at once make one refresh', async () => {
    const provider = new Provider({ latencyMs: 150 });
    const tokens = await Promise.all(Array.from({ length: 20 }, async () => new Instance().token(id, { refresh: provider.refresh }).get()));
    expect(new Set(tokens)).toEqual(new Set(['token-1']));
    expect(provider.calls).toBe(1);
  });

  test('a token that has expired is not used, though its item is still there', async () => {
    await storeToken('expired', { expiresAt: Date.now() - 1 });
    expect(await new Instance().token(id, { refresh: new Provider().refresh }).get()).toBe('token-1');
  });
});

describe('use', () => {
  test('a rejected token is replaced and the call is made once more', async () => {
    await storeToken();
    const provider = new Provider();
    const seen: string[] = [];
    const response = await new Instance().token(id, { refresh: provider.refresh }).use(unauthorizedFor('old', seen));
    expect(response).toEqual({ status: 200 });
    expect(seen).toEqual(['old', 'token-1']);
    expect(provider.calls).toBe(1);
    expect(await table.item(id)).toMatchObject({ accessToken: 'token-1', generation: 8 });
  });

  test('a second rejection goes back to the caller as it came, and is not tried a third time', async () => {
    await storeToken();
    const seen: string[] = [];
    const token = new Instance().token(id, { refresh: new Provider().refresh });
    const response = await token.use(async accessToken => {
      seen.push(accessToken);
      return { status: 401, body: accessToken };
    });
    expect(response).toEqual({ status: 401, body: 'token-1' });
    expect(seen).toEqual(['old', 'token-1']);
  });

  test('a thrown rejection counts like a returned one, any other error passes through', async () => {
    await storeToken();
    const token = new Instance().token(id, { refresh: new Provider().refresh });
    const unauthorized = Object.assign(new Error('no'), { response: { status: 401 } });
    await expect(token.use(async accessToken => { if (accessToken === 'old') throw unauthorized; return accessToken; })).resolves.toBe('token-1');
    await expect(token.use(async () => { throw new RangeError('other'); })).rejects.toThrow(RangeError);
  });

  test('the test for a rejection can be replaced', async () => {
    await storeToken();
    const token = new Instance().token(id, { refresh: new Provider().refresh });
    const call = async (accessToken: string) => ({ status: 200, error: accessToken === 'old' ? 'token_revoked' : undefined });
    const response = await token.use(call, { isRejection: outcome => 'value' in outcome && outcome.value.error === 'token_revoked' });
    expect(response.error).toBeUndefined();
  });

  test('a late 401 for an old token costs no refresh: another instance replaced it', async () => {
    await storeToken();
    const provider = new Provider();
    const [early, late] = [new Instance(), new Instance()];
    const lateToken = late.token(id, { refresh: provider.refresh });
    expect(await lateToken.get()).toBe('old');
    await early.token(id, { refresh: provider.refresh }).use(unauthorizedFor('old'));
    table.reset();
    expect(await lateToken.use(unauthorizedFor('old'))).toEqual({ status: 200 });
    expect(table.operations()).toEqual(['GetItem']);
    expect(provider.calls).toBe(1);
  });

  test('50 calls in one process whose tokens are refused make one refresh', async () => {
    await storeToken();
    const provider = new Provider();
    const token = new Instance().token(id, { refresh: provider.refresh });
    const responses = await Promise.all(Array.from({ length: 50 }, async () => token.use(unauthorizedFor('old'))));
    expect(responses.every(response => response.status === 200)).toBe(true);
    expect(provider.calls).toBe(1);
  });
});

describe('the storm guard', () => {
  test('a token younger than 5 s that is refused is tried once more, then the rejection goes back; nothing is refreshed', async () => {
    const provider = new Provider();
    const instance = new Instance();
    const token = instance.token(id, { refresh: provider.refresh });
    const seen: string[] = [];
    const response = await token.use(unauthorizedFor('token-1', seen));
    expect(response).toEqual({ status: 401 });
    expect(seen).toEqual(['token-1', 'token-1']);
    expect(provider.calls).toBe(1);
    expect(instance.events.filter(({ type }) => type === 'rejected').map(({ code }) => code)).toEqual(['TOO_YOUNG', 'TOO_YOUNG']);
  });

  test('a brand-new token that the API refuses for a moment is not given up', async () => {
    const provider = new Provider();
    const token = new Instance().token(id, { refresh: provider.refresh });
    let calls = 0;
    expect(await token.use(async () => ({ status: ++calls === 1 ? 401 : 200 }))).toEqual({ status: 200 });
    expect(provider.calls).toBe(1);
  });

  test('a young token that is refused while another instance refreshes: its successor is waited for', async () => {
    const provider = new Provider();
    const token = new Instance().token(id, { refresh: provider.refresh });
    await token.get();
    const now = Date.now();
    await table.set(id, 'lease', { id: 'other', since: now, until: now + 9_000, holder: 'other' });
    const call = token.use(unauthorizedFor('token-1'));
    await sleep(1_000);
    await table.put({ tokenId: id, accessToken: 'successor', generation: 2, issuedAt: now, expiresAt: now + 3_600_000 });
    expect(await call).toEqual({ status: 200 });
    expect(provider.calls).toBe(1);
  });

  test('a young token that is refused is used once more even where the table cannot be reached', async () => {
    const token = new Instance().token(id, { refresh: new Provider().refresh });
    await token.get();
    table.faults = () => ({ kind: 'dropBefore' });
    let calls = 0;
    expect(await token.use(async () => ({ status: ++calls === 1 ? 401 : 200 }), { timeoutMs: 1_500 })).toEqual({ status: 200 });
  });

  test('the minimum age doubles with each generation in a row that is rejected before half its life, and starts anew after a good one', async () => {
    const provider = new Provider();
    const instance = new Instance();
    const token = instance.token(id, { refresh: provider.refresh });
    await token.get();
    for (const [pause, earlyRejections] of [[6_000, 1], [11_000, 2], [21_000, 3]] as const) {
      instance.host.pass(pause - 5_500);
      token.reject(await token.get());
      const callsBefore = provider.calls;
      await token.get();
      expect(provider.calls).toBe(callsBefore);
      instance.host.pass(5_500);
      token.reject(await token.get());
      await token.get();
      expect(await table.item(id)).toMatchObject({ meta: { earlyRejections } });
    }
    instance.host.pass(2_000_000);
    token.reject(await token.get());
    await token.get();
    expect(await table.item(id)).toMatchObject({ meta: { earlyRejections: 0 } });
  });

  test('a provider that returns the same token again: it is stored with a pause, and used', async () => {
    await storeToken('same');
    const provider = new Provider({ answer: () => ({ accessToken: 'same', expiresIn: 3600 }) });
    const token = new Instance().token(id, { refresh: provider.refresh });
    expect(await token.use(unauthorizedFor('same'))).toEqual({ status: 401 });
    expect(provider.calls).toBe(1);
    expect(await table.item(id)).toMatchObject({ generation: 8, failure: { code: 'SAME_TOKEN', count: 1 } });
  });

  test('a token that is over on arrival is stored with a pause: no loop', async () => {
    const instance = new Instance();
    const provider = new Provider({
      answer: call => {
        for (const clock of [instance.host, table]) clock.pass(1_200);
        return { accessToken: `short-${call}`, expiresIn: 0.1 };
      },
    });
    await expect(instance.token(id, { refresh: provider.refresh }).get({ timeoutMs: 25_000 })).rejects.toMatchObject({ code: 'COOLING_DOWN' });
    // 1 s is waited for, and 2 s too unless the clock learned meanwhile that it is a little more
    expect([2, 3]).toContain(provider.calls);
    expect(await table.item(id)).toMatchObject({ failure: { code: 'EXPIRED_ON_ARRIVAL', count: provider.calls } });
  });
});

describe('refresh ahead', () => {
  const inWindow = () => ({ issuedAt: Date.now() - 890_000, expiresAt: Date.now() + 100_500 });

  test('inside the window one instance refreshes; nobody else waits', async () => {
    await storeToken('aging', inWindow());
    const provider = new Provider({ latencyMs: 400 });
    const instances = Array.from({ length: 5 }, () => new Instance());
    const tokens = instances.map(instance => {
      instance.host.random = () => 0; // its moment is the beginning of the window
      return instance.token(id, { refresh: provider.refresh });
    });
    await Promise.all(tokens.map(async token => token.get()));
    const again = await Promise.all(tokens.map(async token => token.get()));
    expect(provider.calls).toBe(1);
    expect(provider.mostAtOnce).toBe(1);
    expect(new Set(again)).toEqual(new Set(['aging', 'token-1']));
    expect(instances.filter(instance => instance.count('waiting') > 0)).toEqual([]);
  });

  test('I7: concurrent callers of the instance that refreshes ahead get the token at once', async () => {
    await storeToken('aging', inWindow());
    let finish = () => {};
    const instance = new Instance();
    instance.host.random = () => 0;
    const refresh = async () => {
      await new Promise<void>(resolve => { finish = resolve; });
      return { accessToken: 'next', expiresIn: 3600 };
    };
    const token = instance.token(id, { refresh });
    const ahead = token.get();
    await instance.until('refreshing');
    expect(await token.get()).toBe('aging');
    finish();
    expect(await ahead).toBe('next');
  });

  test('a failed refresh ahead is not an error while the token is usable', async () => {
    await storeToken('aging', inWindow());
    const instance = new Instance();
    instance.host.random = () => 0;
    const token = instance.token(id, { refresh: async () => { throw new Error('down'); } });
    expect(await token.get()).toBe('aging');
    expect(await token.get()).toBe('aging');
    expect(instance.count('refreshing')).toBe(1);
    expect(await table.item(id)).toMatchObject({ accessToken: 'aging', failure: { count: 1 } });
  });
});

describe('readers', () => {
  test('without a right to refresh and without a token: a typed error after two seconds of looking', async () => {
    await expect(new Instance().token(id).get()).rejects.toMatchObject({ code: 'NO_USABLE_TOKEN', tokenId: id });
    expect(new Set(table.operations())).toEqual(new Set(['GetItem']));
  });

  test('a reader that waited long for a holder which died still gives somebody the time to take over', async () => {
    const until = Date.now() + 500;
    await table.put({ tokenId: id, lease: { id: 'dead', since: until - 12_000, until, holder: 'dead' } });
    const reading = new Instance().token(id).get();
    await sleep(3_500);
    const { options } = providerWith({ latencyMs: 50 });
    await new Instance().token(id, options).get();
    expect(await reading).toBe('token-1');
  });

  test('a reader waits for a refresh that is under way', async () => {
    const provider = new Provider({ latencyMs: 300 });
    const writer = new Instance();
    const writing = writer.token(id, { refresh: provider.refresh }).get();
    await writer.until('refreshing');
    expect(await new Instance().token(id).get()).toBe('token-1');
    await writing;
  });
});

describe('deadlines', () => {
  const never = { refresh: async () => new Promise<never>(() => {}) };

  test('I5: a waiter leaves at its own deadline with a typed error, the others stay', async () => {
    const provider = new Provider({ latencyMs: 500 });
    const token = new Instance().token(id, { refresh: provider.refresh });
    const patient = token.get();
    await expect(token.get({ timeoutMs: 50 })).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED', tokenId: id });
    expect(await patient).toBe('token-1');
  });

  test('I5: a lease until the last moment that a Date knows is no reason for another error', async () => {
    await table.put({ tokenId: id, lease: { id: 'endless', since: Date.now(), until: 8.64e15, holder: 'a function of the far future' } });
    const error: unknown = await new Instance().token(id, never).get({ timeoutMs: 300 }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'DEADLINE_EXCEEDED', tokenId: id });
    expect(String(error)).toContain('a function of the far future');
  });

  test('a caller\'s signal ends its wait, not the request that was sent nor its commit', async () => {
    const provider = new Provider({ latencyMs: 200 });
    const instance = new Instance();
    const stop = new AbortController();
    const call = instance.token(id, { refresh: provider.refresh }).get({ signal: stop.signal });
    await instance.until('refreshing');
    stop.abort();
    await expect(call).rejects.toMatchObject({ code: 'ABORTED' });
    await instance.until('committed');
    expect(await table.item(id)).toMatchObject({ accessToken: 'token-1', generation: 1 });
  });

  test('the invocation\'s remaining time bounds the call and the lease', async () => {
    const instance = new Instance();
    const context = { getRemainingTimeInMillis: () => 1_000, awsRequestId: 'request-1' };
    await expect(instance.token(id, never).get({ context })).rejects.toMatchObject({ code: expect.stringMatching(/REFRESH_TIMED_OUT|DEADLINE_EXCEEDED/) });
    const claimed = instance.events.find(event => event.type === 'claimed');
    // one by the own clock, the other by the table's, which is known to half a second at first
    expect(Number(claimed?.until) - Number(claimed?.at)).toBeLessThanOrEqual(1_600);
  });

  test('an aborted signal fails at once, without I/O', async () => {
    await expect(new Instance().token(id, never).get({ signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'ABORTED' });
    expect(table.requests).toEqual([]);
  });
});
