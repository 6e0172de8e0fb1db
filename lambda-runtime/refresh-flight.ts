import { type Asking, asking } from './asking';
import { type Ahead, decide, type Situation } from './decide';
import { SharedTokenError, type SharedTokenErrorCode } from './errors';
import type { Tell } from './events';
import { type Deadline, deadlineIn, LIMIT_REACHED, withLimit } from './host';
import { leaseHolder, type LeaseHolder } from './lease-holder';
import { abortedError, type CallSoFar, deadlineExceeded, reasonOf, refreshFailed, refused } from './no-token';
import type { Refresh } from './public-types';
import { isFinal, type RefreshFailure } from './refresh-failure';
import type { RefresherPort } from './refresher-port';
import { backOff, SAVE_LIMIT_MS } from './timing';
import type { StoredToken } from './token-item';
import type { TokenMeans } from './token-keeper';
import type { Requester } from './token-table';

/** One call that needs a token. */
export interface Caller {
  readonly timeLeft: Deadline;
  readonly signal: AbortSignal | undefined;
  /** A token that the API refused a moment ago, and that is too young to be given up. */
  readonly doubted?: string | undefined;
  readonly refresh: Refresh | undefined;
  /** Whom to ask where it cannot refresh itself. */
  readonly refresher: RefresherPort | undefined;
  readonly source: string | undefined;
  readonly authLimitMs: number | undefined;
  /** For people: which function and request this is. */
  readonly holder: string;
  readonly tell: Tell;
}

/**
 * The one search for a token that all concurrent callers of a process share: read, decide, act, until the decision is a token or an error.
 *
 * Each caller leaves at its own deadline; the flight ends with the last of them. A request that was sent to the provider goes on all the same.
 */
export interface RefreshFlight {
  /** May another caller join? Not once it has landed, nor when a freeze has taken its time or its lease away. */
  isOpen(): boolean;
  /** The token for one caller: ends at its deadline, or when its signal is aborted. */
  board(caller: Caller): Promise<StoredToken>;
}

export function refreshFlight(means: TokenMeans, first: Caller): RefreshFlight {
  const { tokenId, host, clock, table, memory } = means;
  const callers = new Set<Caller>();
  const everyoneLeft = new AbortController();
  const stop = everyoneLeft.signal;
  /** Since when nothing says when to expect a token: waits for a lease or a cool-down do not count. */
  let lookingSince = host.monotonic();
  let lead = first;
  /** The latest deadline of all who boarded: who leaves early by a signal does not shorten a request that was sent, or its commit. */
  let latest = first.timeLeft;
  const timeLeft: Deadline = () => latest();
  let holder: LeaseHolder | undefined;
  let failure: RefreshFailure | undefined;
  let hasLanded = false;
  let fresh = false;
  let looks = 0;
  let triedAhead = false;
  let asks: Asking | undefined;
  /** What was left when that was first found too little for a claim. */
  let tooLittleMs: number | undefined;

  const board = async (caller: Caller): Promise<StoredToken> => {
    const { signal } = caller;
    callers.add(caller);
    if (caller.timeLeft() > latest()) latest = caller.timeLeft;
    if (!lead.refresh && (caller.refresh ?? (!lead.refresher && caller.refresher))) lead = caller;
    try {
      // Nobody but the first waits for the successor of a token that works.
      const answer = caller === first ? landing : Promise.race([landing, usable]);
      const token = await withLimit({ host, ms: caller.timeLeft(), signal }, () => answer);
      if (token !== LIMIT_REACHED) return token;
      throw signal?.aborted ? abortedError(tokenId, signal) : deadlineExceeded(means, soFar());
    } finally {
      callers.delete(caller);
      if (callers.size === 0) everyoneLeft.abort();
    }
  };

  const fly = async (): Promise<StoredToken> => {
    await saveUnsaved(means, { tell: lead.tell, timeLeft, stop });
    for (;;) {
      // What the first reply left of the time: with what a call began with, a slow first read alone could forbid to claim.
      if (fresh) memory.noteTimeLeft(timeLeft());
      const decision = decide(situationOf(means, {
        fresh,
        looks,
        aheadBlocked: triedAhead,
        doubted: lead.doubted,
        lookingMs: host.monotonic() - lookingSince,
        timeLeftMs: timeLeft(),
        mayRefresh: lead.refresh !== undefined,
        asking: asker()?.view(),
      }));
      if (decision.action === 'use') {
        const { token, ahead } = decision;
        if (ahead === 'no') return adopt(token);
        checkTime();
        letGo(token);
        await refreshAhead(ahead);
        continue;
      }
      if (decision.action === 'fail') throw failed(decision.code, decision.retryAt);
      checkTime();
      if (decision.action === 'wait') {
        if (decision.reason === 'idle' && lead.refresh) tooLittleMs ??= timeLeft();
        if (decision.reason !== 'idle') asks?.seesNews();
        await lookAfter(decision.ms, decision.reason);
        if (decision.reason !== 'idle') lookingSince = host.monotonic();
      } else if (decision.action === 'read') {
        await look(timeLeft);
      } else if (decision.action === 'claim') {
        await refresh(timeLeft);
      } else if (decision.action === 'ask') {
        asker()?.start();
      }
    }
  };

  const asker = (): Asking | undefined => {
    if (lead.refresh || !lead.refresher) return undefined;
    return asks ??= asking(means, lead.refresher, lead.tell, stop);
  };

  const adopt = (token: StoredToken): StoredToken => {
    if (memory.isNews()) {
      memory.markTold();
      lead.tell('adopted', { generation: token.generation });
    }
    return token;
  };

  /** One attempt, and a short one where the table makes trouble: the token works, and a later call may try again. */
  const refreshAhead = async (step: Exclude<Ahead, 'no'>): Promise<void> => {
    const soon = deadlineIn(host, Math.min(SAVE_LIMIT_MS, timeLeft()));
    triedAhead = step !== 'read';
    try {
      await (step === 'read' ? look(soon) : step === 'claim' ? refresh(soon) : asker()?.ahead());
    } catch (error) {
      if (!(error instanceof SharedTokenError)) throw error;
      triedAhead = true;
      memory.pauseAhead();
    }
  };

  const look = async (within: Deadline): Promise<void> => {
    looks++;
    asks?.looked();
    await table.read({ tell: lead.tell, timeLeft: within, stop });
    fresh = true;
  };

  const lookAfter = async (ms: number, reason?: 'lease' | 'cool-down' | 'idle'): Promise<void> => {
    lead.tell('waiting', { until: host.now() + ms, leaseId: memory.item?.lease?.id });
    const answered = asks?.answered();
    const wait = host.sleep(Math.min(ms, timeLeft()), answered ? AbortSignal.any([stop, answered]) : stop);
    if (reason === 'idle') asks?.prepare(); // under a lease there may be nothing to ask
    await wait;
    checkTime();
    await look(timeLeft);
  };

  const refresh = async (claimTimeLeft: Deadline): Promise<void> => {
    // A claim is decided only where the lead has a refresh function.
    holder = leaseHolder({ ...means, ...lead, refresh: lead.refresh as Refresh, timeLeft, claimTimeLeft, stop, forced: false });
    const outcome = await holder.run();
    holder = undefined;
    fresh = true;
    if (outcome === 'settled' || outcome === 'refreshed') return;
    if (outcome === 'throttled') return triedAhead ? memory.pauseAhead() : lookAfter(backOff(looks, host.random()));
    failure = outcome;
    if (isFinal(outcome) && !memory.usableToken(clock.now())) throw refreshFailed(means, outcome);
  };

  const checkTime = (): void => {
    if (timeLeft() > 0 && !stop.aborted) return;
    // Who leaves early by a signal had time enough.
    if (tooLittleMs !== undefined && timeLeft() < tooLittleMs / 2) memory.lackedTime(tooLittleMs);
    throw deadlineExceeded(means, soFar());
  };

  const soFar = (): CallSoFar => ({ failure, asked: asks?.outcome() });

  const failed = (code: SharedTokenErrorCode, retryAt: number | undefined): SharedTokenError =>
    failure ? refreshFailed(means, failure, retryAt) : refused(means, code, retryAt);

  let letGo: (token: StoredToken) => void = () => undefined;
  const usable = new Promise<StoredToken>(resolve => { letGo = resolve; });
  const landing = fly().catch((error: unknown) => {
    throw reasonOf(means, error, soFar());
  }).finally(() => {
    hasLanded = true;
  });
  landing.catch(() => undefined); // the last caller may have left before

  return { board, isOpen: () => !hasLanded && !stop.aborted && timeLeft() > 0 && !holder?.isOver() };
}

/** One attempt: the token is in use already, and whoever called must not wait long for it to be stored. */
async function saveUnsaved({ host, table, memory }: TokenMeans, { tell, timeLeft, stop }: Requester): Promise<void> {
  if (!memory.unsaved || !memory.hasToSave()) return;
  try {
    await table.commit(memory.unsaved, { tell, timeLeft: deadlineIn(host, Math.min(SAVE_LIMIT_MS, timeLeft())), stop });
  } catch (error) {
    if (!(error instanceof SharedTokenError)) throw error;
    memory.pauseAhead();
  }
}

/** What a decision depends on beside the state that the process shares. */
export type FlightView = Pick<Situation, 'doubted' | 'fresh' | 'looks' | 'aheadBlocked' | 'lookingMs' | 'timeLeftMs' | 'mayRefresh' | 'asking' | 'forcedSince'>;

/** Written out: it is made at each call, and a spread costs more than the decision. */
export function situationOf({ host, clock, memory }: TokenMeans, view: FlightView): Situation {
  const { item, rejection, leaseWatchedMs, longestTimeLeftMs, aheadJitter } = memory.view();
  return {
    now: clock.now(),
    item,
    fresh: view.fresh,
    rejection,
    doubted: view.doubted,
    leaseWatchedMs,
    looks: view.looks,
    lookingMs: view.lookingMs,
    timeLeftMs: view.timeLeftMs,
    longestTimeLeftMs,
    mayRefresh: view.mayRefresh,
    asking: view.asking,
    forcedSince: view.forcedSince,
    aheadBlocked: view.aheadBlocked || memory.unsaved !== undefined || memory.isAheadPaused(),
    jitter: host.random(),
    aheadJitter,
  };
}
