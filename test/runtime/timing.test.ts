import {
  authLimit, backOff, commitMargin, coolDown, coolDownLeft, COOL_DOWN_WORTH_WAITING_MS, DEFAULT_CALL_LIMIT_MS, expireAfter, idleLookIn,
  LEASE_GRACE_MS, leaseEndsIn, minimumAge, nextLookIn, READER_PATIENCE_MS, refreshAheadFrom, rejectedEarly,
  type RunningRefresh, smoothRefreshMs, TABLE_CALL_LIMIT_MS, timeEnoughToClaim, usableUntil, YOUNG_TOKEN_PAUSE_MS,
} from '../../lambda-runtime/timing';
import type { Failure, Lease, StoredToken } from '../../lambda-runtime/token-item';
import { DEFAULT_AUTH_LIMIT_MS } from '../../src/private/contract';

const NOW = 1_700_000_000_000;
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const LIVES = [1, 10, 999, SECOND, 9 * SECOND, MINUTE, 5 * MINUTE, 25 * MINUTE, HOUR, DAY, 365 * DAY];
const JITTERS = [0, 0.001, 0.25, 0.5, 0.75, 0.999];

const tokenOfLife = (life: number | undefined, issuedAt = NOW): StoredToken =>
  ({ accessToken: 'token', generation: 1, issuedAt, expiresAt: life === undefined ? undefined : issuedAt + life });
const lease = (since: number, until: number): Lease => ({ id: 'a', since, until, holder: 'other' });
const failure = (retryAt: number): Failure => ({ code: '503', count: 1, at: NOW, retryAt });

describe('the margin', () => {
  test('is 30 s, and at most 10 % of the token\'s life', () => {
    expect(usableUntil(tokenOfLife(HOUR))).toBe(NOW + HOUR - 30 * SECOND);
    expect(usableUntil(tokenOfLife(5 * MINUTE))).toBe(NOW + 5 * MINUTE - 30 * SECOND);
    expect(usableUntil(tokenOfLife(MINUTE))).toBe(NOW + MINUTE - 6 * SECOND);
    for (const life of LIVES) {
      const margin = NOW + life - usableUntil(tokenOfLife(life));
      expect(margin).toBeGreaterThan(0);
      expect(margin).toBeLessThanOrEqual(Math.min(30 * SECOND, life * 0.1) + 0.001);
    }
  });

  test('a token without an expiry has none', () => {
    expect(usableUntil(tokenOfLife(undefined))).toBe(Infinity);
  });

  test('goes the right way, whatever the item says: no token is usable after its expiry', () => {
    for (const life of [-1, -SECOND, -HOUR, -1_000 * DAY]) expect(usableUntil(tokenOfLife(life))).toBeLessThanOrEqual(NOW + life);
  });
});

describe('the refresh-ahead window', () => {
  test('is 5 min before the margin, and at most 20 % of the token\'s life', () => {
    expect(refreshAheadFrom(tokenOfLife(HOUR), 0)).toBe(NOW + HOUR - 30 * SECOND - 5 * MINUTE);
    expect(refreshAheadFrom(tokenOfLife(MINUTE), 0)).toBe(NOW + MINUTE - 6 * SECOND - 12 * SECOND);
    for (const life of LIVES) {
      const token = tokenOfLife(life);
      const window = usableUntil(token) - refreshAheadFrom(token, 0);
      expect(window).toBeGreaterThan(0);
      expect(window).toBeLessThanOrEqual(Math.min(5 * MINUTE, life * 0.2) + 0.001);
    }
  });

  test('each instance starts at its own moment inside it, spread evenly', () => {
    for (const life of LIVES) {
      const token = tokenOfLife(life);
      const [from, until] = [refreshAheadFrom(token, 0), usableUntil(token)];
      for (const jitter of JITTERS) expect(refreshAheadFrom(token, jitter)).toBeCloseTo(from + jitter * (until - from), 3);
      expect(refreshAheadFrom(token, 0.999)).toBeLessThan(until);
    }
  });

  test('a token without an expiry has none', () => {
    expect(refreshAheadFrom(tokenOfLife(undefined), 0)).toBe(Infinity);
  });

  test('leaves at least 70 % of the token\'s life without any I/O', () => {
    for (const life of LIVES) expect(refreshAheadFrom(tokenOfLife(life), 0) - NOW).toBeGreaterThanOrEqual(life * 0.7 - 0.001);
  });
});

describe('the storm guard', () => {
  test('the minimum age is 5 s, doubles, and ends at 5 minutes', () => {
    expect([0, 1, 2, 3, 4, 5, 6, 7].map(minimumAge)).toEqual([5, 10, 20, 40, 80, 160, 300, 300].map(seconds => seconds * SECOND));
    expect(minimumAge(1e9)).toBe(5 * MINUTE);
  });

  test('the minimum age is never below 5 s, whatever the item says', () => {
    for (const count of [-1, -1_000]) expect(minimumAge(count)).toBe(5 * SECOND);
  });

  test('a rejection is early before half the token\'s life', () => {
    expect(rejectedEarly(tokenOfLife(HOUR), NOW + HOUR / 2 - 1)).toBe(true);
    expect(rejectedEarly(tokenOfLife(HOUR), NOW + HOUR / 2)).toBe(false);
  });

  test('a token without an expiry is taken to live 20 minutes', () => {
    expect(rejectedEarly(tokenOfLife(undefined), NOW + 10 * MINUTE - 1)).toBe(true);
    expect(rejectedEarly(tokenOfLife(undefined), NOW + 10 * MINUTE)).toBe(false);
  });
});

describe('the time to live', () => {
  test('is in epoch seconds, seven days past the last moment that matters, and whole', () => {
    expect(expireAfter(NOW)).toBe(1_700_000_000 + 7 * 24 * 3_600);
    expect(expireAfter(NOW + 1)).toBe(1_700_000_001 + 7 * 24 * 3_600);
    expect(Number.isInteger(expireAfter(NOW + 0.5))).toBe(true);
  });
});

describe('the end of a lease', () => {
  test('is 2 s after `until` by the table\'s clock', () => {
    expect(LEASE_GRACE_MS).toBe(2 * SECOND);
    expect(leaseEndsIn(lease(NOW - 3 * SECOND, NOW + 7 * SECOND), NOW, 0)).toBe(9 * SECOND);
    expect(leaseEndsIn(lease(NOW - 12 * SECOND, NOW - 2 * SECOND), NOW, 0)).toBe(0);
  });

  test('or when it was watched for its whole duration, whichever comes first', () => {
    const farOff = lease(NOW + HOUR, NOW + HOUR + 10 * SECOND);
    expect(leaseEndsIn(farOff, NOW, 4 * SECOND)).toBe(6 * SECOND);
    expect(leaseEndsIn(farOff, NOW, 10 * SECOND)).toBe(0);
  });

  test('no lease is believed to last longer than a function can run', () => {
    expect(leaseEndsIn(lease(0, Number.MAX_SAFE_INTEGER), NOW, 0)).toBe(15 * MINUTE);
  });

  test('a lease that ends before it begins is over', () => {
    expect(leaseEndsIn(lease(NOW + HOUR, NOW), NOW, 0)).toBeLessThanOrEqual(0);
  });
});

describe('the time for an auth request', () => {
  test('is what is left less a commit margin: 20 %, 200 ms at least, 2 s at most, never more than half', () => {
    expect([30_000, 10_000, 5_000, 2_700, 1_000, 500, 400, 100, 0].map(commitMargin)).toEqual([2_000, 2_000, 1_000, 540, 200, 200, 200, 50, 0]);
  });

  test('is at most what is configured, by default 10 s', () => {
    expect(DEFAULT_AUTH_LIMIT_MS).toBe(10 * SECOND);
    expect(authLimit(30 * SECOND)).toBe(10 * SECOND);
    expect(authLimit(30 * SECOND, 4 * SECOND)).toBe(4 * SECOND);
    expect(authLimit(30 * SECOND, 60 * SECOND)).toBe(28 * SECOND);
    expect(authLimit(2_700)).toBe(2_160);
  });

  test('with the commit margin it always fits into the time left, so the lease outlives it', () => {
    for (let left = 0; left < 40 * SECOND; left += 37) {
      for (const configured of [undefined, 100, 5 * SECOND, Infinity]) {
        const limit = authLimit(left, configured);
        expect(limit).toBeGreaterThanOrEqual(0);
        expect(limit + commitMargin(left)).toBeLessThanOrEqual(left + 0.001);
      }
    }
  });

  test('the default wait is above the auth limit with its margin', () => {
    expect(DEFAULT_CALL_LIMIT_MS).toBe(30 * SECOND);
    expect(authLimit(DEFAULT_CALL_LIMIT_MS) + commitMargin(DEFAULT_CALL_LIMIT_MS) + LEASE_GRACE_MS).toBeLessThan(DEFAULT_CALL_LIMIT_MS);
  });
});

describe('time enough to claim', () => {
  const DEFAULT_LAMBDA_MS = 2_700; // 3 s less the margin of a call

  test('with nothing measured yet: twice 300 ms beside the commit margin', () => {
    expect(timeEnoughToClaim(800, 30 * SECOND)).toBe(true);
    expect(timeEnoughToClaim(799, 30 * SECOND)).toBe(false);
  });

  test('Lambda\'s default timeout of 3 s is enough, with nothing measured yet', () => {
    expect(timeEnoughToClaim(DEFAULT_LAMBDA_MS, DEFAULT_LAMBDA_MS)).toBe(true);
    expect(timeEnoughToClaim(DEFAULT_LAMBDA_MS / 2, DEFAULT_LAMBDA_MS)).toBe(true);
  });

  test('twice what a refresh usually takes', () => {
    expect(timeEnoughToClaim(5 * SECOND, 30 * SECOND, 2 * SECOND)).toBe(true);
    expect(timeEnoughToClaim(5 * SECOND - 10, 30 * SECOND, 2 * SECOND)).toBe(false);
  });

  test('one slow day does not end all claiming for ever: 80 % of the most that this process ever had is enough', () => {
    const slow = 10 * MINUTE;
    expect(timeEnoughToClaim(DEFAULT_LAMBDA_MS, DEFAULT_LAMBDA_MS, slow)).toBe(true);
    expect(timeEnoughToClaim(DEFAULT_LAMBDA_MS * 0.85, DEFAULT_LAMBDA_MS, slow)).toBe(true);
    expect(timeEnoughToClaim(DEFAULT_LAMBDA_MS * 0.75, DEFAULT_LAMBDA_MS, slow)).toBe(false);
  });

  test('a process whose calls all begin with the same time can claim, whatever a refresh takes', () => {
    for (const left of [50, 300, SECOND, 2_700, 30 * SECOND, 15 * MINUTE]) {
      for (const refreshMs of [undefined, 1, SECOND, HOUR]) expect(timeEnoughToClaim(left * 0.95, left, refreshMs)).toBe(true);
    }
  });

  test('time that has run out is never enough', () => {
    for (const left of [0, -1, -HOUR]) expect(timeEnoughToClaim(left, 30 * SECOND)).toBe(false);
  });
});

describe('the smoothed duration of a refresh', () => {
  test('begins with the first one; then a slower one counts 10 %, a faster one 20 %: looks are planned by what is usual', () => {
    expect(smoothRefreshMs(undefined, 412.6)).toBe(413);
    expect(smoothRefreshMs(1_000, 2_000)).toBe(1_100);
    expect(smoothRefreshMs(2_000, 1_500)).toBe(1_900);
    expect(smoothRefreshMs(2_000, 1_001)).toBe(1_800);
  });

  test('falls quickly where it was twice as long as it takes: all waiters would look too late', () => {
    expect(smoothRefreshMs(2_000, 1_000)).toBe(1_300);
    expect(smoothRefreshMs(1_070, 300)).toBe(531);
  });

  test('forgets a slow day, and stays between what was measured', () => {
    let known = 60 * SECOND;
    for (let i = 0; i < 20; i++) {
      const next = smoothRefreshMs(known, 300);
      expect(next).toBeLessThanOrEqual(known);
      expect(next).toBeGreaterThanOrEqual(300);
      known = next;
    }
    expect(known).toBeLessThan(400);
  });
});

describe('a waiter\'s looks', () => {
  const running = (more: Partial<RunningRefresh> = {}): RunningRefresh =>
    ({ lease: lease(NOW, NOW + 12 * SECOND), refreshMs: 1_000, watchedMs: 0, ...more });

  test('the first one is when the running refresh should be done and stored, spread by jitter over 15 % of it', () => {
    expect(nextLookIn(running(), NOW, 0)).toBe(1_008);
    expect(nextLookIn(running(), NOW + 400, 0)).toBe(608);
    expect(nextLookIn(running(), NOW + 400, 0.5)).toBe(683);
  });

  test('with nothing measured yet a refresh is taken to last 300 ms', () => {
    expect(nextLookIn(running({ refreshMs: undefined }), NOW, 0)).toBe(308);
  });

  test('clamped to the duration of the lease', () => {
    expect(nextLookIn(running({ lease: lease(NOW, NOW + 2 * SECOND), refreshMs: HOUR }), NOW, 0)).toBe(2_008);
  });

  test('a lease that seems to begin in the future delays no look beyond one refresh', () => {
    expect(nextLookIn(running({ lease: lease(NOW + HOUR, NOW + HOUR + 12 * SECOND) }), NOW, 0)).toBe(1_008);
  });

  test('then jittered steps that grow with the time it is overdue: at first quickly, to a third of a refresh, then by half of that time, up to a second', () => {
    const steps = [0, 10, 50, 100, 200, 500, 800, 1_600, 5_000].map(overdue => nextLookIn(running(), NOW + 1_000 + overdue, 0.5));
    [40, 40, 150, 300, 350, 350, 400, 800, 1_000].forEach((ms, i) => expect(steps[i]).toBeCloseTo(ms, 6));
    expect(nextLookIn(running(), NOW + 1_200, 0)).toBeCloseTo(175, 6);
    expect(nextLookIn(running(), NOW + 1_200, 0.999)).toBeCloseTo(524.65, 6);
  });

  test('steps of a very fast refresh are not below 10 ms before jitter', () => {
    expect(nextLookIn(running({ refreshMs: 0 }), NOW + 1, 0)).toBe(5);
  });

  test('never much past the end of the lease, where somebody has to take over', () => {
    const end = NOW + 14 * SECOND;
    expect(nextLookIn(running({ refreshMs: 11 * SECOND }), end - 20, 0)).toBe(30);
    expect(nextLookIn(running({ refreshMs: 11 * SECOND, watchedMs: 12 * SECOND - 20 }), NOW + SECOND, 0)).toBe(30);
    expect(nextLookIn(running({ watchedMs: 12 * SECOND - 20 }), NOW, 0.5)).toBe(155);
  });

  test('are always a positive, bounded time, whatever the item says', () => {
    const numbers = [-1e15, -1, 0, 1, 300, NOW, NOW + HOUR, Number.MAX_SAFE_INTEGER];
    for (const since of numbers) {
      for (const until of numbers) {
        for (const refreshMs of [undefined, -1e15, 0, 1e15]) {
          for (const jitter of JITTERS) {
            const ms = nextLookIn({ lease: lease(since, until), refreshMs, watchedMs: 0 }, NOW, jitter);
            expect(ms).toBeGreaterThanOrEqual(1);
            expect(ms).toBeLessThanOrEqual(15 * MINUTE + 260);
          }
        }
      }
    }
  });

  test('without a lease they grow from 50 ms to a second, jittered by half', () => {
    expect([0, 1, 2].map(looks => Math.round(idleLookIn(looks, 0.5)))).toEqual([50, 80, 128]);
    expect(idleLookIn(1e6, 0)).toBe(500);
    expect(idleLookIn(1e6, 0.5)).toBe(1_000);
  });
});

describe('the back-off', () => {
  test('doubles from 50 ms, is jittered downwards by half, and at most 500 ms', () => {
    expect([0, 1, 2, 3, 4, 5, 6].map(attempt => backOff(attempt, 1))).toEqual([50, 100, 200, 400, 500, 500, 500]);
    expect([0, 1, 2].map(attempt => backOff(attempt, 0))).toEqual([25, 50, 100]);
    for (let attempt = 0; attempt < 2_000; attempt += 7) {
      for (const jitter of JITTERS) expect(backOff(attempt, jitter)).toBeLessThanOrEqual(500);
    }
  });
});

describe('the cool-down', () => {
  test('is 1, 2, 4 ... 60 s by count', () => {
    const pauses = [1, 2, 3, 4, 5, 6, 7, 8, 1e9].map(count => coolDown(count, false) / SECOND);
    expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60]);
  });

  test('is five minutes after a terminal answer, from the first on', () => {
    expect([1, 2, 50].map(count => coolDown(count, true))).toEqual([5 * MINUTE, 5 * MINUTE, 5 * MINUTE]);
  });

  test('honours Retry-After up to five minutes', () => {
    expect(coolDown(1, false, 90 * SECOND)).toBe(90 * SECOND);
    expect(coolDown(1, false, 5 * MINUTE)).toBe(5 * MINUTE);
    for (const absurd of [5 * MINUTE + 1, DAY, Number.MAX_VALUE, Infinity]) expect(coolDown(1, false, absurd)).toBe(5 * MINUTE);
  });

  test('a Retry-After below the schedule does not shorten it', () => {
    expect(coolDown(5, false, SECOND)).toBe(16 * SECOND);
    expect(coolDown(1, true, SECOND)).toBe(5 * MINUTE);
  });

  test('I6: is never below a second, whatever count the item held', () => {
    for (const count of [0, -1, -1_000]) expect(coolDown(count, false)).toBe(SECOND);
  });

  test('runs until retryAt', () => {
    expect(coolDownLeft(undefined, NOW)).toBe(0);
    expect(coolDownLeft(failure(NOW + 1), NOW)).toBe(1);
    expect(coolDownLeft(failure(NOW), NOW)).toBe(0);
    expect(coolDownLeft(failure(NOW - HOUR), NOW)).toBe(0);
    expect(coolDownLeft(failure(NOW + 5 * MINUTE), NOW)).toBe(5 * MINUTE);
  });

  test('a retryAt further off than the longest cool-down is ignored', () => {
    for (const far of [6 * MINUTE, HOUR, Number.MAX_SAFE_INTEGER]) expect(coolDownLeft(failure(NOW + far), NOW)).toBe(0);
  });

  test('I6: the longest cool-down also holds for an instance whose clock is a little behind', () => {
    const terminal = failure(NOW + coolDown(1, true));
    for (const behind of [1, 500, SECOND]) expect(coolDownLeft(terminal, NOW - behind)).toBeGreaterThan(0);
  });

  test('what this protocol writes, it obeys: every cool-down counts in full from the moment it was written', () => {
    for (let count = 1; count < 12; count++) {
      for (const terminal of [true, false]) {
        for (const retryAfter of [0, 17 * SECOND, DAY]) {
          const ms = coolDown(count, terminal, retryAfter);
          expect(coolDownLeft(failure(NOW + ms), NOW)).toBe(ms);
        }
      }
    }
  });
});

test('the fixed limits are those of the protocol', () => {
  expect({ COOL_DOWN_WORTH_WAITING_MS, READER_PATIENCE_MS, TABLE_CALL_LIMIT_MS, YOUNG_TOKEN_PAUSE_MS })
    .toEqual({ COOL_DOWN_WORTH_WAITING_MS: 2_000, READER_PATIENCE_MS: 2_000, TABLE_CALL_LIMIT_MS: 1_000, YOUNG_TOKEN_PAUSE_MS: 500 });
});
