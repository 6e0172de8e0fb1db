import { RefreshError } from '../../lambda-runtime/errors';
import { systemHost } from '../../lambda-runtime/host';
import type { RefreshResult } from '../../lambda-runtime/public-types';
import { LONGEST_LEASE_MS } from '../../lambda-runtime/timing';
import { Instance } from '../support/instance';
import { providerWith, tablePerFile } from '../support/per-test';

const { table, tokenId } = tablePerFile();

const HOUR = 3_600_000;
const LOG_IN = { timeoutMs: HOUR + 60_000 };

/** An instance whose long sleeps, those between renewals, end when the test says so; and a person who has not logged in yet. */
function personLoggingIn(authLimitMs = HOUR) {
  const instance = new Instance();
  const sleeps: { readonly ms: number; readonly end: () => void }[] = [];
  instance.host.sleep = async (ms, signal) => {
    if (ms < 60_000) return systemHost.sleep(ms, signal);
    return new Promise(resolve => {
      sleeps.push({ ms, end: resolve });
      signal?.addEventListener('abort', () => resolve(), { once: true });
    });
  };
  let logIn: (result: RefreshResult) => void = () => undefined;
  let fail: (error: Error) => void = () => undefined;
  const { provider, options } = providerWith({ answer: async () => new Promise((resolve, reject) => { logIn = resolve; fail = reject; }) });
  const token = instance.token(tokenId(), { ...options, authLimitMs });
  /** Half of the lease passes. */
  const untilRenewal = async (): Promise<void> => {
    const count = renewals().length;
    sleeps.filter(({ ms }) => ms <= LONGEST_LEASE_MS / 2).at(-1)?.end();
    for (let looks = 0; renewals().length === count && looks < 200; looks++) await systemHost.sleep(5);
  };
  return { instance, provider, token, sleeps, untilRenewal, logIn: () => logIn({ accessToken: 'logged-in', expiresIn: 7_200 }), fail: () => fail(new RefreshError('invalid_client')) };
}

const renewals = () => table().requests.filter(({ operation, body }) => operation === 'UpdateItem' && String(body.UpdateExpression).includes('#lease.#until'));
const lease = async () => (await table().item(tokenId()))?.lease as { id: string; until: number; since: number } | undefined;
const pause = async () => systemHost.sleep(30);

describe('renew: an auth limit above the longest lease', () => {
  test('the lease is no longer than any, and its end is moved while the request is under way', async () => {
    const { instance, provider, token, untilRenewal, logIn } = personLoggingIn();
    const getting = token.get(LOG_IN);
    await instance.until('refreshing');
    await pause();
    const first = await lease();
    expect((first?.until ?? 0) - (first?.since ?? 0)).toBe(LONGEST_LEASE_MS);

    await untilRenewal();
    await pause();
    const second = await lease();
    expect(second).toMatchObject({ id: first?.id, since: first?.since });
    expect(second?.until).toBeGreaterThan(first?.until ?? 0);

    await untilRenewal();
    logIn();
    expect(await getting).toBe('logged-in');
    expect(await table().item(tokenId())).toMatchObject({ accessToken: 'logged-in', generation: 1 });
    expect(await lease()).toBeUndefined();
    expect(renewals()).toHaveLength(2);
    expect(provider.calls).toBe(1);
  });

  test('nothing is renewed after the answer, nor after a failure', async () => {
    for (const ending of ['logIn', 'fail'] as const) {
      const person = personLoggingIn();
      const outcome = person.token.get(LOG_IN).catch(() => undefined);
      await person.instance.until('refreshing');
      await pause();
      person[ending]();
      await outcome;
      const count = renewals().length;
      for (const { end } of person.sleeps) end();
      await pause();
      expect(renewals()).toHaveLength(count);
      await table().delete(tokenId());
    }
  });

  test('a lease that was lost is left alone; the request goes on, and its answer is stored late', async () => {
    const { instance, token, untilRenewal, logIn } = personLoggingIn();
    const getting = token.get(LOG_IN);
    await instance.until('refreshing');
    await pause();
    const another = { id: 'another', since: Date.now(), until: Date.now() + 10_000, holder: 'another' };
    await table().set(tokenId(), 'lease', another);

    await untilRenewal();
    await pause();
    expect(await lease()).toEqual(another);
    await untilRenewal(); // nobody sleeps for another one
    expect(renewals()).toHaveLength(1);
    logIn();
    expect(await getting).toBe('logged-in');
    expect(await table().item(tokenId())).toMatchObject({ accessToken: 'logged-in', lease: another });
  });

  test('a renewal whose reply is lost is sent again', async () => {
    const { instance, token, untilRenewal, logIn } = personLoggingIn();
    const getting = token.get(LOG_IN);
    await instance.until('refreshing');
    await pause();
    let isLost = false;
    table().faults = ({ body }) => {
      if (isLost || !String(body.UpdateExpression).includes('#lease.#until')) return undefined;
      isLost = true;
      return { kind: 'dropAfter' };
    };
    await untilRenewal();
    for (let looks = 0; renewals().length < 2 && looks < 200; looks++) await pause();

    expect(renewals()).toHaveLength(2);
    logIn();
    expect(await getting).toBe('logged-in');
  });

  test('nobody takes a renewed lease over, and everybody waits for its holder', async () => {
    const { instance, token, untilRenewal, logIn } = personLoggingIn();
    const getting = token.get(LOG_IN);
    await instance.until('refreshing');
    await pause();
    await untilRenewal();
    const { provider, options } = providerWith();
    const consumer = new Instance();
    const waiting = consumer.token(tokenId(), options).get();
    await consumer.until('waiting');
    logIn();

    expect(await waiting).toBe('logged-in');
    expect(await getting).toBe('logged-in');
    expect(provider.calls).toBe(0);
  });
});

test('below the longest lease nothing is renewed: the lease outlives the auth limit', async () => {
  const { instance, token, sleeps, logIn } = personLoggingIn(600_000);
  const getting = token.get(LOG_IN);
  await instance.until('refreshing');
  await pause();
  const { since = 0, until = 0 } = await lease() ?? {};
  expect(until - since).toBeGreaterThan(600_000);
  expect(until - since).toBeLessThan(LONGEST_LEASE_MS);
  for (const { ms } of sleeps) expect(ms).toBeGreaterThanOrEqual(600_000 - 1_000); // the limits of the request and of the call
  logIn();

  expect(await getting).toBe('logged-in');
  expect(renewals()).toHaveLength(0);
});
