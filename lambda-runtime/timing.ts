import type { Failure, Lease, StoredToken } from './token-item';
import { DEFAULT_AUTH_LIMIT_MS } from '../src/private/contract';

/*
 * Every duration of the protocol, and the pure functions that derive moments from them. Milliseconds throughout.
 */

const { max, min, round, ceil } = Math;

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const DAY = 24 * 60 * MINUTE;

/** How much the clocks of two instances are taken to differ, though both go by the table's. */
const CLOCK_TOLERANCE_MS = 2 * SECOND;
/** A stored token counts as issued before another only if it was by more than two clocks may differ. */
export const CLEARLY_OLDER_MS = CLOCK_TOLERANCE_MS;
/** When the wall clock has moved this much more or less than the monotonic one during a request, it was set, or a freeze stopped the other. */
export const CLOCK_JUMP_MS = 250;
/** A lease counts as over only this long after its end. */
export const LEASE_GRACE_MS = CLOCK_TOLERANCE_MS;
/** No lease is believed to last longer: the longest that a Lambda function runs. */
export const LONGEST_LEASE_MS = 15 * MINUTE;

const LONGEST_MARGIN_MS = 30 * SECOND;
const LONGEST_WINDOW_MS = 5 * MINUTE;

const LONGEST_COOL_DOWN_MS = 5 * MINUTE;
const LONGEST_SCHEDULED_COOL_DOWN_MS = MINUTE;
/** A cool-down that ends within this is waited for; a longer one fails at once. */
export const COOL_DOWN_WORTH_WAITING_MS = 2 * SECOND;

const SHORTEST_MINIMUM_AGE_MS = 5 * SECOND;
const LONGEST_MINIMUM_AGE_MS = 5 * MINUTE;
/** Stands for the life of a token that has no expiry, where the storm guard asks for half of it. */
const ASSUMED_LIFE_MS = 20 * MINUTE;

/** The default of a call's deadline: above the auth limit, so that waiters outlast a refresh that succeeds. */
export const DEFAULT_CALL_LIMIT_MS = 30 * SECOND;
/** What took longer than this, a person's log-in say, is nothing to plan the next refresh by. */
export const LONGEST_USUAL_REFRESH_MS = 10 * SECOND;
/** A refresh that was never measured may last this long. */
const UNKNOWN_REFRESH_MS = SECOND;
/** What a refresh is taken to last until one was measured. */
export const ASSUMED_REFRESH_MS = 300;
/** After this long without an answer of the refresher, what was asked counts as lost. */
export const ASK_LIMIT_MS = 10 * SECOND;
const ASK_WITHIN_MS = 500;
const LONGEST_ASK_WITHIN_MS = 8 * SECOND;
/** How much more likely a reader asks at the end of that time than at its beginning: e to the power of it. */
const ASK_STEEPNESS = 5.3;
/** A reader without a right to refresh looks this long for somebody else's new token. */
export const READER_PATIENCE_MS = 2 * SECOND;
/** One request to the table may take this long; then its outcome is unknown and it is sent again. */
export const TABLE_CALL_LIMIT_MS = SECOND;
/** A table that was given this long in all since its last reply, and did not answer, is to blame for it. */
const BLAMED_FROM_MS = TABLE_CALL_LIMIT_MS / 2;
/** What was sent is stored, though everyone left; but nothing keeps a process busy for longer than this. */
export const LEFT_ALONE_LIMIT_MS = 5 * SECOND;
/** For what is done beside a token that works: a look ahead, a claim ahead, storing what the table did not take in time. */
export const SAVE_LIMIT_MS = SECOND;
/** Before the one retry with a token too young to be given up: some providers need a moment to accept their own token. */
export const YOUNG_TOKEN_PAUSE_MS = 500;

/** A refresh lasts this much longer for who waits: the lease is counted from before its claim, and the token has to be stored. */
export const STORING_MS = 8;
const LONGEST_LOOK_STEP_MS = SECOND;
const LONGEST_BACK_OFF_MS = 500;

// --- a token's life ---------------------------------------------------------------------------------------------------------------------

/** What of a token its times depend on. */
type Lifetime = Pick<StoredToken, 'issuedAt' | 'expiresAt'>;

function lifeOf({ issuedAt, expiresAt = Infinity }: Lifetime): number {
  return max(0, expiresAt - issuedAt);
}

/** A token counts as expired a margin before the provider says so: at most 10 % of its life. */
export function usableUntil(token: Lifetime): number {
  return (token.expiresAt ?? Infinity) - min(LONGEST_MARGIN_MS, lifeOf(token) * 0.1);
}

/** A token may be refreshed ahead from here on. */
export function aheadWindowFrom(token: Lifetime): number {
  return refreshAheadFrom(token, 0);
}

/** When this instance refreshes ahead: its own moment in the window before the margin, 20 % of the token's life at most. `jitter` is fixed per instance and generation. */
export function refreshAheadFrom(token: Lifetime, jitter: number): number {
  return usableUntil(token) - min(LONGEST_WINDOW_MS, lifeOf(token) * 0.2) * (1 - jitter);
}

/** A rejection of a token younger than this is not believed; the age doubles with each generation in a row that was rejected early. */
export function minimumAge(earlyRejections: number): number {
  return min(SHORTEST_MINIMUM_AGE_MS * 2 ** max(0, earlyRejections), LONGEST_MINIMUM_AGE_MS);
}

/** Was the token rejected before half its life? */
export function rejectedEarly(token: StoredToken, rejectedAt: number): boolean {
  const life = token.expiresAt === undefined ? ASSUMED_LIFE_MS : lifeOf(token);
  return rejectedAt - token.issuedAt < life / 2;
}

/** Was the token issued at that moment or later, as far as two clocks can tell? */
export function isIssuedSince({ issuedAt }: StoredToken, moment: number): boolean {
  return issuedAt >= moment - CLOCK_TOLERANCE_MS;
}

/** DynamoDB's time to live, epoch seconds, far past the moment until which the item matters. */
export function expireAfter(lastMoment: number): number {
  return ceil((lastMoment + 7 * DAY) / SECOND);
}

// --- leases -----------------------------------------------------------------------------------------------------------------------------

function durationOf(lease: Lease): number {
  return min(max(0, lease.until - lease.since), LONGEST_LEASE_MS);
}

/** Milliseconds until a lease is over: by the table's clock, or by having watched it unchanged for its whole duration, whichever comes first. */
export function leaseEndsIn(lease: Lease, now: number, watchedMs: number): number {
  return min(lease.until + LEASE_GRACE_MS - now, durationOf(lease) - watchedMs);
}

/** What is kept of an invocation's time for an answer to the caller: 10 %, at most 0.5 s. */
export function answerMargin(invocationMs: number): number {
  return Math.min(500, invocationMs * 0.1);
}

/** How much of the time left is kept for the commit. */
export function commitMargin(timeLeftMs: number): number {
  return min(max(200, timeLeftMs * 0.2), 2 * SECOND, timeLeftMs / 2);
}

/** Time that is left for the auth request itself. */
export function authLimit(timeLeftMs: number, configured = DEFAULT_AUTH_LIMIT_MS): number {
  return min(configured, timeLeftMs - commitMargin(timeLeftMs));
}

/**
 * Is there time enough for a refresh? Twice what one usually takes, or most of what this process is ever given: a fixed bound could end all claiming for
 * ever after one slow day.
 */
export function timeEnoughToClaim(timeLeftMs: number, longestTimeLeftMs: number, refreshMs = ASSUMED_REFRESH_MS): boolean {
  return authLimit(timeLeftMs, Infinity) >= min(2 * refreshMs, 0.8 * authLimit(longestTimeLeftMs, Infinity));
}

/**
 * Is there time to send a request again that got no answer in half of it? Not where it would be too slow rather than lost: some providers take a replay for
 * theft.
 */
export function timeEnoughToReplay(limitMs: number, refreshMs = UNKNOWN_REFRESH_MS): boolean {
  return limitMs / 2 >= 2 * refreshMs;
}

/**
 * The smoothed duration of a refresh: slow to change, since looks are planned by what is usual; yet quick to fall where it was far too long, since all
 * waiters would look too late, and slower to rise than to fall, since a look too early costs one read.
 */
export function smoothRefreshMs(known: number | undefined, measured: number): number {
  if (known === undefined) return round(measured);
  const weight = measured > known ? 0.1 : measured * 2 > known ? 0.2 : 0.7;
  return round(known * (1 - weight) + measured * weight);
}

// --- trouble with the table -------------------------------------------------------------------------------------------------------------

/** Did a freeze, or a clock that was set, lie over a request and the deadline? No request is waited for that long. */
export function stoodStill(timeLeftMs: number): boolean {
  return timeLeftMs < -CLOCK_JUMP_MS;
}

/**
 * Is the table to blame for a request that failed? Not where the process stood still beyond the deadline, nor where the deadline cut it short: what it was given
 * without an answer since its last one (`unansweredMs`) is then too little to tell.
 */
export function isTablesFault(timeLeftMs: number, unansweredMs: number): boolean {
  const isCutShort = timeLeftMs < 1 && unansweredMs < BLAMED_FROM_MS; // a timer may end up to a millisecond early
  return !isCutShort && !stoodStill(timeLeftMs);
}

// --- waiting ----------------------------------------------------------------------------------------------------------------------------

/** What a waiter knows of the refresh it waits for. */
export interface RunningRefresh {
  readonly lease: Lease;
  readonly refreshMs?: number | undefined;
  /** How long the lease was seen unchanged, on the own monotonic clock. */
  readonly watchedMs: number;
}

/**
 * How long a waiter sleeps before its next look: first until the running refresh should be done and stored, spread by jitter; then by jittered steps that
 * grow with the time it is overdue; never much past the end of the lease, where somebody has to take over.
 */
export function nextLookIn({ lease, refreshMs = ASSUMED_REFRESH_MS, watchedMs }: RunningRefresh, now: number, jitter: number): number {
  const expected = min(refreshMs, durationOf(lease));
  const overdue = now - lease.since - expected;
  const look = overdue < 0
    ? min(-overdue, expected) + STORING_MS + jitter * expected * 0.15
    : (0.5 + jitter) * min(max(10, expected * 0.04, min(overdue * 3, expected * 0.35), overdue * 0.5), LONGEST_LOOK_STEP_MS);
  return max(1, min(look, leaseEndsIn(lease, now, watchedMs) + 10 + jitter * 250));
}

/** Between looks where no lease says when to expect something. */
export function idleLookIn(looks: number, jitter: number): number {
  return (0.5 + jitter) * min(50 * 1.6 ** looks, LONGEST_LOOK_STEP_MS);
}

/**
 * How long a reader waits before it asks the refresher, for others may have noticed the same: the likelihood grows exponentially, so that, however many they
 * are, the first ones are few until a lease tells the others. (With equal likelihood their number would be in proportion to all of them.)
 */
export function askIn(attempts: number, jitter: number): number {
  const least = Math.exp(-ASK_STEEPNESS);
  return min(ASK_WITHIN_MS * 2 ** attempts, LONGEST_ASK_WITHIN_MS) * (1 + Math.log(least + jitter * (1 - least)) / ASK_STEEPNESS);
}

/** After trouble with the successor of a token that still works, and after a refresher could not help. */
export function aheadPause(jitter: number): number {
  return (5 + 10 * jitter) * SECOND;
}

/** After throttling or an unreachable table. */
export function backOff(attempt: number, jitter: number): number {
  return (0.5 + jitter * 0.5) * min(50 * 2 ** attempt, LONGEST_BACK_OFF_MS);
}

// --- cool-down --------------------------------------------------------------------------------------------------------------------------

/** The pause after the `count`th failure in a row: 1, 2, 4 ... 60 s, at least what the provider asked for, at most 5 minutes. */
export function coolDown(count: number, terminal = false, retryAfterMs = 0): number {
  const scheduled = terminal ? LONGEST_COOL_DOWN_MS : min(SECOND * 2 ** max(0, count - 1), LONGEST_SCHEDULED_COOL_DOWN_MS);
  return min(max(scheduled, retryAfterMs), LONGEST_COOL_DOWN_MS);
}

/** Milliseconds that a cool-down still runs; 0 when it is over. One that ends further off than the longest there is was never written by this protocol. */
export function coolDownLeft(failure: Failure | undefined, now: number): number {
  const left = failure ? failure.retryAt - now : 0;
  return left > LONGEST_COOL_DOWN_MS + CLOCK_TOLERANCE_MS ? 0 : max(0, left);
}
