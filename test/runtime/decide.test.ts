import { decide, type Decision, isUsable, type Rejection, type Situation } from '../../lambda-runtime/decide';
import { COOL_DOWN_WORTH_WAITING_MS } from '../../lambda-runtime/timing';
import type { Failure, Lease, StoredToken, TokenItem } from '../../lambda-runtime/token-item';

/*
 * Each decision of its own is a vector of docs/protocol-vectors.json. Here is what holds in all situations, and the jitter that is ours.
 */
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
const waitOf = (more: Partial<Situation>): Extract<Decision, { action: 'wait' }> => {
  const decision = decide(situation(more));
  if (decision.action === 'wait') return decision;
  throw new Error(`Expected to wait, got ${JSON.stringify(decision)}`);
};

test('no caller wakes before the end of a cool-down', () => {
  for (const jitter of [0, 0.5, 0.999]) {
    const { ms } = waitOf({ item: { failure: failure(COOL_DOWN_WORTH_WAITING_MS) }, jitter });
    expect(ms).toBeGreaterThan(2 * SECOND);
    expect(ms).toBeLessThanOrEqual(2 * SECOND + 101);
  }
});

test('the looks of a reader grow, and the last is at the end of its patience', () => {
  const steps = [0, 1, 2, 3].map(looks => waitOf({ mayRefresh: false, looks, lookingMs: 0 }).ms);
  expect(steps.map(ms => Math.round(ms * 10) / 10)).toEqual([50, 80, 128, 204.8]);
  expect(waitOf({ mayRefresh: false, looks: 16, lookingMs: 1_500, jitter: 0.999 }).ms).toBe(500);
});

describe('in every situation', () => {
  test('I7: whoever has a usable token never waits, fails, or is kept from it', () => {
    for (const each of situations()) {
      const { item, rejection, now } = each;
      if (isUsable(item?.token, rejection, now)) expect(decide(each)).toMatchObject({ action: 'use', token: item?.token });
    }
  });

  test('a reader never claims', () => {
    for (const each of situations()) {
      const decision = decide({ ...each, mayRefresh: false });
      expect(decision.action).not.toBe('claim');
      if (decision.action === 'use') expect(decision.ahead).toBe('no');
    }
  });

  test('a forced refresh waits for nothing', () => {
    for (const each of situations()) expect(['read', 'claim', 'skip', 'fail']).toContain(decide({ ...each, forcedSince: NOW }).action);
  });

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

  test('I1: nobody claims while a lease is alive or a cool-down runs, forced or not', () => {
    for (const each of [...situations()].flatMap(one => [one, { ...one, forcedSince: NOW }])) {
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
