import { RefreshError } from '../../lambda-runtime/errors';
import { SimulatedTime } from '../support/simulated-process';
import { fresh, simulatedProvider, type Way } from '../support/simulated-provider';

/*
 * A provider's answers that come late, or whose commit does, to the millisecond: no credential may be lost, and none be put over a newer one.
 * Each request to the table takes 10 ms there and back, and the host's random number is always one half.
 */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
let time: SimulatedTime;
let start: number;
beforeEach(() => {
  time = new SimulatedTime();
  start = time.now;
});

const provider = (...ways: readonly [Way, ...Way[]]) => simulatedProvider(time, ...ways);
const expired = (more: object = {}) => (
  { accessToken: 'old', generation: 3, issuedAt: start - 2 * HOUR, expiresAt: start - HOUR, refreshMs: 100, ...more });
/** When each was sent, and of which token. */
const commits = () => time.requests
  .filter(({ operation }) => operation === 'commit')
  .map(({ at, update }) => [at, update?.ExpressionAttributeValues[':accessToken']]);
/** As if another process had taken the lease over, and stored a token. */
const putNewer = () => {
  const { lease, ...item } = time.item() ?? {};
  time.put({ ...item, accessToken: 'newer', generation: 4, issuedAt: time.now, expiresAt: time.now + HOUR, refreshToken: 'r-9' });
};

describe('a replay is answered after the first request\'s late answer was used', () => {
  beforeEach(() => time.put(expired({ refreshToken: 'r-1' })));
  /** The first request is answered during the replay, which is answered after its limit, at 2,040 ms, while the first answer is being stored. */
  const answers = () => provider([1_200, fresh('first', { refreshToken: 'r-2' })], [1_020, fresh('second', { refreshToken: 'r-3' })]);

  test.each([
    ['is applied and its reply lost', 'reply lost' as const, [[2_020, 'first'], [2_068, 'first'], [2_078, 'second']]],
    ['is lost itself', 'request lost' as const, [[2_020, 'first'], [2_068, 'first'], [2_078, 'second']]],
    ['is slow', { slowMs: 80 }, [[2_020, 'first'], [2_110, 'second']]],
  ])('it waits until it is known whether that was stored, and is stored over it: the first one\'s commit %s', async (_, fault, sent) => {
    const { refresh } = answers();
    time.faults = ({ operation, at }) => operation === 'commit' && at < 2_030 ? fault : undefined;
    const token = time.process().token({ refresh, authLimitMs: 2_000 });
    const getting = token.get();
    await time.pass(2_045);
    // It is the newer one, and so in use before it is stored.
    expect(await time.until(token.get())).toBe('second');
    await time.until(getting);
    await time.pass(5 * SECOND);
    expect(commits()).toEqual(sent);
    expect(time.item()).toMatchObject({ accessToken: 'second', refreshToken: 'r-3', generation: 5, issuedAt: start + 1_020 });
    expect(time.item()).not.toHaveProperty('lease');
    expect(await time.until(token.get())).toBe('second');
    expect(commits()).toHaveLength(sent.length);
  });

  test('another\'s newer token that stands there by then is left alone, and used', async () => {
    const { refresh } = answers();
    time.faults = ({ operation, at }) => operation === 'commit' && at < 2_030 ? 'request lost' : undefined;
    time.after(2_050, putNewer);
    const token = time.process().token({ refresh, authLimitMs: 2_000 });
    expect(await time.until(token.get())).toBe('newer');
    // The first one's commits were refused, which the late one has waited for.
    await time.pass(5 * SECOND);
    expect(commits()).toEqual([[2_020, 'first'], [2_068, 'first'], [2_078, 'first']]);
    expect(await time.until(token.get())).toBe('newer');
    expect(time.item()).toMatchObject({ accessToken: 'newer', refreshToken: 'r-9', generation: 4 });
  });
});

describe('an answer after its limit', () => {
  test('is put over no newer token, not even for a moment', async () => {
    const { refresh } = provider([6_000, fresh('late')], [100, fresh('second')]);
    const token = time.process().token({ refresh, authLimitMs: 2_000 });
    expect(await time.until(token.get())).toBe('second');
    await time.pass(6_020 - time.passed);
    expect(await time.until(token.get())).toBe('second');
    expect(time.passed).toBe(6_020);
    await time.pass(MINUTE);
    expect(commits().map(([, name]) => name)).toEqual(['second']);
  });

  test('leaves the pause that a later attempt was told to make, and is used', async () => {
    time.put(expired());
    const { refresh, asked } = provider([5_000, fresh('late')], [100, new RefreshError('429', { retryAfter: 120 })]);
    const token = time.process().token({ refresh, authLimitMs: 2_000 });
    expect(await time.errorOf(token.get())).toMatchObject({ code: 'REFRESH_FAILED' });
    expect(asked).toHaveLength(2);
    const { failure } = time.item() ?? {};
    expect(failure).toMatchObject({ code: '429', count: 2 });
    await time.pass(3 * SECOND);
    expect(time.item()).toMatchObject({ accessToken: 'late', generation: 4, issuedAt: start + 20, failure });
    expect(await time.until(token.get())).toBe('late');
  });

  test('ends the failure that its own attempt recorded', async () => {
    time.put(expired());
    const { refresh } = provider([3_000, fresh('late')]);
    const token = time.process().token({ refresh, authLimitMs: 2_000 });
    await time.errorOf(token.get({ timeoutMs: 2_900 }));
    expect(time.item()?.failure).toMatchObject({ code: 'REFRESH_TIMED_OUT', at: start + 2_020 });
    await time.pass(SECOND);
    expect(time.item()).toMatchObject({ accessToken: 'late', generation: 4 });
    expect(time.item()).not.toHaveProperty('failure');
  });
});

test('a claim whose lost reply hid the late answer of the holder that seemed dead sends nothing: it gives the lease back and uses that', async () => {
  time.put(expired());
  const late = provider([5_000, fresh('late')]);
  const { refresh, asked } = provider([100, fresh('own')]);
  time.faults = ({ operation, at }) => operation === 'release' && at < 4_000 ? 'request vanishes' : undefined;
  await time.errorOf(time.process().token({ refresh: late.refresh, authLimitMs: 2_000 }).get({ timeoutMs: 2_900 }));
  time.faults = ({ operation, at }) => operation === 'claim' && at < 5_020 ? 'reply lost' : undefined;
  await time.pass(4_995 - time.passed);
  const process = time.process();
  expect(await time.until(process.token({ refresh }).get())).toBe('late');
  expect(time.requests.slice(-5).map(({ operation, at }) => [operation, at])).toEqual([
    ['read', 4_995], ['claim', 5_005], ['commit', 5_020], ['claim', 5_053], ['release', 5_063],
  ]);
  expect(process.events.filter(({ type }) => type !== 'read')).toMatchObject([
    { type: 'claimed', leaseId: 'lease-2', takeover: true },
    { type: 'released', leaseId: 'lease-2', code: 'NOT_SENT' },
    { type: 'adopted', generation: 4 },
  ]);
  expect(asked).toEqual([]);
  expect(time.item()).toMatchObject({ accessToken: 'late', generation: 4 });
  expect(time.item()).not.toHaveProperty('lease');
  expect(time.item()).not.toHaveProperty('failure');
});

test('a token that could not be stored and was refused meanwhile, stored late, leaves the pause that a later attempt was told to make', async () => {
  time.put(expired());
  const { refresh, asked } = provider([100, fresh('first')], [100, new RefreshError('429', { retryAfter: 120 })], [100, fresh('second')]);
  const token = time.process().token({ refresh });
  time.faults = ({ operation }) => operation === 'commit' ? 'request lost' : undefined;
  expect(await time.until(token.get({ timeoutMs: 2_000 }))).toBe('first');
  await time.pass(10 * SECOND);
  token.reject('first');
  expect(await time.errorOf(token.get())).toMatchObject({ code: 'REFRESH_FAILED' });
  const { failure } = time.item() as { failure: { retryAt: number } };
  expect(failure).toMatchObject({ code: '429' });
  time.faults = () => undefined;
  await time.pass(20 * SECOND);
  expect(await time.errorOf(token.get())).toMatchObject({ code: 'COOLING_DOWN', retryAt: failure.retryAt });
  expect(time.item()).toMatchObject({ accessToken: 'first', generation: 4, failure });
  expect(asked).toHaveLength(2);
  await time.pass(failure.retryAt - time.now);
  expect(await time.until(token.get())).toBe('second');
});

test('a refresh token that could not be stored is not sent in place of a newer one that was stored since', async () => {
  time.put(expired({ refreshToken: 'r-1' }));
  const { refresh, asked } = provider([100, fresh('first', { refreshToken: 'r-2' })], [100, fresh('third', { refreshToken: 'r-10' })]);
  const token = time.process().token({ refresh });
  time.faults = ({ operation }) => operation === 'commit' ? 'request lost' : undefined;
  expect(await time.until(token.get({ timeoutMs: 2_000 }))).toBe('first');
  putNewer();
  await time.pass(2 * HOUR);
  // The first request after a long pause goes out over a dead connection: that would have told that another token was stored.
  const thawed = time.requests.length;
  time.faults = ({ operation }) => operation === 'commit' && time.requests.length === thawed + 1 ? 'request vanishes' : undefined;
  expect(await time.until(token.get())).toBe('third');
  expect(asked.map(({ request }) => request.refreshToken)).toEqual(['r-1', 'r-9']);
  expect(time.item()).toMatchObject({ accessToken: 'third', refreshToken: 'r-10', generation: 5 });
});
