import type { SharedTokenErrorCode } from './errors';
import {
  askIn, COOL_DOWN_WORTH_WAITING_MS, coolDownLeft, idleLookIn, isIssuedSince, LEASE_GRACE_MS, leaseEndsIn, minimumAge, nextLookIn, READER_PATIENCE_MS,
  refreshAheadFrom, timeEnoughToClaim, usableUntil,
} from './timing';
import type { StoredToken, TokenItem } from './token-item';

/** "This exact token was refused": the string, and which issue of it, since a provider may hand out the same string again. */
export interface Rejection {
  readonly accessToken: string;
  readonly issuedAt: number;
  /** When it was reported, by the table's clock. */
  readonly at: number;
}

/** Of a reader's requests to its refresher. */
export interface AskingView {
  /** Looks at the item since anything was seen to happen: a lease, a cool-down, an answer of the refresher. */
  readonly looks: number;
  readonly isUnderWay: boolean;
  /** How often the refresher was asked since. */
  readonly attempts: number;
  /** Asking again cannot help. */
  readonly isHopeless?: boolean;
}

/** All that a decision depends on. */
export interface Situation {
  /** The table's time. */
  readonly now: number;
  /** The newest item known, if there is one. */
  readonly item: TokenItem | undefined;
  /** Was the item read for this very decision, or is it what memory held? */
  readonly fresh: boolean;
  readonly rejection: Rejection | undefined;
  /** A token that the API refused a moment ago, and that is too young to be given up: where a refresh is under way, its successor is waited for. */
  readonly doubted: string | undefined;
  /** How long the item's lease was seen unchanged, on the own monotonic clock. */
  readonly leaseWatchedMs: number;
  /** Looks made since the wait began. */
  readonly looks: number;
  /** How long this flight has been looking with no lease or cool-down to wait for, by the own monotonic clock. */
  readonly lookingMs: number;
  readonly timeLeftMs: number;
  /** The most time that a call of this process had left after its first read. */
  readonly longestTimeLeftMs: number;
  readonly mayRefresh: boolean;
  /** Of a reader with a refresher to ask. */
  readonly asking?: AskingView | undefined;
  /** A token issued after this is wanted, though the present one may work; by the table's clock. `due`: another one, whenever the present one was issued. */
  readonly forcedSince?: number | 'due' | undefined;
  /** No refresh ahead now: this flight tried one, a token is not stored yet, or trouble with the table pauses it. */
  readonly aheadBlocked: boolean;
  /** A random number in [0, 1), new for each decision. */
  readonly jitter: number;
  /** A random number in [0, 1), fixed for this process and generation. */
  readonly aheadJitter: number;
}

/** What to do next. */
export type Decision =
  /** Give the token to the caller. `ahead`: and have one caller look for, or fetch, its successor. */
  | { readonly action: 'use'; readonly token: StoredToken; readonly ahead: Ahead }
  | { readonly action: 'read' }
  | { readonly action: 'claim' }
  /** Ask the refresher. */
  | { readonly action: 'ask' }
  /** A forced refresh is not needed: somebody else was quicker, or is at it. */
  | { readonly action: 'skip' }
  | { readonly action: 'wait'; readonly ms: number; readonly reason: 'lease' | 'cool-down' | 'idle' }
  | { readonly action: 'fail'; readonly code: SharedTokenErrorCode; readonly retryAt?: number };

/** What one caller does for the successor of a token that works. */
export type Ahead = 'no' | 'read' | 'claim' | 'ask';

/** Not expired, minus a margin, and not rejected. */
export function isUsable(token: StoredToken | undefined, rejection: Rejection | undefined, now: number): token is StoredToken {
  return token !== undefined && now < usableUntil(token) && !isRejected(token, rejection);
}

/** Tokens are compared, not generations: an item may vanish and begin again at 1. */
export function isRejected(token: StoredToken, rejection: Rejection | undefined): boolean {
  return rejection !== undefined && token.accessToken === rejection.accessToken && token.issuedAt <= rejection.issuedAt;
}

/** The storm guard: is a rejection of this token to be believed, or is the token too young? */
export function isTooYoungToReject(token: StoredToken, item: TokenItem, now: number, knownForMs: number): boolean {
  return Math.max(now - token.issuedAt, knownForMs) < minimumAge(item.meta?.earlyRejections ?? 0);
}

/** The rules of docs/protocol.md, in their order: state and clock in, action out. */
export function decide(situation: Situation): Decision {
  if (situation.forcedSince !== undefined) return decideForced(situation, situation.forcedSince);
  const { item, now, rejection } = situation;
  const token = item?.token;
  if (isUsable(token, rejection, now) && !isSucceeded(token, situation)) return { action: 'use', token, ahead: refreshAhead(token, situation) };
  if (!situation.fresh) return { action: 'read' };
  if (item?.lease && isLeaseAlive(situation)) {
    const running = { lease: item.lease, refreshMs: item.refreshMs, watchedMs: watchedMs(situation) };
    return { action: 'wait', reason: 'lease', ms: nextLookIn(running, now, situation.jitter) };
  }
  const pause = coolingDown(situation);
  if (pause) return pause;
  if (situation.mayRefresh) return claimIfTimeAllows(situation);
  return situation.asking ? ask(situation.asking, situation.jitter) : waitAsReader(situation);
}

/** A refresh that is asked for whether the present token works or not: it waits for nothing. */
function decideForced(situation: Situation, since: number | 'due'): Decision {
  const { item, now, fresh } = situation;
  if (item?.token && since !== 'due' && isIssuedSince(item.token, since)) return { action: 'skip' };
  if (!fresh) return { action: 'read' };
  if (isLeaseAlive(situation)) return { action: 'skip' };
  const isNeeded = !isUsable(item?.token, situation.rejection, now);
  // What a schedule failed at is no reason to leave those who ask without a token.
  const left = since === 'due' && isNeeded && item?.failure?.forced ? 0 : coolDownLeft(item?.failure, now);
  if (left > 0) return { action: 'fail', code: 'COOLING_DOWN', retryAt: now + left };
  // Nobody needs it: it is not begun where it could be cut short, and a refresh token be used up for nothing.
  const isLongEnough = isNeeded ? timeAllows(situation) : timeAllows({ ...situation, longestTimeLeftMs: Infinity });
  return isLongEnough ? { action: 'claim' } : { action: 'fail', code: 'DEADLINE_EXCEEDED' };
}

/** Is a token that is doubted about to be replaced, as far as is known? */
function isSucceeded({ accessToken }: StoredToken, situation: Situation): boolean {
  return accessToken === situation.doubted && (!situation.fresh || isLeaseAlive(situation));
}

function isLeaseAlive(situation: Situation): boolean {
  const { item, now } = situation;
  return item?.lease ? leaseEndsIn(item.lease, now, watchedMs(situation)) > 0 : false;
}

/** Whom a reader asks may have begun to watch a moment ago, and goes by the table's time alone: so a reader waits for that, too. */
function watchedMs({ leaseWatchedMs, mayRefresh, asking }: Situation): number {
  return !mayRefresh && asking ? leaseWatchedMs - LEASE_GRACE_MS : leaseWatchedMs;
}

/** Inside the window one instance refreshes, at its own moment; nobody else waits for it. */
function refreshAhead(token: StoredToken, situation: Situation): Ahead {
  if (situation.aheadBlocked || situation.now < refreshAheadFrom(token, situation.aheadJitter)) return 'no';
  if (isLeaseAlive(situation) || coolDownLeft(situation.item?.failure, situation.now) > 0) return 'no';
  const { mayRefresh, asking, fresh } = situation;
  if (mayRefresh ? !timeAllows(situation) : !asking) return 'no';
  if (!fresh) return 'read';
  return mayRefresh ? 'claim' : 'ask';
}

/** After a failure nobody tries again before its time: wait where that is soon, else fail fast and say when. */
function coolingDown({ item, now, timeLeftMs, jitter }: Situation): Decision | undefined {
  const left = item?.failure?.forced ? 0 : coolDownLeft(item?.failure, now);
  if (left === 0) return undefined;
  if (left <= COOL_DOWN_WORTH_WAITING_MS && left < timeLeftMs) return { action: 'wait', reason: 'cool-down', ms: left + 1 + jitter * 100 };
  return { action: 'fail', code: 'COOLING_DOWN', retryAt: now + left };
}

/** A refresh that could not end in time is left to somebody who has more of it. */
function claimIfTimeAllows(situation: Situation): Decision {
  if (timeAllows(situation)) return { action: 'claim' };
  return { action: 'wait', reason: 'idle', ms: idleLookIn(situation.looks, situation.jitter) };
}

function timeAllows({ timeLeftMs, longestTimeLeftMs, item }: Situation): boolean {
  return timeEnoughToClaim(timeLeftMs, longestTimeLeftMs, item?.refreshMs);
}

/** Others may have noticed the same: look once more after a jitter, and ask only where nobody is at it. */
function ask({ looks, isUnderWay, attempts, isHopeless }: AskingView, jitter: number): Decision {
  if (isUnderWay) return { action: 'wait', reason: 'idle', ms: idleLookIn(looks, jitter) };
  return looks < 2 && !isHopeless ? { action: 'wait', reason: 'idle', ms: askIn(attempts, jitter) } : { action: 'ask' };
}

/** Without a right to refresh: look for somebody else's token for a while, then say that there is none. */
function waitAsReader({ lookingMs, looks, jitter }: Situation): Decision {
  if (lookingMs >= READER_PATIENCE_MS) return { action: 'fail', code: 'NO_USABLE_TOKEN' };
  return { action: 'wait', reason: 'idle', ms: Math.min(idleLookIn(looks, jitter), READER_PATIENCE_MS - lookingMs) };
}
