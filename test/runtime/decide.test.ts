import { decide, type Decision, isRejected, isTooYoungToReject, isUsable, type Rejection, type Situation } from '../../lambda-runtime/decide';
import { COOL_DOWN_WORTH_WAITING_MS, READER_PATIENCE_MS } from '../../lambda-runtime/timing';
import type { Failure, Lease, StoredToken, TokenItem } from '../../lambda-runtime/token-item';

const NOW = 1_700_000_000_000;
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** An hour's token in the middle of its life: margin 30 s, window 5 min. */
const token: StoredToken = { accessToken: 'token-7', generation: 7, issuedAt: NOW - HOUR / 2, expiresAt: NOW + HOUR / 2 };
const withToken = (more: Partial<StoredToken> = {}, rest: Partial<TokenItem> = {}): TokenItem => {
  const stored = { ...token, ...more };
  return { base: { generation: stored.generation, issuedAt: stored.issuedAt }, token: stored, ...rest };
};
const expired = { issuedAt: NOW - HOUR, expiresAt: NOW - 1 };
const inWindow = { issuedAt: NOW - HOUR + MINUTE, expiresAt: NOW + MINUTE };
const lease = (more: Partial<Lease> = {}): Lease => ({ id: 'a', since: NOW - SECOND, until: NOW + 11 * SECOND, holder: 'other', ...more });
const endedLease = lease({ since: NOW - 20 * SECOND, until: NOW - 2 * SECOND });
const failure = (retryIn: number): Failure => ({ code: '503', count: 3, at: NOW - SECOND, retryAt: NOW + retryIn });
const rejectionOf = (refused: StoredToken): Rejection => ({ accessToken: refused.accessToken, issuedAt: refused.issuedAt, at: NOW - 1 });

/** A caller that may refresh, has read the item just now, and has half a minute. */
const situation = (more: Partial<Situation> = {}): Situation => ({
  now: NOW,
  item: undefined,
  fresh: true,
  rejection: undefined,
  leaseWatchedMs: 0,
  looks: 1,
  lookingMs: 5,
  timeLeftMs: 30 * SECOND,
  longestTimeLeftMs: 30 * SECOND,
  mayRefresh: true,
  aheadBlocked: false,
  doubted: undefined,
  jitter: 0.5,
  aheadJitter: 0,
  ...more,
});
const actionOf = (more: Partial<Situation>): Decision['action'] => decide(situation(more)).action;
const waitOf = (more: Partial<Situation>): Extract<Decision, { action: 'wait' }> => {
  const decision = decide(situation(more));
  if (decision.action === 'wait') return decision;
  throw new Error(`Expected to wait, got ${JSON.stringify(decision)}`);
};

describe('rule 1: a usable token', () => {
  test('is used from memory, without a read', () => {
    const item = withToken();
    expect(decide(situation({ item, fresh: false }))).toEqual({ action: 'use', token: item.token, ahead: 'no' });
  });

  test('is used whatever else is going on: a lease, a cool-down, no time, no right to refresh', () => {
    const busy = [
      { item: withToken({}, { lease: lease() }) },
      { item: withToken({}, { failure: failure(MINUTE) }) },
      { item: withToken(), timeLeftMs: 1 },
      { item: withToken(), mayRefresh: false },
    ];
    for (const each of busy) expect(decide(situation(each))).toMatchObject({ action: 'use', ahead: 'no' });
  });

  test('a token inside its margin counts as expired', () => {
    const hour = { issuedAt: NOW - HOUR + 30 * SECOND };
    expect(isUsable({ ...token, ...hour, expiresAt: NOW + 30 * SECOND }, undefined, NOW)).toBe(false);
    expect(isUsable({ ...token, ...hour, expiresAt: NOW + 30 * SECOND + 1 }, undefined, NOW)).toBe(true);
  });

  test('the margin of a short token is 10 % of its life', () => {
    const short = { ...token, issuedAt: NOW - 9 * SECOND, expiresAt: NOW + SECOND };
    expect(isUsable(short, undefined, NOW)).toBe(false);
    expect(isUsable(short, undefined, NOW - 1)).toBe(true);
  });

  test('a token without an expiry is used until it is rejected', () => {
    const endless = { accessToken: 'endless', generation: 1, issuedAt: NOW - 1_000 * HOUR };
    expect(decide(situation({ item: { token: endless, base: endless } }))).toMatchObject({ action: 'use', ahead: 'no' });
    expect(isUsable(endless, rejectionOf(endless), NOW)).toBe(false);
  });

  test('no token is not a usable token', () => {
    expect(isUsable(undefined, undefined, NOW)).toBe(false);
  });
});

describe('rule 2: refresh ahead', () => {
  const ahead = (more: Partial<Situation>) => {
    const decision = decide(situation({ item: withToken(inWindow), ...more }));
    return decision.action === 'use' ? decision.ahead : decision.action;
  };

  test('inside the window one caller reads first, then claims; the token is in use all the time', () => {
    expect(ahead({ fresh: false })).toBe('read');
    expect(ahead({ fresh: true })).toBe('claim');
  });

  test('outside the window nothing happens', () => {
    expect(ahead({ item: withToken() })).toBe('no');
  });

  test('each instance starts at its own jittered moment', () => {
    // usable until expiresAt - 30 s; the window is the 5 minutes before
    const item = withToken({ issuedAt: NOW - HOUR + 180 * SECOND, expiresAt: NOW + 180 * SECOND }); // half of the window has passed
    expect(ahead({ item, aheadJitter: 0.49 })).toBe('claim');
    expect(ahead({ item, aheadJitter: 0.5 })).toBe('claim');
    expect(ahead({ item, aheadJitter: 0.51 })).toBe('no');
  });

  test('not while another holds the lease', () => {
    expect(ahead({ item: withToken(inWindow, { lease: lease() }) })).toBe('no');
  });

  test('a lease that is over does not hinder it', () => {
    expect(ahead({ item: withToken(inWindow, { lease: endedLease }) })).toBe('claim');
    expect(ahead({ item: withToken(inWindow, { lease: lease() }), leaseWatchedMs: 12 * SECOND })).toBe('claim');
  });

  test('not during a cool-down, even a short one that would be worth waiting for', () => {
    expect(ahead({ item: withToken(inWindow, { failure: failure(1) }) })).toBe('no');
    expect(ahead({ item: withToken(inWindow, { failure: failure(0) }) })).toBe('claim');
  });

  test('one attempt per flight', () => {
    expect(ahead({ aheadBlocked: true })).toBe('no');
  });

  test('not without a right to refresh', () => {
    expect(ahead({ mayRefresh: false })).toBe('no');
  });

  test('not without time enough', () => {
    expect(ahead({ timeLeftMs: 100 })).toBe('no');
  });

  test('a failed refresh ahead is not an error while the token is usable', () => {
    expect(ahead({ aheadBlocked: true, item: withToken(inWindow, { failure: failure(MINUTE) }) })).toBe('no');
  });

  test('I7: whoever has a usable token never waits, fails, or is kept from it', () => {
    for (const each of situations()) {
      const { item, rejection, now } = each;
      if (isUsable(item?.token, rejection, now)) expect(decide(each)).toMatchObject({ action: 'use', token: item?.token });
    }
  });
});

describe('rule 3: no usable token', () => {
  test('is a read first, whatever memory says about leases and cool-downs', () => {
    for (const item of [undefined, {}, withToken(expired), { lease: lease() }, { failure: failure(MINUTE) }]) {
      expect(decide(situation({ item, fresh: false }))).toEqual({ action: 'read' });
      expect(decide(situation({ item, fresh: false, mayRefresh: false }))).toEqual({ action: 'read' });
    }
  });

  test('free after the read: claim', () => {
    const free = [undefined, {}, withToken(expired), { base: { generation: 7, issuedAt: 1 } }];
    for (const item of free) expect(decide(situation({ item }))).toEqual({ action: 'claim' });
  });

  test('a rejected token is not used, though its expiry lies in the future', () => {
    const item = withToken();
    expect(decide(situation({ item, rejection: rejectionOf(token), fresh: false }))).toEqual({ action: 'read' });
    expect(decide(situation({ item, rejection: rejectionOf(token) }))).toEqual({ action: 'claim' });
  });

  test('another token than the rejected one is adopted: no refresh for a late 401', () => {
    const item = withToken({ accessToken: 'token-8', generation: 8 });
    expect(decide(situation({ item, rejection: rejectionOf(token) }))).toMatchObject({ action: 'use', token: { accessToken: 'token-8' } });
  });

  test('"newer" means "not the one that was rejected", never "a larger number": an item may begin again at generation 1', () => {
    const item = withToken({ accessToken: 'anew', generation: 1 });
    expect(decide(situation({ item, rejection: rejectionOf(token) }))).toMatchObject({ action: 'use', token: { generation: 1 } });
  });

  test('another token than the rejected one that is expired itself is not adopted', () => {
    expect(actionOf({ item: withToken({ ...expired, accessToken: 'token-8', generation: 8 }), rejection: rejectionOf(token) })).toBe('claim');
  });

  test('the same string, issued again after its rejection, is another token; the issue that was refused and older ones are not', () => {
    const rejection = rejectionOf(token);
    expect(isRejected({ ...token, issuedAt: token.issuedAt + 1 }, rejection)).toBe(false);
    expect(isRejected(token, rejection)).toBe(true);
    expect(isRejected({ ...token, issuedAt: token.issuedAt - 1 }, rejection)).toBe(true);
    expect(isRejected({ ...token, generation: 99 }, rejection)).toBe(true);
    expect(isRejected(token, undefined)).toBe(false);
  });
});

describe('rules 4 and 5: leases', () => {
  test('while a lease is alive everybody waits, with or without a right to refresh', () => {
    for (const mayRefresh of [true, false]) {
      expect(decide(situation({ item: withToken(expired, { lease: lease() }), mayRefresh }))).toMatchObject({ action: 'wait', reason: 'lease' });
    }
  });

  test('the first look is made when the running refresh should be done', () => {
    const running = lease({ since: NOW - 100 });
    expect(waitOf({ item: { lease: running, refreshMs: 1_000 }, jitter: 0 }).ms).toBe(908);
    expect(waitOf({ item: { lease: running, refreshMs: 1_000 }, jitter: 0.5 }).ms).toBe(983);
  });

  test('looks after that grow with the time by which it is overdue', () => {
    const steps = [550, 700, 1_500, 2_500].map(ago => waitOf({ item: { lease: lease({ since: NOW - ago }), refreshMs: 500 } }).ms);
    expect(steps).toEqual([...steps].sort((a, b) => a - b));
    expect(new Set(steps).size).toBe(4);
  });

  test('a live lease outranks a cool-down', () => {
    expect(decide(situation({ item: { lease: lease(), failure: failure(MINUTE) } }))).toMatchObject({ action: 'wait', reason: 'lease' });
  });

  test('a lease is over two seconds after its end, not before', () => {
    const item = { lease: lease({ since: NOW - 12 * SECOND, until: NOW - 2 * SECOND }) };
    expect(actionOf({ item })).toBe('claim');
    expect(actionOf({ item, now: NOW - 1 })).toBe('wait');
  });

  test('a lease watched unchanged for its whole duration is over, whatever the clocks say', () => {
    const item = { lease: lease({ since: NOW + 5 * HOUR, until: NOW + 5 * HOUR + 10 * SECOND }) };
    expect(actionOf({ item, leaseWatchedMs: 10 * SECOND - 1 })).toBe('wait');
    expect(actionOf({ item, leaseWatchedMs: 10 * SECOND })).toBe('claim');
  });

  test('a lease that ended long ago is taken at the first look', () => {
    expect(actionOf({ item: { lease: lease({ since: NOW - 2 * HOUR, until: NOW - HOUR }) }, looks: 0, leaseWatchedMs: 0 })).toBe('claim');
  });

  test('an ended lease leaves the cool-down in force', () => {
    expect(decide(situation({ item: { lease: endedLease, failure: failure(MINUTE) } }))).toMatchObject({ action: 'fail', code: 'COOLING_DOWN' });
  });

  test('a lease that ends before it begins is over', () => {
    expect(actionOf({ item: { lease: lease({ since: NOW + HOUR, until: NOW + MINUTE }) } })).toBe('claim');
  });

  test('I4: no lease delays longer than the longest that a function can run, whatever it says', () => {
    const item = { lease: lease({ since: NOW, until: NOW + 1_000 * HOUR }) };
    expect(actionOf({ item, leaseWatchedMs: 15 * MINUTE - 1 })).toBe('wait');
    expect(actionOf({ item, leaseWatchedMs: 15 * MINUTE })).toBe('claim');
  });
});

describe('rule 6: cool-down', () => {
  test('one that ends within two seconds is waited for, and no caller wakes too early', () => {
    for (const jitter of [0, 0.5, 0.999]) {
      const { reason, ms } = waitOf({ item: { failure: failure(COOL_DOWN_WORTH_WAITING_MS) }, jitter });
      expect(reason).toBe('cool-down');
      expect(ms).toBeGreaterThan(2 * SECOND);
      expect(ms).toBeLessThanOrEqual(2 * SECOND + 101);
    }
  });

  test('a longer one fails fast, with the time of the next try', () => {
    const item = { failure: failure(2 * SECOND + 1) };
    expect(decide(situation({ item }))).toEqual({ action: 'fail', code: 'COOLING_DOWN', retryAt: NOW + 2 * SECOND + 1 });
  });

  test('one that ends after the deadline fails fast', () => {
    const item = { failure: failure(SECOND) };
    expect(decide(situation({ item, timeLeftMs: SECOND }))).toEqual({ action: 'fail', code: 'COOLING_DOWN', retryAt: NOW + SECOND });
    expect(actionOf({ item, timeLeftMs: SECOND + 1 })).toBe('wait');
  });

  test('one that is over allows the next claim', () => {
    expect(actionOf({ item: { failure: failure(0) } })).toBe('claim');
    expect(actionOf({ item: { failure: failure(-HOUR) } })).toBe('claim');
  });

  test('a retryAt further off than the longest cool-down is ignored', () => {
    expect(actionOf({ item: { failure: failure(HOUR) } })).toBe('claim');
    expect(actionOf({ item: { failure: failure(5 * MINUTE) } })).toBe('fail');
  });

  test('it holds for readers, too', () => {
    expect(decide(situation({ item: { failure: failure(MINUTE) }, mayRefresh: false }))).toMatchObject({ action: 'fail', code: 'COOLING_DOWN' });
  });

  test('a usable token is used during a cool-down', () => {
    expect(actionOf({ item: withToken({}, { failure: failure(MINUTE) }) })).toBe('use');
  });
});

describe('rule 7: a token too young to be rejected', () => {
  const item = (earlyRejections?: number): TokenItem => withToken({ issuedAt: NOW }, { meta: { earlyRejections } });
  const isTooYoung = (ageMs: number, knownForMs: number, earlyRejections?: number): boolean =>
    isTooYoungToReject({ ...token, issuedAt: NOW }, item(earlyRejections), NOW + ageMs, knownForMs);

  test('is one younger than five seconds', () => {
    expect(isTooYoung(5 * SECOND - 1, 0)).toBe(true);
    expect(isTooYoung(5 * SECOND, 0)).toBe(false);
  });

  test('the larger of its age and the time since it was first seen counts', () => {
    expect(isTooYoung(-HOUR, 5 * SECOND)).toBe(false);
    expect(isTooYoung(-HOUR, 5 * SECOND - 1)).toBe(true);
    expect(isTooYoung(HOUR, 0)).toBe(false);
  });

  test('the minimum age doubles with each generation rejected early, up to five minutes', () => {
    expect([1, 2, 3].map(count => isTooYoung(5 * SECOND * 2 ** count - 1, 0, count))).toEqual([true, true, true]);
    expect([1, 2, 3].map(count => isTooYoung(5 * SECOND * 2 ** count, 0, count))).toEqual([false, false, false]);
    expect(isTooYoung(5 * MINUTE - 1, 0, 50)).toBe(true);
    expect(isTooYoung(5 * MINUTE, 0, 50)).toBe(false);
  });

  test('an item without that count has the shortest one', () => {
    expect(isTooYoungToReject({ ...token, issuedAt: NOW }, {}, NOW + 5 * SECOND, 0)).toBe(false);
  });
});

describe('rule 8: time enough to claim', () => {
  test('a refresh that could not end in time is left to somebody who has more of it', () => {
    const { reason, ms } = waitOf({ timeLeftMs: 400 });
    expect(reason).toBe('idle');
    expect(ms).toBeGreaterThan(0);
  });

  test('the default function of three seconds claims, with nothing measured yet', () => {
    expect(actionOf({ timeLeftMs: 2_650, longestTimeLeftMs: 2_700 })).toBe('claim');
  });

  test('and after a slow day: most of what this process ever has is enough', () => {
    expect(actionOf({ item: { refreshMs: 60 * SECOND }, timeLeftMs: 2_650, longestTimeLeftMs: 2_700 })).toBe('claim');
    expect(actionOf({ item: { refreshMs: 60 * SECOND }, timeLeftMs: 1_500, longestTimeLeftMs: 2_700 })).toBe('wait');
  });
});

describe('rule 13: readers', () => {
  test('look for two seconds, then fail with a typed rejection', () => {
    expect(decide(situation({ mayRefresh: false, lookingMs: READER_PATIENCE_MS }))).toEqual({ action: 'fail', code: 'NO_USABLE_TOKEN' });
    expect(waitOf({ mayRefresh: false, lookingMs: READER_PATIENCE_MS - 1 })).toEqual({ action: 'wait', reason: 'idle', ms: 1 });
  });

  test('their looks grow, and the last is at the end of their patience', () => {
    const steps = [0, 1, 2, 3].map(looks => waitOf({ mayRefresh: false, looks, lookingMs: 0 }).ms);
    expect(steps.map(ms => Math.round(ms * 10) / 10)).toEqual([50, 80, 128, 204.8]);
    expect(waitOf({ mayRefresh: false, looks: 16, lookingMs: 1_500, jitter: 0.999 }).ms).toBe(500);
  });

  test('never claim', () => {
    for (const each of situations()) {
      const decision = decide({ ...each, mayRefresh: false });
      expect(decision.action).not.toBe('claim');
      if (decision.action === 'use') expect(decision.ahead).toBe('no');
    }
  });

  test('wait for a live lease beyond their own patience', () => {
    expect(waitOf({ mayRefresh: false, lookingMs: 9 * SECOND, item: { lease: lease() } }).reason).toBe('lease');
  });
});

describe('in every situation', () => {
  test('a decision is one of the five, and every wait is a positive, finite time', () => {
    for (const each of situations()) {
      const decision = decide(each);
      expect(['use', 'read', 'claim', 'wait', 'fail']).toContain(decision.action);
      if (decision.action === 'wait') {
        expect(decision.ms).toBeGreaterThan(0);
        expect(decision.ms).toBeLessThanOrEqual(15 * MINUTE + 2 * SECOND + 260);
      }
    }
  });

  test('what is not fresh leads to nothing but a use or a read', () => {
    for (const each of situations()) {
      const decision = decide({ ...each, fresh: false });
      expect(['use', 'read']).toContain(decision.action);
      if (decision.action === 'use') expect(decision.ahead).not.toBe('claim');
    }
  });

  test('I1: nobody claims while a lease is alive or a cool-down runs', () => {
    for (const each of situations()) {
      const { item, now, leaseWatchedMs } = each;
      const decision = decide(each);
      const isClaim = decision.action === 'claim' || (decision.action === 'use' && decision.ahead !== 'no');
      if (!isClaim) continue;
      if (item?.lease !== undefined) {
        const { since, until } = item.lease;
        expect(now >= until + 2 * SECOND || leaseWatchedMs >= Math.min(until - since, 15 * MINUTE)).toBe(true);
      }
      const left = (item?.failure?.retryAt ?? 0) - now;
      expect(left <= 0 || left > 5 * MINUTE).toBe(true);
    }
  });

  test('the same situation leads to the same decision, and is left as it was', () => {
    for (const each of situations()) {
      const before = JSON.stringify(each);
      expect(decide(each)).toEqual(decide(each));
      expect(JSON.stringify(each)).toBe(before);
    }
  });
});

/** Every combination of the states that a decision tells apart. */
function* situations(): Generator<Situation> {
  const another = { accessToken: 'token-8', generation: 1 };
  const tokens: (Partial<StoredToken> | undefined)[] = [undefined, {}, expired, inWindow, { expiresAt: undefined }, another];
  const leases = [undefined, lease(), endedLease, lease({ since: NOW + HOUR, until: NOW + 2 * HOUR }), lease({ since: NOW, until: NOW - HOUR })];
  const failures = [undefined, failure(-1), failure(SECOND), failure(MINUTE), failure(HOUR)];
  const callers: Partial<Situation>[] = [
    {}, { fresh: false }, { mayRefresh: false }, { mayRefresh: false, lookingMs: 3 * SECOND }, { timeLeftMs: 50 }, { aheadBlocked: true },
    { leaseWatchedMs: 13 * SECOND }, { jitter: 0, looks: 0 }, { jitter: 0.999, looks: 1_000 },
  ];
  for (const stored of tokens) {
    for (const held of leases) {
      for (const failed of failures) {
        for (const rejection of [undefined, rejectionOf(token)]) {
          const rest = { lease: held, failure: failed, refreshMs: 400 };
          for (const caller of callers) yield situation({ item: stored ? withToken(stored, rest) : rest, rejection, ...caller });
        }
      }
    }
  }
}
