import { decide, type Situation } from './decide';
import { SharedTokenError, type SharedTokenErrorCode } from './errors';
import type { Tell } from './events';
import { type Deadline, deadlineIn, LIMIT_REACHED, withLimit } from './host';
import { leaseHolder, type LeaseHolder } from './lease-holder';
import type { Refresh } from './public-types';
import { isFinal, type RefreshFailure } from './refresh-failure';
import { backOff, SAVE_LIMIT_MS } from './timing';
import { tokenError } from './token-error';
import type { StoredToken } from './token-item';
import type { TokenMeans } from './token-keeper';

/** One call that needs a token. */
export interface Caller {
  readonly timeLeft: Deadline;
  readonly signal: AbortSignal | undefined;
  /** A token that the API refused a moment ago, and that is too young to be given up. */
  readonly doubted?: string | undefined;
  readonly refresh: Refresh | undefined;
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

  const board = async (caller: Caller): Promise<StoredToken> => {
    const { signal } = caller;
    callers.add(caller);
    if (caller.timeLeft() > latest()) latest = caller.timeLeft;
    if (!lead.refresh && caller.refresh) lead = caller;
    try {
      // Nobody but the first waits for the successor of a token that works.
      const answer = caller === first ? landing : Promise.race([landing, usable]);
      const token = await withLimit({ host, ms: caller.timeLeft(), signal }, () => answer);
      if (token !== LIMIT_REACHED) return token;
      throw signal?.aborted ? abortedError(tokenId, signal) : deadlineExceeded();
    } finally {
      callers.delete(caller);
      if (callers.size === 0) everyoneLeft.abort();
    }
  };

  const fly = async (): Promise<StoredToken> => {
    await saveUnsaved();
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
        await lookAfter(decision.ms);
        if (decision.reason !== 'idle') lookingSince = host.monotonic();
      } else if (decision.action === 'read') {
        await look(timeLeft);
      } else {
        await refresh(timeLeft);
      }
    }
  };

  const adopt = (token: StoredToken): StoredToken => {
    if (memory.isNews()) {
      memory.markTold();
      lead.tell('adopted', { generation: token.generation });
    }
    return token;
  };

  /** One attempt, and a short one where the table makes trouble: the token works, and a later call may try again. */
  const refreshAhead = async (step: 'read' | 'claim'): Promise<void> => {
    const soon = deadlineIn(host, Math.min(SAVE_LIMIT_MS, timeLeft()));
    triedAhead = step === 'claim';
    try {
      await (step === 'read' ? look(soon) : refresh(soon));
    } catch (error) {
      if (!(error instanceof SharedTokenError)) throw error;
      triedAhead = true;
      memory.pauseAhead();
    }
  };

  const look = async (within: Deadline): Promise<void> => {
    looks++;
    await table.read({ tell: lead.tell, timeLeft: within, stop });
    fresh = true;
  };

  const lookAfter = async (ms: number): Promise<void> => {
    lead.tell('waiting', { until: host.now() + ms, leaseId: memory.item?.lease?.id });
    await host.sleep(Math.min(ms, timeLeft()), stop);
    checkTime();
    await look(timeLeft);
  };

  const refresh = async (claimTimeLeft: Deadline): Promise<void> => {
    const { authLimitMs, holder: name, tell } = lead;
    // A claim is decided only where the lead has a refresh function.
    holder = leaseHolder({ ...means, refresh: lead.refresh as Refresh, authLimitMs, holder: name, tell, timeLeft, claimTimeLeft, stop });
    const outcome = await holder.run();
    holder = undefined;
    fresh = true;
    if (outcome === 'settled') return;
    if (outcome === 'throttled') return triedAhead ? memory.pauseAhead() : lookAfter(backOff(looks, host.random()));
    failure = outcome;
    if (isFinal(outcome) && !memory.usableToken(clock.now())) throw failed(outcome.error.code, memory.item?.failure?.retryAt);
  };

  /** One attempt: the token is in use already, and whoever called must not wait long for it to be stored. */
  const saveUnsaved = async (): Promise<void> => {
    if (!memory.unsaved || !memory.hasToSave()) return;
    try {
      await table.commit(memory.unsaved, { tell: lead.tell, timeLeft: deadlineIn(host, Math.min(SAVE_LIMIT_MS, timeLeft())), stop });
    } catch (error) {
      if (!(error instanceof SharedTokenError)) throw error;
      memory.pauseAhead();
    }
  };

  const checkTime = (): void => {
    if (timeLeft() <= 0 || stop.aborted) throw deadlineExceeded();
  };

  /** The error of this flight's own failed refresh says more than the cool-down that it caused. */
  const failed = (code: SharedTokenErrorCode, retryAt: number | undefined): SharedTokenError => {
    if (failure) {
      const { error } = failure;
      return new SharedTokenError(error.code, error.message, { tokenId, retryAt, cause: error.cause });
    }
    return tokenError(tokenId, code, code === 'COOLING_DOWN'
      ? `the last refresh failed (${memory.item?.failure?.code}); no instance tries again before ${isoTime(retryAt)}.`
      : 'no usable token, and this function only reads. Give it a refresh function, or see why the one that refreshes does not.', { retryAt });
  };

  const deadlineExceeded = (): SharedTokenError => {
    const trouble = table.trouble();
    if (trouble) return trouble;
    const { lease, failure: last } = memory.item ?? {};
    const why = lease ? `${lease.holder || 'another instance'} is refreshing it until ${isoTime(lease.until)} at the latest`
      : last ? `the last refresh failed (${last.code})` : 'too little time was left for a refresh';
    return tokenError(tokenId, 'DEADLINE_EXCEEDED', `no usable token before the deadline: ${why}. ` +
      'Give the function and the call more time than a refresh takes.', { cause: failure?.error });
  };

  let letGo: (token: StoredToken) => void = () => undefined;
  const usable = new Promise<StoredToken>(resolve => { letGo = resolve; });
  const landing = fly().finally(() => {
    hasLanded = true;
  });
  landing.catch(() => undefined); // the last caller may have left before

  return { board, isOpen: () => !hasLanded && !stop.aborted && timeLeft() > 0 && !holder?.isOver() };
}

/** What a decision depends on beside the state that the process shares. */
export type FlightView = Pick<Situation, 'doubted' | 'fresh' | 'looks' | 'aheadBlocked' | 'lookingMs' | 'timeLeftMs' | 'mayRefresh'>;

export function situationOf({ host, clock, memory }: TokenMeans, view: FlightView): Situation {
  const aheadBlocked = view.aheadBlocked || memory.unsaved !== undefined || memory.isAheadPaused();
  return { ...view, ...memory.view(), aheadBlocked, now: clock.now(), jitter: host.random() };
}

export function abortedError(tokenId: string, { reason }: AbortSignal): SharedTokenError {
  return tokenError(tokenId, 'ABORTED', 'the caller\'s signal was aborted.', { cause: reason });
}

/** An item may name a moment that no `Date` knows; that is no reason for another error. */
function isoTime(at = NaN): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? 'an unknown time' : date.toISOString();
}
