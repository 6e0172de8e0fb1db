import type { Situation } from '../../lambda-runtime/decide';
import { ASSUMED_REFRESH_MS, nextLookIn, STORING_MS } from '../../lambda-runtime/timing';

/*
 * Other ways to wait than the runtime's, to compare it with. None of them is shipped.
 */

/** How long a waiter sleeps before its next look, while another holds a lease. */
type Look = (situation: Situation) => number;

export interface Strategy {
  readonly name: string;
  readonly look: Look;
}

/** A look when the refresh should be done, spread over a part of it; then `step`. */
function planned(spread: number, step: Look, aim = 1): Look {
  return situation => {
    const { item, now, jitter } = situation;
    const expectedMs = (item?.refreshMs ?? ASSUMED_REFRESH_MS) * aim;
    const overdueMs = now - (item?.lease?.since ?? now) - expectedMs;
    return overdueMs < 0 ? Math.min(-overdueMs, expectedMs) + STORING_MS + jitter * expectedMs * spread : step(situation);
  };
}

const fixed = (ms: number): Look => () => ms;

/** As the builders' library has it: from zero up to a step that doubles. */
function fullJitter(firstMs: number, longestMs: number): Look {
  return ({ looks, jitter }) => Math.max(1, jitter * Math.min(longestMs, firstMs * 2 ** (looks - 1)));
}

/** The runtime's own. */
const byTimeOverdue: Look = ({ item, leaseWatchedMs: watchedMs, now, jitter }) =>
  item?.lease ? nextLookIn({ lease: item.lease, refreshMs: item.refreshMs, watchedMs }, now, jitter) : 1;

const byCountOfLooks: Look = ({ item: { refreshMs = ASSUMED_REFRESH_MS } = {}, looks, jitter }) => {
  return (0.5 + jitter) * Math.min(1_000, Math.max(10, refreshMs * 0.1 * 1.6 ** looks));
};

export const STRATEGIES: readonly Strategy[] = [
  { name: 'fixed 200 ms', look: fixed(200) },
  { name: 'full jitter from 25 ms', look: fullJitter(25, 1_000) },
  { name: 'full jitter from 1 s', look: fullJitter(1_000, 10_000) },
  { name: 'planned, then 50 ms', look: planned(0.15, fixed(50)) },
  { name: 'planned, steps by count', look: planned(0.15, byCountOfLooks) },
  { name: 'planned, no spread', look: planned(0, byTimeOverdue) },
  { name: 'planned, spread 50 %', look: planned(0.5, byTimeOverdue) },
  { name: 'planned, 10 % later', look: planned(0.15, byTimeOverdue, 1.1) },
];
