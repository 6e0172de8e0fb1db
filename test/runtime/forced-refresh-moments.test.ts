import { RefreshError } from '../../lambda-runtime/errors';
import type { RefreshResult } from '../../lambda-runtime/public-types';
import { SimulatedTime } from '../support/simulated-process';

/*
 * A forced refresh to the millisecond: each request to the table takes 10 ms there and back, and the host's random number is always one half.
 */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
let time: SimulatedTime;
let asked: number[];
beforeEach(() => {
  time = new SimulatedTime();
  asked = [];
});

const providing = (ms: number, answer: RefreshResult | Error = { accessToken: 'new', expiresIn: 3_600 }) => async () => {
  asked.push(time.passed);
  await time.sleep(ms);
  if (answer instanceof Error) throw answer;
  return answer;
};
const stored = (more: object = {}) => ({ accessToken: 'old', generation: 3, issuedAt: time.now - 10 * MINUTE, expiresAt: time.now + 50 * MINUTE, refreshMs: 50, ...more });
const leaseOf = (ms: number) => ({ id: 'other', since: time.now, until: time.now + ms, holder: 'other' });

test('reads, claims, sends and stores, and says so', async () => {
  time.put(stored());
  const process = time.process();
  expect(await time.until(process.token({ refresh: providing(100) }).refresh())).toBe(true);
  expect(process.story()).toEqual(['read', 'claimed', 'refreshing', 'refreshed', 'committed']);
  expect(time.requests.map(({ operation, at }) => [operation, at])).toEqual([['read', 0], ['claim', 10], ['commit', 120]]);
});

test.each([
  ['another holds the lease', { lease: { id: 'other', since: 0, until: 9e12, holder: 'x' } }, undefined],
  ['a token was issued since', {}, 11 * MINUTE],
  ['one was issued at about that time, as two clocks have it', {}, 10 * MINUTE - 2 * SECOND],
])('asks nobody where %s', async (_, more, agoMs) => {
  time.put(stored('lease' in more ? { lease: leaseOf(10 * SECOND) } : {}));
  const since = agoMs === undefined ? {} : { since: time.now - agoMs };
  expect(await time.until(time.process().token({ refresh: providing(100) }).refresh(since))).toBe(false);
  expect(time.operations()).toEqual(['read']);
});

test('a claim that is throttled: after a pause that grows it looks again', async () => {
  time.put(stored());
  let throttles = 2;
  time.faults = ({ operation }) => operation === 'claim' && throttles-- > 0 ? 'throttled' : undefined;
  expect(await time.until(time.process().token({ refresh: providing(100) }).refresh())).toBe(true);
  expect(time.requests.map(({ operation, at }) => [operation, at])).toEqual([
    ['read', 0], ['claim', 10], ['read', 58], ['claim', 68], ['read', 153], ['claim', 163], ['commit', 273],
  ]);
});

test('a claim that lost to another: it looks again, and leaves the work to that one', async () => {
  time.put(stored());
  time.faults = ({ operation }) => {
    if (operation === 'claim') time.put({ ...time.item(), lease: leaseOf(10 * SECOND) });
    return undefined;
  };
  expect(await time.until(time.process().token({ refresh: providing(100) }).refresh())).toBe(false);
  expect(time.operations()).toEqual(['read', 'claim', 'read']);
  expect(asked).toEqual([]);
});

test('its failure is the error, with the cause and when to try again, and is recorded as one that nobody needed', async () => {
  time.put(stored());
  const cause = new RefreshError('503', { retryAfter: 9 });
  const token = time.process().token({ refresh: providing(10, cause) });
  const retryAt = time.now + 30 + 9_000;
  expect(await time.errorOf(token.refresh())).toMatchObject({ code: 'REFRESH_FAILED', cause, retryAt });
  expect(time.item()).toMatchObject({ accessToken: 'old', failure: { code: '503', count: 1, forced: true } });
  expect(await time.errorOf(token.refresh())).toMatchObject({ code: 'COOLING_DOWN', retryAt });
  expect(asked).toHaveLength(1);
});

test('the failure of one that somebody needs is like any other', async () => {
  time.put(stored({ issuedAt: time.now - 70 * MINUTE, expiresAt: time.now - MINUTE }));
  await time.errorOf(time.process().token({ refresh: providing(10, new RefreshError('503')) }).refresh());
  expect(time.item()?.failure).toMatchObject({ code: '503' });
  expect(time.item()?.failure).not.toHaveProperty('forced');
});

test('ends with its signal, with the reason; what was sent is still stored', async () => {
  time.put(stored());
  const leave = new AbortController();
  time.after(60, () => leave.abort(new Error('enough')));
  const token = time.process().token({ refresh: providing(100) });
  expect(await time.errorOf(token.refresh({ signal: leave.signal }))).toMatchObject({ code: 'ABORTED', cause: new Error('enough') });
  expect(time.passed).toBe(60);
  await time.pass(100);
  expect(time.item()).toMatchObject({ accessToken: 'new', generation: 4 });
  const before = time.requests.length;
  expect(await time.errorOf(token.refresh({ signal: leave.signal }))).toMatchObject({ code: 'ABORTED' });
  expect(time.requests).toHaveLength(before);
});

test('nothing more is read, claimed or sent once it has ended', async () => {
  time.put(stored());
  const leave = new AbortController();
  time.after(5, () => leave.abort());
  expect(await time.errorOf(time.process().token({ refresh: providing(100) }).refresh({ signal: leave.signal }))).toMatchObject({ code: 'ABORTED' });
  await time.pass(MINUTE);
  expect(time.operations()).toEqual(['read']);
});

test('ends with its deadline: by what the table does, or by who refreshes', async () => {
  time.put(stored());
  const process = time.process();
  const token = process.token({ refresh: providing(Infinity), authLimitMs: 60_000 });
  expect(await time.errorOf(token.refresh({ timeoutMs: 600 }))).toMatchObject({ code: expect.stringMatching(/REFRESH_TIMED_OUT|DEADLINE_EXCEEDED/) });
  expect(time.passed).toBeLessThanOrEqual(600);
  time.faults = () => 'request vanishes';
  expect(await time.errorOf(token.refresh({ timeoutMs: 600 }))).toMatchObject({ code: 'TABLE_UNAVAILABLE' });
  expect(time.passed).toBeLessThanOrEqual(1_200);
});

test('too little time for a refresh that is needed: an error, and the next one with as much claims', async () => {
  time.put(stored({ refreshMs: 5_000, issuedAt: time.now - 10 * MINUTE, expiresAt: time.now - MINUTE }));
  const token = time.process().token({ refresh: providing(100) });
  await time.until(token.refresh({ since: time.now - 20 * MINUTE })); // skipped, with all the time in the world
  expect(await time.errorOf(token.refresh({ timeoutMs: 2_000 }))).toMatchObject({ code: 'DEADLINE_EXCEEDED', message: expect.stringContaining('too little time') });
  expect(asked).toEqual([]);
  expect(await time.until(token.refresh({ timeoutMs: 2_000 }))).toBe(true);
});

test('too little time for a refresh that nobody needs: it is never begun, however little time the process is given', async () => {
  time.put(stored({ refreshMs: 400 }));
  const token = time.process().token({ refresh: providing(100) });
  // 999 ms are left after the read, and 200 ms are kept for the commit.
  for (let calls = 0; calls < 3; calls++) {
    expect(await time.errorOf(token.refresh({ timeoutMs: 1_009 }))).toMatchObject({ code: 'DEADLINE_EXCEEDED' });
  }
  expect(asked).toEqual([]);
  expect(time.operations()).toEqual(['read', 'read', 'read']);
  expect(await time.until(token.refresh({ timeoutMs: 1_010 }))).toBe(true);
});

describe('holders that die', () => {
  /** A holder that asks the provider, and whose requests to the table get lost from then on. */
  const die = async () => {
    const token = time.process().token({ refresh: providing(Infinity), authLimitMs: SECOND });
    time.faults = ({ operation }) => operation === 'release' ? 'request vanishes' : undefined;
    await time.errorOf(token.refresh({ timeoutMs: 1_500 }));
    time.faults = () => undefined;
  };
  const failure = () => time.item()?.failure as { code: string; count: number; retryAt: number; forced?: boolean } | undefined;
  const leaseEnd = () => (time.item()?.lease as { until: number }).until + 2 * SECOND;
  /** After the lease and the cool-down. */
  const nextMoment = async () => time.pass(Math.max(leaseEnd(), failure()?.retryAt ?? 0) - time.now);

  test('the takeover by a forced refresh records one as nobody\'s need, with a cool-down for others of the kind', async () => {
    time.put(stored());
    await die();
    await nextMoment();
    await die();
    expect(failure()).toMatchObject({ code: 'HOLDER_DIED', count: 1, forced: true });
    await time.pass(leaseEnd() - time.now);
    const error = await time.errorOf(time.process().token({ refresh: providing(100) }).refresh());
    expect(error).toMatchObject({ code: 'COOLING_DOWN', retryAt: failure()?.retryAt });
  });

  test('seven in a row keep nobody from a refresh that a rejection needs', async () => {
    time.put(stored());
    await die();
    for (let deaths = 1; deaths <= 7; deaths++) {
      await nextMoment();
      await die();
      expect(failure()).toMatchObject({ code: 'HOLDER_DIED', count: deaths, forced: true });
    }
    expect((failure()?.retryAt ?? 0) - leaseEnd()).toBe(MINUTE);
    const token = time.process().token({ refresh: providing(100) });
    expect(await time.until(token.get())).toBe('old');
    token.reject('old');
    const ends = leaseEnd();
    expect(await time.until(token.get())).toBe('new');
    expect(time.now - ends).toBeLessThanOrEqual(250 + 10 + 100 + 30);
    expect(time.item()).not.toHaveProperty('failure');
  });
});

test('a token that could not be stored before is stored first; it answers the event', async () => {
  time.put(stored());
  const token = time.process().token({ refresh: providing(100) });
  const since = time.now;
  time.faults = ({ operation }) => operation === 'commit' ? 'request lost' : undefined;
  expect(await time.errorOf(token.refresh({ since, timeoutMs: 2_000 }))).toMatchObject({ code: 'TABLE_UNAVAILABLE' });
  time.faults = () => undefined;
  time.requests.length = 0;
  expect(await time.until(token.refresh({ since }))).toBe(false);
  expect(time.operations()).toEqual(['commit', 'read']);
  expect(asked).toHaveLength(1);
});

test('an event that is still to come is answered by one request', async () => {
  time.put(stored());
  expect(await time.until(time.process().token({ refresh: providing(100) }).refresh({ since: time.now + MINUTE }))).toBe(true);
  expect(asked).toHaveLength(1);
});

test('a function that only reads is told so, and asks nobody', async () => {
  const error = await time.errorOf(time.process().token().refresh());
  expect(error).toMatchObject({ code: 'INVALID_OPTION', tokenId: 'crm', message: expect.stringContaining('only reads') });
  expect(time.requests).toEqual([]);
});
