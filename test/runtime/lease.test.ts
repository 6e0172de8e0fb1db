import { setTimeout as sleep } from 'node:timers/promises';
import { LEASE_GRACE_MS } from '../../lambda-runtime/timing';
import { Instance } from '../support/instance';
import { providerWith, tablePerFile } from '../support/per-test';

const { table, tokenId } = tablePerFile();

/** The lease of a holder that is gone. `endedMs` ago, or still alive where negative. */
function deadLease(endedMs: number, durationMs = 5_000) {
  const until = Date.now() - endedMs;
  return { id: 'dead', since: until - durationMs, until, holder: 'dead-function 1' };
}

async function storeRejectedToken(more: Record<string, unknown> = {}): Promise<void> {
  const now = Date.now();
  await table().put({ tokenId: tokenId(), accessToken: 'old', generation: 3, issuedAt: now - 4_000_000, expiresAt: now - 400_000, refreshMs: 50, ...more });
}

describe('takeover', () => {
  test('a lease that ended long ago is taken at the first look', async () => {
    await storeRejectedToken({ lease: deadLease(60_000) });
    const { provider, options } = providerWith();
    const instance = new Instance();
    expect(await instance.token(tokenId(), options).get()).toBe('token-1');
    expect(instance.story()).toEqual(['read', 'claimed', 'refreshing', 'refreshed', 'committed']);
    expect(instance.events.find(event => event.type === 'claimed')?.takeover).toBe(true);
    expect(provider.calls).toBe(1);
  });

  test('I4: a holder that died is succeeded when its lease is over, and not before', async () => {
    await storeRejectedToken({ lease: deadLease(-300) });
    const { lease } = await table().item(tokenId()) as { lease: { until: number } };
    const { provider, options } = providerWith();
    const instances = Array.from({ length: 6 }, () => new Instance());
    const tokens = await Promise.all(instances.map(async instance => instance.token(tokenId(), options).get()));
    expect(new Set(tokens)).toEqual(new Set(['token-1']));
    expect(provider.calls).toBe(1);
    const claims = instances.flatMap(instance => instance.events.filter(event => event.type === 'claimed'));
    expect(claims).toHaveLength(1);
    expect(claims[0]?.at).toBeGreaterThanOrEqual(lease.until + LEASE_GRACE_MS - 1_000); // the Date header counts whole seconds
  });

  test('a lease watched unchanged for its whole duration is over, though the clocks say that it lasts for hours', async () => {
    const since = Date.now() + 7_200_000;
    await storeRejectedToken({ lease: { id: 'dead', since, until: since + 400, holder: 'a function with a wrong clock' } });
    const { provider, options } = providerWith();
    const instance = new Instance();
    expect(await instance.token(tokenId(), options).get()).toBe('token-1');
    expect(instance.count('waiting')).toBeGreaterThan(0);
    expect(provider.calls).toBe(1);
  });

  test('a first reply that took too long to tell the time decides nothing: a clock that is an hour ahead takes nobody\'s lease away', async () => {
    await storeRejectedToken({ lease: deadLease(-20_000, 25_000) });
    const { provider, options } = providerWith();
    const instance = new Instance();
    instance.host.wallOffset = 3_600_000;
    let reads = 0;
    table().faults = () => {
      reads++;
      if (reads < 3) return { kind: 'dropBefore' }; // each attempt may take longer than the one before: the third up to 4 s
      if (reads === 3) instance.host.pass(2_500);
      return undefined;
    };
    await expect(instance.token(tokenId(), options).get({ timeoutMs: 4_000 })).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    expect(reads).toBeGreaterThanOrEqual(3);
    expect(provider.calls).toBe(0);
  });

  test('the table is everybody\'s clock: an instance whose own clock is an hour ahead takes nobody\'s lease away', async () => {
    const { provider, options } = providerWith({ latencyMs: 400 });
    const holder = new Instance();
    const fast = new Instance();
    fast.host.wallOffset = 3_600_000;
    const holding = holder.token(tokenId(), options).get();
    await holder.until('refreshing');
    expect(await fast.token(tokenId(), options).get()).toBe('token-1');
    await holding;
    expect(provider.calls).toBe(1);
  });

  test('a takeover is recorded, so that a holder that dies each time is no crash loop on the provider', async () => {
    await storeRejectedToken({ lease: deadLease(60_000) });
    const instance = new Instance();
    const call = instance.token(tokenId(), { refresh: async () => new Promise<never>(() => {}) }).get({ timeoutMs: 2_000 });
    await instance.until('refreshing');
    const item = await table().item(tokenId()) as { failure: unknown; lease: { until: number } };
    expect(item.failure).toEqual({
      code: 'HOLDER_DIED', count: 1, at: expect.any(Number), retryAt: item.lease.until + LEASE_GRACE_MS + 1_000,
    });
    await expect(call).rejects.toMatchObject({ tokenId: tokenId() });
  });

  test('contention is not an error: whoever loses the claim waits and adopts, and nothing is logged', async () => {
    const { provider, options } = providerWith({ latencyMs: 100 });
    const instances = Array.from({ length: 10 }, () => new Instance());
    const logs = (['error', 'warn', 'info', 'log', 'debug'] as const).map(level => jest.spyOn(console, level));
    await Promise.all(instances.map(async instance => instance.token(tokenId(), options).get()));
    for (const log of logs) {
      expect(log).not.toHaveBeenCalled();
      log.mockRestore();
    }
    expect(provider.calls).toBe(1);
    const losers = instances.filter(instance => instance.count('claimed') === 0);
    expect(losers).toHaveLength(9);
    expect(losers.every(instance => instance.count('adopted') === 1)).toBe(true);
  });
});

describe('a waiter', () => {
  test('only reads while another holds the lease, and never asks the provider without one: at its deadline it fails with a typed error', async () => {
    await storeRejectedToken({ lease: deadLease(-20_000) });
    const { provider, options } = providerWith();
    await expect(new Instance().token(tokenId(), options).get({ timeoutMs: 700 })).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    expect(table().operations().length).toBeGreaterThan(2);
    expect(new Set(table().operations())).toEqual(new Set(['GetItem']));
    expect(provider.calls).toBe(0);
  });

  test('whose claim was decided on an old snapshot is refused by the table, and adopts what was committed meanwhile', async () => {
    await storeRejectedToken();
    const { provider, options } = providerWith();
    let claimArrives = () => {};
    const isOnItsWay = new Promise<void>(sent => {
      table().faults = async ({ operation }) => {
        if (operation !== 'UpdateItem') return undefined;
        sent();
        return new Promise<undefined>(resolve => { claimArrives = () => resolve(undefined); });
      };
    });
    const late = new Instance();
    const call = late.token(tokenId(), options).get();
    await isOnItsWay;
    table().faults = () => undefined;
    expect(await new Instance().token(tokenId(), options).get()).toBe('token-1');
    claimArrives();
    expect(await call).toBe('token-1');
    expect(late.story()).toEqual(['read', 'adopted']);
    expect(provider.calls).toBe(1);
  });
});

describe('a release', () => {
  test('that comes after a takeover leaves the new lease as it is, and records nothing', async () => {
    const { options } = providerWith();
    const slow = new Instance();
    let fail = () => {};
    const call = slow.token(tokenId(), { refresh: async () => new Promise<never>((_, reject) => { fail = () => reject(new Error('down')); }) })
      .get({ timeoutMs: 3_000 });
    await slow.until('refreshing');
    const lease = { ...deadLease(-60_000), id: 'another' };
    await table().set(tokenId(), 'lease', lease);
    fail();
    await slow.until('released');
    expect(await table().item(tokenId())).toMatchObject({ lease });
    expect(await table().item(tokenId())).not.toHaveProperty('failure');
    await table().set(tokenId(), 'lease', { ...lease, ...deadLease(60_000) }); // the other one dies
    await new Instance().token(tokenId(), options).get();
    expect(await call).toBe('token-1');
  });
});

describe('freeze', () => {
  test('a freeze between claim and sending: the lease is given back and nothing is sent under it', async () => {
    const { provider, options } = providerWith();
    const instance = new Instance();
    instance.onFirst('claimed', () => instance.host.pass(8_000));
    expect(await instance.token(tokenId(), options).get()).toBe('token-1');
    expect(instance.story()).toEqual(['read', 'claimed', 'released', 'claimed', 'refreshing', 'refreshed', 'committed']);
    expect(provider.calls).toBe(1);
  });

  test('a takeover that sends nothing leaves no cool-down behind: the provider was not asked', async () => {
    await storeRejectedToken({ lease: deadLease(60_000) });
    const { provider, options } = providerWith();
    const instance = new Instance();
    instance.onFirst('claimed', () => instance.host.pass(9_000));
    expect(await instance.token(tokenId(), options).get()).toBe('token-1');
    expect(instance.story()).toEqual(['read', 'claimed', 'released', 'claimed', 'refreshing', 'refreshed', 'committed']);
    expect(provider.calls).toBe(1);
  });

  test('a claim that took long shortens the auth request, it does not give the lease back', async () => {
    const { provider, options } = providerWith();
    const instance = new Instance();
    instance.onFirst('claimed', () => instance.host.pass(4_000));
    expect(await instance.token(tokenId(), options).get()).toBe('token-1');
    expect(instance.story()).toEqual(['read', 'claimed', 'refreshing', 'refreshed', 'committed']);
    expect(provider.calls).toBe(1);
  });

  test('I3: frozen in the auth request and succeeded meanwhile, the late answer does not overwrite the newer token', async () => {
    const frozen = new Instance();
    let thaw = () => {};
    const call = frozen.token(tokenId(), {
      refresh: async () => {
        await new Promise<void>(resolve => { thaw = resolve; });
        return { accessToken: 'late', expiresIn: 3600 };
      },
    }).get();
    await frozen.until('refreshing');
    await table().set(tokenId(), 'lease', deadLease(60_000));
    const { options } = providerWith();
    expect(await new Instance().token(tokenId(), options).get()).toBe('token-1');
    thaw();
    expect(await call).toBe('token-1');
    expect(await table().item(tokenId())).toMatchObject({ accessToken: 'token-1', generation: 1 });
  });

  test('I3: a late answer is stored where nothing newer was, and another\'s lease is left alone', async () => {
    const frozen = new Instance();
    let thaw = () => {};
    const call = frozen.token(tokenId(), {
      refresh: async () => {
        await new Promise<void>(resolve => { thaw = resolve; });
        return { accessToken: 'late', expiresIn: 3600, refreshToken: 'rotated' };
      },
    }).get();
    await frozen.until('refreshing');
    const lease = { ...deadLease(-20_000), id: 'another' };
    await table().set(tokenId(), 'lease', lease);
    thaw();
    expect(await call).toBe('late');
    expect(await table().item(tokenId())).toMatchObject({ accessToken: 'late', refreshToken: 'rotated', generation: 1, lease });
  });

  test('I3: an answer that comes after the auth limit is stored all the same', async () => {
    const slow = new Instance();
    let answer = () => {};
    const call = slow.token(tokenId(), {
      authLimitMs: 150,
      refresh: async () => {
        await new Promise<void>(resolve => { answer = resolve; });
        return { accessToken: 'late', expiresIn: 3600 };
      },
    }).get({ timeoutMs: 700 });
    await expect(call).rejects.toMatchObject({ code: 'REFRESH_TIMED_OUT' });
    answer();
    await slow.until('committed');
    expect(await table().item(tokenId())).toMatchObject({ accessToken: 'late', generation: 1 });
  });

  test('an item deleted while its holder was frozen begins again at generation 1, by the late answer', async () => {
    await storeRejectedToken();
    const frozen = new Instance();
    let thaw = () => {};
    const call = frozen.token(tokenId(), {
      refresh: async () => {
        await new Promise<void>(resolve => { thaw = resolve; });
        return { accessToken: 'late', expiresIn: 3600 };
      },
    }).get();
    await frozen.until('refreshing');
    await table().delete(tokenId());
    thaw();
    expect(await call).toBe('late');
    expect(await table().item(tokenId())).toMatchObject({ accessToken: 'late', generation: 1 });
  });

  test('a flight whose time a freeze took away takes no new callers', async () => {
    const { provider, options } = providerWith();
    const instance = new Instance();
    const first = instance.token(tokenId(), { refresh: async () => new Promise<never>(() => {}) }).get({ timeoutMs: 3_000 });
    await instance.until('refreshing');
    await table().set(tokenId(), 'lease', deadLease(60_000));
    instance.host.pass(10_000);
    expect(await instance.token(tokenId(), options).get()).toBe('token-1');
    expect(provider.calls).toBe(1);
    expect(await first).toBe('token-1'); // its own request never ends, but the token is there
  });
});

describe('rotating refresh tokens', () => {
  test('the stored refresh token is handed to refresh, a new one replaces it, none or an empty one leaves it', async () => {
    await storeRejectedToken({ refreshToken: 'r-1' });
    const given: unknown[] = [];
    const answers = [{ refreshToken: 'r-2' }, {}, { refreshToken: null }, { refreshToken: '' }];
    for (const [index, answer] of answers.entries()) {
      await table().set(tokenId(), 'expiresAt', Date.now() - 2_000); // clearly past, whatever the clock learned is off by
      const refresh = async ({ refreshToken }: { readonly refreshToken?: string | undefined }) => {
        given.push(refreshToken);
        return { accessToken: `a-${index}`, expiresIn: 3600, ...answer };
      };
      await new Instance().token(tokenId(), { refresh }).get();
      expect(await table().item(tokenId())).toMatchObject({ refreshToken: 'r-2' });
    }
    expect(given).toEqual(['r-1', 'r-2', 'r-2', 'r-2']);
  });

  test('an item with a refresh token, or without an expiry, has no time to live: it would delete the only credential', async () => {
    const answers = [{ accessToken: 'a', expiresIn: 60, refreshToken: 'r' }, { accessToken: 'b' }];
    for (const answer of answers) {
      await table().delete(tokenId());
      await new Instance().token(tokenId(), { refresh: async () => answer }).get();
      const item = await table().item(tokenId());
      expect(item).toHaveProperty('accessToken', answer.accessToken);
      expect(item).not.toHaveProperty('expireAfter');
    }
  });

  test.each([
    ['brings one', { accessToken: 'replayed', expiresIn: 60, refreshToken: 'r-3' }, 'r-3'],
    ['brings none', undefined, 'r-2'],
  ])('an answer to the first request that comes during its replay counts only if the replay brings none; it %s', async (_, replayed, stored) => {
    await storeRejectedToken({ refreshToken: 'r-1' });
    let calls = 0;
    let answerFirst = () => {};
    const refresh = async () => {
      if (++calls === 1) {
        await new Promise<void>(resolve => { answerFirst = resolve; });
        return { accessToken: 'first', expiresIn: 60, refreshToken: 'r-2' };
      }
      answerFirst();
      await sleep(30);
      if (replayed === undefined) throw new Error('the replay was refused');
      return replayed;
    };
    const token = await new Instance().token(tokenId(), { refresh, authLimitMs: 400 }).get();
    expect(token).toBe(replayed?.accessToken ?? 'first');
    expect(await table().item(tokenId())).toMatchObject({ accessToken: token, refreshToken: stored, generation: 4 });
  });

  test('nothing is replayed when everyone has left', async () => {
    await storeRejectedToken({ refreshToken: 'r-1' });
    let calls = 0;
    const leave = new AbortController();
    const refresh = async () => {
      calls++;
      leave.abort();
      return new Promise<never>(() => {});
    };
    const instance = new Instance();
    await expect(instance.token(tokenId(), { refresh, authLimitMs: 200 }).get({ signal: leave.signal })).rejects.toMatchObject({ code: 'ABORTED' });
    await instance.until('released');
    expect(calls).toBe(1);
  });

  test('nothing is replayed that would outlive the lease', async () => {
    await storeRejectedToken({ refreshToken: 'r-1' });
    let calls = 0;
    const instance = new Instance();
    const refresh = async () => {
      calls++;
      instance.host.pass(10_000); // frozen in the request, for longer than the lease
      return new Promise<never>(() => {});
    };
    const call = instance.token(tokenId(), { refresh, authLimitMs: 400 }).get({ timeoutMs: 12_000 });
    await expect(call).rejects.toMatchObject({ code: 'REFRESH_TIMED_OUT' });
    expect(calls).toBe(1);
  });

  test('a request that timed out is replayed once, inside the lease', async () => {
    await storeRejectedToken({ refreshToken: 'r-1' });
    let calls = 0;
    const refresh = async () => ++calls === 1 ? new Promise<never>(() => {}) : { accessToken: 'replayed', expiresIn: 60, refreshToken: 'r-2' };
    const instance = new Instance();
    expect(await instance.token(tokenId(), { refresh, authLimitMs: 400 }).get()).toBe('replayed');
    expect(instance.count('claimed')).toBe(1);
    expect(await table().item(tokenId())).toMatchObject({ refreshToken: 'r-2' });
  });
});
