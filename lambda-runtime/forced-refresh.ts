import { decide } from './decide';
import { LIMIT_REACHED, withLimit } from './host';
import { leaseHolder } from './lease-holder';
import { abortedError, deadlineExceeded, refreshFailed, refused } from './no-token';
import { type Caller, situationOf } from './refresh-flight';
import { backOff } from './timing';
import { tokenError } from './token-error';
import type { TokenMeans } from './token-keeper';

/**
 * One refresh, unless a token was issued since, or another holder is about to fetch one. It waits for nobody, and nobody waits for it: those who have a
 * token that works go on with it.
 *
 * @param since - the event's moment, by the table's clock or any that is right
 * @returns was the provider asked, and did it give a token?
 */
export async function forcedRefresh(means: TokenMeans, caller: Caller, since: number): Promise<boolean> {
  const { tokenId, host, clock, table, memory } = means;
  const { refresh, timeLeft, tell, signal } = caller;
  if (!refresh) throw tokenError(tokenId, 'INVALID_OPTION', 'this function only reads: one with the option "refresh" can fetch a new token.');
  const over = new AbortController();
  const stop = over.signal;
  let forcedSince: number | undefined;

  const fly = async (): Promise<boolean> => {
    if (memory.unsaved) await table.commit(memory.unsaved, { tell, timeLeft, stop });
    for (let looks = 0; ; looks++) {
      await table.read({ tell, timeLeft, stop });
      memory.noteTimeLeft(timeLeft());
      if (stop.aborted) throw deadlineExceeded(means);
      // A moment that is still to come would be reached by no token; and only the first reply tells what time it is.
      forcedSince ??= Math.min(since, clock.now());
      const forced = memory.usableToken(clock.now()) !== undefined;
      const decision = decide(situationOf(means, {
        fresh: true, looks, aheadBlocked: false, doubted: undefined, lookingMs: 0, timeLeftMs: timeLeft(), mayRefresh: true, forcedSince,
      }));
      if (decision.action === 'skip') return false;
      if (decision.action === 'fail') {
        if (decision.code === 'DEADLINE_EXCEEDED') memory.lackedTime(timeLeft());
        throw refused(means, decision.code, decision.retryAt);
      }
      const outcome = await leaseHolder({ ...means, ...caller, refresh, claimTimeLeft: timeLeft, stop, forced }).run();
      if (outcome === 'refreshed') return true;
      if (outcome === 'throttled') await host.sleep(backOff(looks, host.random()), stop);
      else if (outcome !== 'settled') throw refreshFailed(means, outcome);
    }
  };

  try {
    const refreshed = await withLimit({ host, ms: timeLeft(), signal }, fly);
    if (refreshed !== LIMIT_REACHED) return refreshed;
    throw signal?.aborted ? abortedError(tokenId, signal) : deadlineExceeded(means);
  } finally {
    over.abort();
  }
}
