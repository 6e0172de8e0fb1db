import {
  authLimit, backOff, commitMargin, coolDown, coolDownLeft, COOL_DOWN_WORTH_WAITING_MS, DEFAULT_CALL_LIMIT_MS, idleLookIn,
  LEASE_GRACE_MS, minimumAge, nextLookIn, READER_PATIENCE_MS, refreshAheadFrom,
  type RunningRefresh, smoothRefreshMs, TABLE_CALL_LIMIT_MS, timeEnoughToClaim, usableUntil, YOUNG_TOKEN_PAUSE_MS,
} from '../../lambda-runtime/timing';
import type { Failure, Lease, StoredToken } from '../../lambda-runtime/token-item';

/*
 * Each limit of its own is a vector of docs/protocol-vectors.json. Here is what holds whatever the numbers are, and the jitter that is ours.
 */
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
  test('the minimum age is never below 5 s, whatever the item says', () => {
    for (const count of [-1, -1_000]) expect(minimumAge(count)).toBe(5 * SECOND);
  });
});

describe('the time for an auth request', () => {
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

  test('Lambda\'s default timeout of 3 s is enough, with nothing measured yet', () => {
    expect(timeEnoughToClaim(DEFAULT_LAMBDA_MS, DEFAULT_LAMBDA_MS)).toBe(true);
    expect(timeEnoughToClaim(DEFAULT_LAMBDA_MS / 2, DEFAULT_LAMBDA_MS)).toBe(true);
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

  test('clamped to the duration of the lease', () => {
    expect(nextLookIn(running({ lease: lease(NOW, NOW + 2 * SECOND), refreshMs: HOUR }), NOW, 0)).toBe(2_008);
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
  test('I6: is never below a second, whatever count the item held', () => {
    for (const count of [0, -1, -1_000]) expect(coolDown(count, false)).toBe(SECOND);
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
