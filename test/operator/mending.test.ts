import { SharedTokenOperator } from '../../lambda-runtime/operator';
import type { RefreshResult } from '../../lambda-runtime/public-types';
import { refresherHandler } from '../../lambda-runtime/refresher';
import type { RefresherPort } from '../../lambda-runtime/refresher-port';
import { Instance } from '../support/instance';
import { tablePerFile } from '../support/per-test';
import { Provider } from '../support/provider';

/*
 * What an operator's writes do to instances that know nothing of operators: the real runtime, on the embedded table.
 */
const { table, tokenId } = tablePerFile();
const MINUTE = 60_000;

const stored = (more: object = {}) => {
  const now = Date.now();
  return { tokenId: tokenId(), accessToken: 'old', generation: 4, issuedAt: now - 10 * MINUTE, expiresAt: now + 50 * MINUTE, refreshMs: 50, ...more };
};
const operator = () => new SharedTokenOperator(tokenId());
const item = async () => table().item(tokenId());

/** A provider that answers its nth request when it is told: `token-n`, or so. */
function heldProvider(answerOf = (call: number): RefreshResult => ({ accessToken: `token-${call}`, expiresIn: 3600 })) {
  const told = [1, 2].map(() => {
    let tell = () => {};
    return { when: new Promise<void>(resolve => { tell = resolve; }), tell: () => tell() };
  });
  const provider = new Provider({
    latencyMs: 0,
    answer: async call => {
      await told[call - 1]?.when;
      return answerOf(call);
    },
  });
  return { provider, options: { refresh: provider.refresh }, answer: (call: number) => told[call - 1]?.tell() };
}

/** An instance whose lease an operator ended while it asks the provider, and the next one, which asks as well. */
async function overtaken() {
  await table().put(stored({ expiresAt: Date.now() - 1 }));
  const { provider, options, answer } = heldProvider();
  const former = new Instance();
  const call = former.token(tokenId(), options).get();
  await former.until('refreshing');
  await operator().endLease();
  const next = new Instance();
  const nextCall = next.token(tokenId(), options).get();
  await next.until('refreshing'); // a second provider call, while the first is under way
  return { provider, answer, call, next, nextCall };
}

/** An instance that is asking the provider for the successor of a token that its API refused. */
async function refreshing(options: { readonly refresh: Provider['refresh'] }) {
  const holder = new Instance();
  const token = holder.token(tokenId(), options);
  expect(await token.get()).toBe('old');
  token.reject('old');
  const call = token.get();
  await holder.until('refreshing');
  return { holder, call };
}

describe('a token that an operator had expire', () => {
  test.each([
    ['with an expiry', {}],
    ['whose provider gives none', { expiresAt: undefined }],
    ['that was issued a moment ago, whose rejection nobody would believe', { issuedAt: Date.now() }],
  ])('%s is replaced at an instance\'s next look at the table; until then what is in memory is used', async (_, more) => {
    await table().put(JSON.parse(JSON.stringify(stored(more))) as ReturnType<typeof stored>);
    const provider = new Provider();
    const early = new Instance().token(tokenId(), { refresh: provider.refresh });
    expect(await early.get()).toBe('old');

    expect(await operator().expire()).toBe(true);
    table().requests.length = 0;
    expect(await early.get()).toBe('old');
    expect(table().operations()).toEqual([]);

    const late = new Instance();
    expect(await late.token(tokenId(), { refresh: provider.refresh }).get()).toBe('token-1');
    expect(late.story()).toEqual(['read', 'claimed', 'refreshing', 'refreshed', 'committed']);
    expect(await item()).toMatchObject({ accessToken: 'token-1', generation: 5 });
    expect(provider.calls).toBe(1);
  });

  test('is replaced by the instance that holds it as soon as the API refuses it', async () => {
    await table().put(stored());
    const provider = new Provider();
    const instance = new Instance();
    const token = instance.token(tokenId(), { refresh: provider.refresh });
    expect(await token.get()).toBe('old');
    await operator().expire();
    expect(await token.use(used => ({ status: used === 'old' ? 401 : 200 }))).toEqual({ status: 200 });
    expect(provider.calls).toBe(1);
  });

  test('is replaced by one provider call, however many look at once; and one by one they adopt its answer', async () => {
    await table().put(stored());
    const provider = new Provider({ latencyMs: 100 });
    await operator().expire();
    const instances = Array.from({ length: 2 }, () => new Instance());
    const tokens = await Promise.all(instances.map(async instance => instance.token(tokenId(), { refresh: provider.refresh }).get()));
    expect(tokens).toEqual(['token-1', 'token-1']);
    expect(await new Instance().token(tokenId(), { refresh: provider.refresh }).get()).toBe('token-1');
    expect(provider.calls).toBe(1);
    expect(await item()).toMatchObject({ generation: 5 });
  });

  test('is due for the refresher that a reader asks, though no API has refused it', async () => {
    await table().put(stored());
    const provider = new Provider();
    const handler = refresherHandler({ tokenId: tokenId(), refresh: provider.refresh });
    const refresher: RefresherPort = { ask: async asked => { await handler({ tokenId: tokenId(), asked }); } };
    const reader = () => new Instance(undefined, refresher).token(tokenId(), { refresher: 'refresher' });
    expect(await reader().get()).toBe('old');
    expect(await handler({ tokenId: tokenId(), asked: {} })).toEqual({ refreshed: false });

    await operator().expire();
    expect(await Promise.all([reader().get(), reader().get()])).toEqual(['token-1', 'token-1']);
    expect(provider.calls).toBe(1);
    expect(await item()).toMatchObject({ accessToken: 'token-1', generation: 5 });
  });

  test('is due at a deployment', async () => {
    await table().put(stored());
    const provider = new Provider();
    const handler = refresherHandler({ tokenId: tokenId(), refresh: provider.refresh });
    expect(await handler({})).toEqual({ refreshed: false });
    await operator().expire();
    // What the handler's own process has in memory it would use: it reads first, since a refresh is asked for.
    expect(await handler({})).toEqual({ refreshed: true });
    expect(provider.calls).toBe(1);
  });

  test('while its holder is refreshing: the answer is committed under the lease, and ends when the provider said', async () => {
    await table().put(stored());
    const { options, answer } = heldProvider();
    const { holder, call } = await refreshing(options);
    expect(await operator().expire()).toBe(true);
    answer(1);
    expect(await call).toBe('token-1');
    expect(holder.count('committed')).toBe(1);
    const after = await item();
    expect(after).toMatchObject({ accessToken: 'token-1', generation: 5 });
    expect(after?.expiresAt).toBeGreaterThan(Date.now() + 50 * MINUTE);
    expect(after).not.toHaveProperty('lease');
  });
});

describe('a lease that an operator ended', () => {
  test('I3: its holder, who lives, commits late', async () => {
    await table().put(stored());
    const { options, answer } = heldProvider();
    const { holder, call } = await refreshing(options);
    expect(await operator().endLease()).toBe(true);
    expect(await item()).not.toHaveProperty('lease');
    answer(1);
    expect(await call).toBe('token-1');
    expect(holder.count('committed')).toBe(1);
    expect(await item()).toMatchObject({ accessToken: 'token-1', generation: 5 });
  });

  test('I3: the same where the token was expired, too', async () => {
    await table().put(stored());
    const { options, answer } = heldProvider();
    const { call } = await refreshing(options);
    const mending = operator();
    expect([await mending.expire(), await mending.endLease()]).toEqual([true, true]);
    answer(1);
    expect(await call).toBe('token-1');
    expect(await item()).toMatchObject({ accessToken: 'token-1', generation: 5 });
  });

  test('lets another refresh at once; I2: the former holder\'s answer does not overwrite what was fetched since, and its callers get that', async () => {
    const { provider, answer, call, next, nextCall } = await overtaken();
    expect(next.events.find(({ type }) => type === 'claimed')?.takeover).toBe(false);
    answer(2);
    expect(await nextCall).toBe('token-2');
    answer(1);
    expect(await call).toBe('token-2');
    expect(await item()).toMatchObject({ accessToken: 'token-2', generation: 5 });
    expect(provider.calls).toBe(2);
  });

  test('I2: the former holder\'s late answer is stored where it comes first, leaves the new lease alone, and is overwritten by what was fetched under that', async () => {
    const { answer, call, nextCall } = await overtaken();
    const { lease } = await item() as { lease: { id: string } };

    answer(1);
    expect(await call).toBe('token-1');
    expect(await item()).toMatchObject({ accessToken: 'token-1', generation: 5, lease });
    answer(2);
    expect(await nextCall).toBe('token-2');
    expect(await item()).toMatchObject({ accessToken: 'token-2', generation: 6 });
    expect(await item()).not.toHaveProperty('lease');
  });

  test('is not its holder\'s to record a failure with', async () => {
    await table().put(stored({ expiresAt: Date.now() - 1 }));
    const { provider, options, answer } = heldProvider(call => {
      if (call === 1) throw new Error('down');
      return { accessToken: 'token-2', expiresIn: 3600 };
    });
    const holder = new Instance();
    const call = holder.token(tokenId(), options).get({ timeoutMs: 5_000 });
    await holder.until('refreshing');
    await operator().endLease();
    answer(1);
    await holder.until('released');
    expect(await item()).not.toHaveProperty('failure');
    answer(2);
    expect(await call).toBe('token-2');
    expect(provider.calls).toBe(2);
  });

  test('of a dead holder need not be waited for, nor is its death counted', async () => {
    const now = Date.now();
    await table().put(stored({ expiresAt: now - 1, lease: { id: 'dead', since: now - 1_000, until: now + 10 * MINUTE, holder: 'dead 1' } }));
    const provider = new Provider();
    await operator().endLease();
    const instance = new Instance();
    expect(await instance.token(tokenId(), { refresh: provider.refresh }).get()).toBe('token-1');
    expect(instance.story()).toEqual(['read', 'claimed', 'refreshing', 'refreshed', 'committed']);
  });
});

test('a failure that an operator cleared holds up nobody: the instance that failed fast asks the provider at its next call', async () => {
  const now = Date.now();
  await table().put(stored({ expiresAt: now - 1, failure: { code: 'invalid_client', count: 3, at: now, retryAt: now + 5 * MINUTE } }));
  const provider = new Provider();
  const token = new Instance().token(tokenId(), { refresh: provider.refresh });
  await expect(token.get()).rejects.toMatchObject({ code: 'COOLING_DOWN' });
  expect(await operator().clearFailure()).toBe(true);
  expect(await token.get()).toBe('token-1');
  expect(provider.calls).toBe(1);
  expect(await item()).not.toHaveProperty('failure');
});
