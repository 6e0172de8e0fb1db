import { SharedTokenError } from '../../lambda-runtime/errors';
import { RefreshError } from '../../lambda-runtime/index';
import { Instance } from '../support/instance';
import { providerWith, tablePerFile } from '../support/per-test';

const { table, tokenId } = tablePerFile();

const MINUTE = 60_000;

type Stored = { ageMs?: number; lifeMs?: number } & Record<string, unknown>;
async function storeToken({ ageMs = 10 * MINUTE, lifeMs = 60 * MINUTE, ...more }: Stored = {}): Promise<void> {
  const issuedAt = Date.now() - ageMs;
  await table().put({ tokenId: tokenId(), accessToken: 'old', generation: 3, issuedAt, expiresAt: issuedAt + lifeMs, refreshMs: 50, ...more });
}

const down = () => { throw new RefreshError('503'); };
const failure = async () => (await table().item(tokenId()))?.failure;

describe('a forced refresh (rule 14)', () => {
  test('fetches a new token though the present one works, which all others go on using meanwhile', async () => {
    await storeToken();
    const { provider, options } = providerWith({ latencyMs: 200 });
    const [schedule, consumer] = [new Instance(), new Instance()];
    const refreshing = schedule.token(tokenId(), options).refresh();
    await schedule.until('refreshing');

    expect(await consumer.token(tokenId(), options).get()).toBe('old');
    expect(await refreshing).toBe(true);
    expect(await schedule.token(tokenId(), options).get()).toBe('token-1');
    expect(provider.calls).toBe(1);
    expect(schedule.story()).toEqual(['read', 'claimed', 'refreshing', 'refreshed', 'committed']);
  });

  test('is skipped where a token was issued since the event, however the event is dated', async () => {
    await storeToken({ ageMs: MINUTE });
    const { provider, options } = providerWith();
    const event = Date.now() - 2 * MINUTE;
    for (const since of [event, new Date(event), new Date(event).toISOString()]) {
      expect(await new Instance().token(tokenId(), options).refresh({ since })).toBe(false);
    }
    expect(provider.calls).toBe(0);
  });

  test('is skipped while another holder refreshes, without waiting for it', async () => {
    const since = Date.now();
    await storeToken({ lease: { id: 'other', since, until: since + 10_000, holder: 'other' } });
    const { provider, options } = providerWith();
    const instance = new Instance();

    expect(await instance.token(tokenId(), options).refresh()).toBe(false);
    expect(instance.story()).toEqual(['read']);
    expect(provider.calls).toBe(0);
  });

  test('two runs at once, and the same event once more afterwards: one auth call', async () => {
    await storeToken();
    const { provider, options } = providerWith({ latencyMs: 100 });
    const since = new Date();
    const outcomes = await Promise.all([1, 2].map(async () => new Instance().token(tokenId(), options).refresh({ since })));

    expect(outcomes.sort()).toEqual([false, true]);
    expect(await new Instance().token(tokenId(), options).refresh({ since })).toBe(false);
    expect(provider.calls).toBe(1);
  });

  test('an event in the future is answered by one auth call, not by one after the other', async () => {
    await storeToken();
    const { provider, options } = providerWith();

    expect(await new Instance().token(tokenId(), options).refresh({ since: Date.now() + 60 * MINUTE })).toBe(true);
    expect(provider.calls).toBe(1);
  });

  test('fetches the first token of all', async () => {
    const { options } = providerWith();

    expect(await new Instance().token(tokenId(), options).refresh()).toBe(true);
    expect(await table().item(tokenId())).toMatchObject({ accessToken: 'token-1', generation: 1 });
  });
});

describe('a forced refresh that fails', () => {
  test('takes nothing away, and keeps nobody from a refresh for a rejection', async () => {
    await storeToken();
    const { options } = providerWith({ answer: down });
    const schedule = new Instance();

    await expect(schedule.token(tokenId(), options).refresh()).rejects.toMatchObject({ code: 'REFRESH_FAILED', retryAt: expect.any(Number) as number });
    expect(await schedule.token(tokenId(), options).get()).toBe('old');
    expect(await failure()).toMatchObject({ code: '503', count: 1, forced: true });

    const healthy = providerWith();
    const consumer = new Instance().token(tokenId(), healthy.options);
    expect(await consumer.get()).toBe('old');
    consumer.reject('old');
    expect(await consumer.get()).toBe('token-1');
    expect(await failure()).toBeUndefined();
  });

  test('holds up the next forced one, and those who would refresh ahead', async () => {
    await storeToken({ ageMs: 52 * MINUTE });
    const { provider, options } = providerWith({ answer: () => { throw new RefreshError('503', { retryAfter: 120 }); } });
    const schedule = new Instance().token(tokenId(), options);

    await expect(schedule.refresh()).rejects.toMatchObject({ code: 'REFRESH_FAILED' });
    await expect(schedule.refresh()).rejects.toMatchObject({ code: 'COOLING_DOWN', retryAt: expect.any(Number) as number });
    // In the last minutes of the token's life everybody would look for a successor.
    for (let count = 0; count < 20; count++) expect(await new Instance().token(tokenId(), options).get()).toBe('old');
    expect(provider.calls).toBe(1);
  });

  test('counts on, so that one outage is one schedule', async () => {
    await storeToken({ failure: { code: '503', count: 2, at: Date.now() - 5_000, retryAt: Date.now() - 3_000 } });
    const { options } = providerWith({ answer: down });

    await expect(new Instance().token(tokenId(), options).refresh()).rejects.toMatchObject({ code: 'REFRESH_FAILED' });
    expect(await failure()).toMatchObject({ count: 3, forced: true });
  });

  test('is a failure like any other where the present token is of no use', async () => {
    await storeToken({ ageMs: 70 * MINUTE });
    const { options } = providerWith({ answer: down });

    await expect(new Instance().token(tokenId(), options).refresh()).rejects.toMatchObject({ code: 'REFRESH_FAILED' });
    expect(await failure()).not.toHaveProperty('forced');
  });

  test('by getting the same token again: stored, with a pause that keeps nobody from a refresh that is needed', async () => {
    await storeToken();
    const { options } = providerWith({ answer: () => ({ accessToken: 'old', expiresIn: 3_600 }) });

    expect(await new Instance().token(tokenId(), options).refresh()).toBe(true);
    expect(await failure()).toMatchObject({ code: 'SAME_TOKEN', forced: true });
  });

  test('by getting a token that is over on arrival: then the pause holds for all, since nobody has a token now', async () => {
    await storeToken();
    const { options } = providerWith({ answer: () => ({ accessToken: 'stale', expiresIn: 0.001 }) });

    expect(await new Instance().token(tokenId(), options).refresh()).toBe(true);
    expect(await failure()).toMatchObject({ code: 'EXPIRED_ON_ARRIVAL' });
    expect(await failure()).not.toHaveProperty('forced');
  });

  test('to store its token says so; the next one stores it and asks the provider no second time', async () => {
    await storeToken();
    const { provider, options } = providerWith();
    table().faults = ({ operation, body }) => operation === 'UpdateItem' && String(body.UpdateExpression).includes('#accessToken') ? { kind: 'failBefore' } : undefined;
    const token = new Instance().token(tokenId(), options);

    const since = new Date();
    await expect(token.refresh({ since, timeoutMs: 3_000 })).rejects.toMatchObject({ code: 'TABLE_UNAVAILABLE' });
    expect(await token.get()).toBe('token-1');
    table().faults = () => undefined;
    expect(await token.refresh({ since })).toBe(false);
    expect(await table().item(tokenId())).toMatchObject({ accessToken: 'token-1', generation: 4 });
    expect(provider.calls).toBe(1);
  });
});

describe('a forced refresh ends', () => {
  test('by its signal, before and in the middle', async () => {
    await storeToken();
    const { options } = providerWith({ latencyMs: 300 });
    const instance = new Instance();
    const controller = new AbortController();
    const refreshing = instance.token(tokenId(), options).refresh({ signal: controller.signal });
    await instance.until('refreshing');
    controller.abort();

    await expect(refreshing).rejects.toMatchObject({ code: 'ABORTED' });
    await instance.until('committed'); // what was sent is still stored
    await expect(instance.token(tokenId(), options).refresh({ signal: controller.signal })).rejects.toMatchObject({ code: 'ABORTED' });
  });

  test('by its deadline, where the table does not answer', async () => {
    table().faults = () => ({ kind: 'failBefore' });
    const { provider, options } = providerWith();

    await expect(new Instance().token(tokenId(), options).refresh({ timeoutMs: 300 })).rejects.toMatchObject({ code: 'TABLE_UNAVAILABLE' });
    expect(provider.calls).toBe(0);
  });

  test('without a claim where a refresh could be cut short, and the token works', async () => {
    await storeToken({ refreshMs: 5_000 });
    const { provider, options } = providerWith();
    const token = new Instance().token(tokenId(), options);

    await expect(token.refresh({ timeoutMs: 2_000 })).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    await expect(token.refresh({ timeoutMs: 2_000 })).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    expect(provider.calls).toBe(0);
    expect(await token.refresh()).toBe(true);
  });

  test('with a claim that was throttled: it looks again, and claims', async () => {
    await storeToken();
    const { provider, options } = providerWith();
    let throttles = 2;
    table().faults = ({ operation }) => operation === 'UpdateItem' && throttles-- > 0
      ? { kind: 'error', type: 'ProvisionedThroughputExceededException' } : undefined;

    expect(await new Instance().token(tokenId(), options).refresh()).toBe(true);
    expect(provider.calls).toBe(1);
  });
});

test.each<[object, string]>([
  [{ since: Date.now() / 1_000 }, 'epoch seconds, by which no token would ever be older'],
  [{ since: 'yesterday' }, 'no date'],
  [{ since: 'job-1' }, 'no date, though `Date` finds one in it'],
  [{ since: new Date(NaN) }, 'no date'],
  [{ since: null }, 'nothing'],
  [{ until: Date.now() }, 'an unknown option'],
])('bad options are refused: %j (%s)', async options => {
  await expect(new Instance().token(tokenId(), providerWith().options).refresh(options as never)).rejects.toMatchObject({ code: 'INVALID_OPTION' });
});

test('a function that only reads is told so', async () => {
  const error = await new Instance().token(tokenId()).refresh().catch((thrown: unknown) => thrown);

  expect(error).toBeInstanceOf(SharedTokenError);
  expect(error).toMatchObject({ code: 'INVALID_OPTION', tokenId: tokenId() });
});
