import { refreshTokenOf, SharedTokenError } from './errors';
import { type Deadline, deadlineIn, LIMIT_REACHED, withLimit } from './host';
import { type Answer, claimOf, commitOf, refreshTokenFor, withoutSameRefreshToken } from './lease-writes';
import type { Refresh, RefreshResult } from './public-types';
import { type FailedHow, failureOf, type RefreshFailure, toFailure } from './refresh-failure';
import { refreshTokenToSave, validateRefreshResult } from './refresh-result';
import { authLimit, commitMargin, LEFT_ALONE_LIMIT_MS, LONGEST_LEASE_MS, SAVE_LIMIT_MS, timeEnoughToReplay } from './timing';
import { tokenError } from './token-error';
import { type Failure, isSameBase, type Lease, type TokenItem } from './token-item';
import type { TokenMeans } from './token-keeper';
import { type Commit, TableTrouble, wasApplied } from './token-store';
import { isTokenOf, type Requester } from './token-table';

/** What one refresh needs beside what belongs to its token. */
export interface RefreshMeans extends TokenMeans, Requester {
  readonly refresh: Refresh;
  /** The configured limit of an auth request. */
  readonly authLimitMs: number | undefined;
  /** What it asks, where that has a name. */
  readonly source: string | undefined;
  /** For people: which function and request this is. */
  readonly holder: string;
  /** How long to try to claim. */
  readonly claimTimeLeft: Deadline;
  /** The present token works: this refresh was asked for all the same, and its failure keeps nobody from one that is needed. */
  readonly forced: boolean;
  /** Aborted when everyone left: nothing more is claimed or sent. What was sent is still stored. */
  readonly stop: AbortSignal;
}

/**
 * `refreshed`: the provider's answer is in use and stored, or something newer is. `settled`: nothing was sent; memory holds what the table says, decide again.
 * `throttled`: the claim was; look rather than claim. A failure: of the request, or of storing its answer, which this process uses all the same.
 */
export type RefreshOutcome = 'refreshed' | 'settled' | 'throttled' | RefreshFailure;

export interface LeaseHolder {
  run(): Promise<RefreshOutcome>;
  /** Lost to time: the flight that holds such a lease takes no new callers. */
  isOver(): boolean;
}

/**
 * One refresh under a lease: claim, check the clocks, send, commit or release.
 *
 * It may outlive the calls that wait for it: an answer that comes late is still stored, if nothing newer was.
 */
export function leaseHolder(means: RefreshMeans): LeaseHolder {
  const { tokenId, host, clock, table, memory, tell, stop } = means;
  const timeLeftMs = means.timeLeft();
  const limitMs = Math.floor(authLimit(timeLeftMs, means.authLimitMs));
  const neededMs = Math.ceil(limitMs + commitMargin(timeLeftMs));
  const leaseMs = Math.min(neededMs, LONGEST_LEASE_MS);
  // By both clocks, counted from the start of the first attempt to claim.
  let leaseLeft = deadlineIn(clock, leaseMs);
  const since = Math.round(clock.now());
  const claimedAt = host.monotonic();
  const lease: Lease = { id: host.uuid(), since, until: since + leaseMs, holder: means.holder };
  const leaseId = lease.id;
  const earlyRejections = memory.earlyRejections();
  let claimed: TokenItem | undefined;
  /** What is being stored, or may have been; a later answer waits for that, to know what it replaces. */
  let stored: Commit | undefined;
  let storing: Promise<unknown> = Promise.resolve();
  /** A refresh token that this process was issued and could not store: newer than the claimed one. */
  let carried: string | undefined;
  /** Was another token stored between the claim and its lost reply? Then nobody needs this refresh. */
  let isOutdated = false;
  /** The new refresh token of an answer that is of no use otherwise. */
  let saved: string | undefined;
  /** When a failure was recorded. */
  let failedAt: number | undefined;
  /** What the claim recorded, if it was a takeover. */
  let tookOver: Failure | undefined;

  const run = async (): Promise<RefreshOutcome> => {
    const lost = await claim();
    if (lost) return lost;
    if (leaseLeft() >= Math.min(limitMs, leaseMs) / 2 && !isOutdated && !stop.aborted) return sendAndStore();
    // A freeze in between must not send a request that outlives its lease; a slow claim only shortens it. The provider was not asked, so nobody has to
    // wait for it; that a former holder died is still counted.
    await release('NOT_SENT', tookOver && { ...tookOver, retryAt: 0 });
    return 'settled';
  };

  /** The same claim is sent until the item shows it or something newer: it may have been applied though its reply was lost. */
  const claim = async (): Promise<'settled' | 'throttled' | undefined> => {
    const request = claimOf(lease, memory.item, means.forced);
    try {
      const { applied, item } = await table.claim(request, { tell, timeLeft: means.claimTimeLeft, stop, throttled: 'throw' });
      if (!applied && item?.lease?.id !== leaseId) return 'settled';
      carried = memory.unsaved?.refreshToken ?? undefined;
      claimed = item;
      isOutdated = !isSameBase(request.base, item?.base);
      if (!isOutdated) tookOver = request.failure;
    } catch (error) {
      if (error instanceof TableTrouble) return 'throttled';
      if (wasApplied(error) && error instanceof SharedTokenError) {
        // A refresh token that is none or cannot be decrypted is seen in this reply alone. Nobody shall wait for the lease.
        claimed = memory.item;
        await release(error.code, failureToRecord(error));
      }
      throw error;
    }
    tell('claimed', { leaseId, until: lease.until, takeover: request.ended !== undefined });
    return undefined;
  };

  const sendAndStore = async (): Promise<RefreshOutcome> => {
    const isOver = new AbortController();
    // If that fails, the request goes on all the same, and its answer is committed late.
    if (leaseMs < neededMs) keepRenewing(isOver.signal).catch(() => undefined);
    try {
      const answer = await send();
      isOver.abort();
      if (answer !== LIMIT_REACHED) {
        const outcome = store(answer);
        storing = outcome;
        return await outcome;
      }
      throw tokenError(tokenId, 'REFRESH_TIMED_OUT', `refresh did not answer within ${limitMs} ms. ` +
        'Pass `signal` on to fetch, and see whether the auth endpoint can be reached.');
    } catch (error) {
      isOver.abort();
      const failure = failureOf(tokenId, error, clock.now());
      tell('refreshed', { leaseId, code: failure.code });
      await release(failure.code, failureToRecord(failure));
      return failure;
    }
  };

  const failureToRecord = (how: FailedHow): Failure => {
    failedAt = Math.round(clock.now());
    return toFailure(how, claimed?.failure, failedAt, means.forced);
  };

  /** For an auth limit above the longest lease, a person who logs in: the end of the lease is moved while the request is under way, never after it. */
  const keepRenewing = async (isOver: AbortSignal): Promise<void> => {
    for (let isMine = true; isMine;) {
      await host.sleep(leaseLeft() - leaseMs / 2, isOver);
      if (isOver.aborted) return;
      const renewedLeft = deadlineIn(clock, leaseMs);
      const until = Math.round(clock.now()) + leaseMs;
      isMine = (await table.renew({ lease: leaseId, until }, { tell, timeLeft: leaseLeft, stop: isOver })).applied;
      if (isMine) leaseLeft = renewedLeft;
    }
  };

  /**
   * A rotating refresh token is used up even if its answer is lost: within the lease it is replayed once, where there is time for both, and most providers grant
   * that. An answer to the first request that comes during the replay counts only if the replay brings none: the replay's is the newer one, and may have ended the other.
   */
  const send = async (): Promise<Answer | typeof LIMIT_REACHED> => {
    const ms = leaseMs < neededMs ? limitMs : Math.min(limitMs, leaseLeft());
    if (!refreshToken() || !timeEnoughToReplay(ms, claimed?.refreshMs)) return request(ms, storeLate);
    let isReplaying = false;
    let late: Answer | undefined;
    const first = await request(ms / 2, answer => {
      if (isReplaying) late = answer;
      else storeLate(answer);
    });
    if (first !== LIMIT_REACHED || stop.aborted || leaseLeft() < Math.min(ms, leaseMs) / 2) return first;
    isReplaying = true;
    try {
      const second = await request(ms / 2, storeLate);
      return second === LIMIT_REACHED ? late ?? second : second;
    } catch (error) {
      if (late) return late;
      throw error;
    } finally {
      isReplaying = false;
    }
  };

  const request = async (ms: number, onLate: (answer: Answer) => void): Promise<Answer | typeof LIMIT_REACHED> => {
    const sentAt = host.monotonic();
    // By the table's time at the claim and the monotonic clock since: a wall clock that jumps cannot make an older answer look newer.
    const issuedAt = since + Math.round(sentAt - claimedAt);
    tell('refreshing', { leaseId });
    return withLimit({ host, ms, onLate }, async signal => {
      let result: RefreshResult | undefined;
      try {
        result = await means.refresh({ tokenId, signal, refreshToken: refreshToken() });
        return { ...validateRefreshResult(tokenId, result, issuedAt), tookMs: host.monotonic() - sentAt };
      } catch (error) {
        saved = refreshTokenToSave(() => refreshTokenOf(error) ?? result?.refreshToken);
        throw error;
      }
    });
  };

  const refreshToken = () => carried ?? refreshTokenFor(means.source, claimed);

  const lateCommitOf = (answer: Answer) => withoutSameRefreshToken(wholeCommitOf(answer));

  const wholeCommitOf = (answer: Answer) =>
    commitOf({ lease, claimed, carried, earlyRejections, failedAt, forced: means.forced, source: means.source }, answer, Math.round(clock.now()));

  /** The provider has issued it: so it is used from now on, and stored as soon as the table takes it, if not now then with a later call. */
  const store = async (answer: Answer): Promise<RefreshOutcome> => {
    tell('refreshed', { leaseId });
    const whole = wholeCommitOf(answer);
    const late = withoutSameRefreshToken(whole);
    stored = late;
    memory.applyUnsaved(late);
    const soon = deadlineIn(host, LEFT_ALONE_LIMIT_MS);
    const by = { tell, timeLeft: () => stop.aborted ? Math.min(means.timeLeft(), soon()) : means.timeLeft() };
    try {
      const mine = { onlyIf: { lease: leaseId } };
      const isStored = (whole !== late && await commit({ ...whole, ...mine }, by)) // else the refresh token to encrypt is not the stored one any more
        || await commit({ ...late, ...mine }, by);
      if (!isStored) await commit(late, by);
    } catch (error) {
      if (!(error instanceof SharedTokenError)) throw error;
      // What the table refuses for good, others shall not fetch again at once.
      if (error.code !== 'TABLE_UNAVAILABLE') await release(error.code, failureToRecord(error));
      return failureOf(tokenId, error, clock.now());
    }
    return 'refreshed';
  };

  /** Is the token stored? Then it is what a later answer to a request of ours replaces. */
  const commit = async (what: Commit, by: Requester): Promise<boolean> => {
    const { applied, item } = await table.commit(what, by);
    const isStored = applied || isTokenOf(item, what);
    if (isStored || (stored && isTokenOf(item, stored))) claimed = item;
    return isStored;
  };

  const isPassed = ({ issuedAt }: Answer) => (memory.item?.token?.issuedAt ?? 0) > issuedAt;

  /** The answer of a request that was given up. No timer waits for it; if it comes, it is a credential that must not be lost. */
  const storeLate = (answer: Answer): void => {
    if (isPassed(answer)) return;
    memory.applyUnsaved(lateCommitOf(answer));
    void storing.then(async () => {
      let replaced: TokenItem | undefined;
      do {
        if (isPassed(answer)) return;
        replaced = claimed;
        const late = lateCommitOf(answer);
        memory.applyUnsaved(late);
        if (await commit(late, { tell, timeLeft: deadlineIn(host, SAVE_LIMIT_MS) })) return;
      } while (claimed !== replaced); // an earlier answer of ours was stored, and its reply lost
    }).catch(() => undefined); // tried again with the next call
  };

  /** Losing the race for the lease is fine: then it is somebody else's to give back. If the table does not answer, the lease ends by itself. */
  const release = async (code: string, failure?: Failure): Promise<void> => {
    try {
      const recorded = failure && { failure, base: claimed?.base, refreshToken: saved };
      const { applied, item } = await table.release({ lease: leaseId, failure: recorded }, means);
      // A newer token was stored under this lease, late, by a former holder: it is healthy, so there is no failure to record.
      if (!applied && item?.lease?.id === leaseId) await table.release({ lease: leaseId }, means);
      tell('released', { leaseId, code });
    } catch (error) {
      if (!(error instanceof SharedTokenError)) throw error;
      // What was to be saved may be what the table refuses; that the refresh failed is told to all the same.
      if (saved === undefined || error.code === 'TABLE_UNAVAILABLE') return;
      saved = undefined;
      await release(code, failure);
    }
  };

  return { run, isOver: () => leaseLeft() <= 0 };
}
