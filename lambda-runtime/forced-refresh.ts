import { decide } from './decide';
import { fingerprintOf } from './fingerprint';
import { LIMIT_REACHED, withLimit } from './host';
import { leaseHolder } from './lease-holder';
import { abortedError, deadlineExceeded, reasonOf, refreshFailed, refused } from './no-token';
import { type Caller, situationOf } from './refresh-flight';
import { aheadWindowFrom, backOff } from './timing';
import { tokenError } from './token-error';
import type { TokenKeeper, TokenMeans } from './token-keeper';
import type { RefreshAsk } from '../src/private/contract';

/** Why a refresh is asked for. */
export interface Occasion {
  /** The event's moment, by the table's clock or any that is right. */
  readonly since: number;
  /** A reader asks: only what is due. */
  readonly asked: RefreshAsk | undefined;
}

/**
 * One refresh, unless a token was issued since, or another holder is about to fetch one. It waits for nobody, and nobody waits for it: those who have a
 * token that works go on with it.
 *
 * @returns was the provider asked, and did it give a token?
 */
export async function forcedRefresh(means: TokenMeans & Pick<TokenKeeper, 'reject'>, caller: Caller, { since, asked }: Occasion): Promise<boolean> {
  const { tokenId, host, clock, table, memory, reject } = means;
  const { refresh, source, timeLeft, tell, signal } = caller;
  if (!refresh) throw tokenError(tokenId, 'INVALID_OPTION', 'this function only reads: one with the option "refresh" can fetch a new token.');
  const over = new AbortController();
  const stop = over.signal;
  let eventAt: number | undefined;

  /** From when on a token is new enough. `undefined`: the present one is. */
  const wantedSince = (): number | 'due' | undefined => {
    const { token, meta } = memory.item ?? {};
    const now = clock.now();
    if (!asked) {
      // A moment that is still to come would be reached by no token; and only the first reply tells what time it is.
      eventAt ??= Math.min(since, now);
      return token && source !== undefined && meta?.source !== source ? 'due' : eventAt;
    }
    if (token?.generation === asked.generation && token && fingerprintOf(token.accessToken) === asked.fingerprint) reject(token.accessToken, tell);
    return memory.usableToken(now) && token && now < aheadWindowFrom(token) ? undefined : 'due';
  };

  const fly = async (): Promise<boolean> => {
    if (memory.unsaved) await table.commit(memory.unsaved, { tell, timeLeft, stop });
    for (let looks = 0; ; looks++) {
      await table.read({ tell, timeLeft, stop });
      memory.noteTimeLeft(timeLeft());
      if (stop.aborted) throw deadlineExceeded(means);
      const forcedSince = wantedSince();
      if (forcedSince === undefined) return false;
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
  } catch (error) {
    throw reasonOf(means, error);
  } finally {
    over.abort();
  }
}
