import { SharedTokenError } from './errors';
import type { Tell } from './events';
import { type Deadline, type Host, LIMIT_REACHED, type TableClock, timeLeft, withLimit } from './host';
import type { Refresh, RefreshResult } from './public-types';
import { failureOf, type RefreshFailure, toFailure } from './refresh-failure';
import { type FreshToken, validateRefreshResult } from './refresh-result';
import { authLimit, commitMargin, expireAfter, LEASE_GRACE_MS, smoothRefreshMs, usableUntil } from './timing';
import type { Failure, Lease, TokenItem } from './token-item';
import type { TokenMemory } from './token-memory';
import { type Claim, type Commit, TableTrouble } from './token-store';
import { isTokenOf, type TokenTable } from './token-table';

/** What one refresh needs. */
export interface RefreshMeans {
  readonly tokenId: string;
  readonly host: Host;
  readonly clock: TableClock;
  readonly table: TokenTable;
  readonly memory: TokenMemory;
  readonly refresh: Refresh;
  /** The configured limit of an auth request. */
  readonly authLimitMs: number | undefined;
  /** For people: which function and request this is. */
  readonly holder: string;
  readonly deadline: () => Deadline;
  readonly tell: Tell;
}

/** `settled`: memory holds what the table says now, decide again from it. `throttled`: the claim was, so look rather than claim. */
export type RefreshOutcome = 'settled' | 'throttled' | RefreshFailure;

/**
 * One refresh under a lease: claim, check the clocks, send, commit or release.
 *
 * It may outlive the calls that wait for it: an answer that comes late is still stored, if nothing newer was.
 */
export class LeaseHolder {
  private readonly lease: Lease;
  private readonly authLimitMs: number;
  private readonly leaseMs: number;
  private readonly claimedAt: Deadline;
  private readonly before: TokenItem | undefined;
  private readonly earlyRejections: number;
  /** What the claim returned: the snapshot to work from, refresh token included. */
  private claimed: TokenItem | undefined;

  constructor(private readonly means: RefreshMeans) {
    const { host, clock, memory } = means;
    const left = timeLeft(host, means.deadline());
    this.authLimitMs = Math.floor(authLimit(left, means.authLimitMs));
    this.leaseMs = Math.ceil(this.authLimitMs + commitMargin(left));
    this.claimedAt = { wall: clock.now(), monotonic: host.monotonic() };
    const since = Math.round(this.claimedAt.wall);
    this.lease = { id: host.uuid(), since, until: since + this.leaseMs, holder: means.holder };
    this.before = memory.item;
    this.earlyRejections = memory.earlyRejections();
  }

  async run(): Promise<RefreshOutcome> {
    const claim = await this.claim();
    if (claim !== 'won') return claim;
    if (!this.leaseCoversTheAuthRequest()) {
      await this.release('LEASE_TOO_OLD', undefined);
      return 'settled';
    }
    return this.sendAndStore();
  }

  /** Lost to time: the flight that holds such a lease takes no new callers. */
  isOver(): boolean {
    return this.ageMs() >= this.leaseMs;
  }

  // --- claim ------------------------------------------------------------------------------------------------------------------------------

  /** The same claim is sent until the item shows it or something newer: it may have been applied though its reply was lost. */
  private async claim(): Promise<'won' | 'settled' | 'throttled'> {
    const { table, tell, deadline } = this.means;
    const claim = this.claimOf(this.before);
    try {
      const reply = await table.claim(claim, { deadline, throttled: 'throw' });
      if (!reply.applied && reply.item?.lease?.id !== this.lease.id) return 'settled';
      this.claimed = reply.item;
    } catch (error) {
      if (error instanceof TableTrouble) return 'throttled';
      throw error;
    }
    tell('claimed', { leaseId: this.lease.id, until: this.lease.until, takeover: claim.ended !== undefined });
    return 'won';
  }

  private claimOf(item: TokenItem | undefined): Claim {
    const { lease: ended, failure: endured } = item ?? {};
    return {
      lease: this.lease,
      base: item?.base,
      ended,
      endured,
      failure: ended && this.formerHolderDied(endured),
      expireAfter: this.expireAfterClaim(item),
    };
  }

  /** A holder that dies each time must not be a crash loop on the provider: the pause after this lease grows with each takeover in a row. */
  private formerHolderDied(previous: Failure | undefined): Failure {
    const died = toFailure({ code: 'HOLDER_DIED', terminal: false, retryAfterMs: 0 }, previous, this.lease.until + LEASE_GRACE_MS);
    return { ...died, at: this.lease.since };
  }

  /** Keeps a deletion by time to live away from the lease. An item that lives for ever gets none: its refresh token may be the only credential. */
  private expireAfterClaim(item: TokenItem | undefined): number | undefined {
    const lease = expireAfter(this.lease.until);
    if (item?.expireAfter !== undefined) return Math.max(item.expireAfter, lease);
    return item?.base === undefined ? lease : undefined;
  }

  // --- send -------------------------------------------------------------------------------------------------------------------------------

  /** Both clocks, counted from the start of the first attempt to claim: a freeze in between must not send a request that outlives its lease. */
  private leaseCoversTheAuthRequest(): boolean {
    return this.ageMs() + this.authLimitMs <= this.leaseMs;
  }

  private ageMs(): number {
    const { host, clock } = this.means;
    return Math.max(clock.now() - this.claimedAt.wall, host.monotonic() - this.claimedAt.monotonic);
  }

  private async sendAndStore(): Promise<RefreshOutcome> {
    const { tokenId, clock, tell } = this.means;
    let failure: RefreshFailure;
    try {
      const fresh = await this.send();
      if (fresh !== LIMIT_REACHED) return await this.store(fresh);
      failure = failureOf(tokenId, new SharedTokenError('REFRESH_TIMED_OUT', `Token "${tokenId}": refresh did not answer within ${this.authLimitMs} ms. ` +
        'The stored token was left as it was. Pass `signal` on to fetch, and see whether the auth endpoint can be reached.', { tokenId }), clock.now());
    } catch (error) {
      failure = failureOf(tokenId, error, clock.now());
    }
    tell('refreshed', { leaseId: this.lease.id, code: failure.code });
    await this.release(failure.code, toFailure(failure, this.claimed?.failure, Math.round(clock.now())));
    return failure;
  }

  /** A rotating refresh token is used up even if its answer is lost: within the lease it is replayed once, and providers grant that. */
  private async send(): Promise<Answer | typeof LIMIT_REACHED> {
    if (this.claimed?.refreshToken === undefined) return this.request(this.authLimitMs);
    const first = await this.request(this.authLimitMs / 2);
    return first === LIMIT_REACHED ? this.request(this.authLimitMs / 2) : first;
  }

  private async request(limitMs: number): Promise<Answer | typeof LIMIT_REACHED> {
    const { tokenId, host, clock, refresh, tell } = this.means;
    const issuedAt = Math.round(clock.now());
    const sentAt = host.monotonic();
    tell('refreshing', { leaseId: this.lease.id });
    return withLimit({ host, ms: limitMs, onLate: answer => void this.storeLate(answer) }, async signal => {
      const result = await refresh({ tokenId, signal, refreshToken: this.claimed?.refreshToken });
      return this.check(result, issuedAt, sentAt);
    });
  }

  private check(result: RefreshResult, issuedAt: number, sentAt: number): Answer {
    return { ...validateRefreshResult(this.means.tokenId, result, issuedAt), tookMs: this.means.host.monotonic() - sentAt };
  }

  // --- commit -----------------------------------------------------------------------------------------------------------------------------

  private async store(answer: Answer): Promise<'settled'> {
    const { table, tell, deadline, memory } = this.means;
    tell('refreshed', { leaseId: this.lease.id });
    const commit = this.commitOf(answer, { lease: this.lease.id });
    const late: Commit = { ...commit, onlyIf: { base: this.claimed?.base } };
    try {
      const reply = await table.commit(commit, tell, { deadline });
      if (reply.applied || isTokenOf(reply.item, commit)) return 'settled';
      await table.commit(late, tell, { deadline });
    } catch (error) {
      if (!(error instanceof SharedTokenError) || error.code !== 'TABLE_UNAVAILABLE') throw error;
      // The provider has issued it, so it is used here, and stored as soon as the table answers again.
      memory.applyUnsaved(late);
    }
    return 'settled';
  }

  /** The answer of a request that was given up. No timer waits for it; if it comes, it is a credential that must not be lost. */
  private async storeLate(answer: Answer): Promise<void> {
    const { table, tell, memory, host } = this.means;
    const late = this.commitOf(answer, { base: this.claimed?.base });
    memory.unsaved = late;
    const once: Deadline = { wall: host.now() + 1_000, monotonic: host.monotonic() + 1_000 };
    try {
      await table.commit(late, tell, { deadline: () => once });
      if (memory.unsaved === late) memory.unsaved = undefined;
    } catch {
      // Tried again with the next call.
    }
  }

  private commitOf(answer: Answer, onlyIf: Commit['onlyIf']): Commit {
    const { claimed } = this;
    const { accessToken, issuedAt, expiresAt } = answer;
    const keepsForEver = expiresAt === undefined || (answer.refreshToken ?? claimed?.refreshToken) !== undefined;
    const known = claimed?.meta?.earlyRejections ?? 0;
    return {
      onlyIf,
      token: { accessToken, issuedAt, expiresAt },
      refreshToken: answer.refreshToken,
      refreshMs: smoothRefreshMs(claimed?.refreshMs, answer.tookMs),
      failure: this.pauseAfter(answer),
      earlyRejections: known === this.earlyRejections ? undefined : { count: this.earlyRejections, metaExists: claimed?.meta !== undefined },
      expireAfter: keepsForEver ? undefined : expireAfter(Math.max(expiresAt, this.lease.until)),
    };
  }

  /** The same token again, or one that is over on arrival: stored, but nobody asks again at once. */
  private pauseAfter({ accessToken, issuedAt, expiresAt }: Answer): Failure | undefined {
    const now = Math.round(this.means.clock.now());
    const isSame = accessToken === this.claimed?.token?.accessToken;
    if (!isSame && now < usableUntil({ accessToken, issuedAt, expiresAt, generation: 0 })) return undefined;
    return toFailure({ code: isSame ? 'SAME_TOKEN' : 'EXPIRED_ON_ARRIVAL', terminal: false, retryAfterMs: 0 }, this.claimed?.failure, now);
  }

  // --- release ----------------------------------------------------------------------------------------------------------------------------

  /** Losing the race for the lease is fine: then it is somebody else's to give back. If the table does not answer, the lease ends by itself. */
  private async release(code: string, failure: Failure | undefined): Promise<void> {
    const { table, tell, deadline } = this.means;
    const lease = this.lease.id;
    try {
      const reply = await table.release({ lease, failure: failure && { failure, base: this.claimed?.base } }, { deadline });
      // A newer token was stored under this lease, late, by a former holder: it is healthy, so there is no failure to record.
      if (!reply.applied && reply.item?.lease?.id === lease) await table.release({ lease }, { deadline });
      tell('released', { leaseId: lease, code });
    } catch (error) {
      if (!(error instanceof SharedTokenError)) throw error;
    }
  }
}

interface Answer extends FreshToken {
  readonly tookMs: number;
}
