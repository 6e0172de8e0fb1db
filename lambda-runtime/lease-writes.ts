import { toFailure } from './refresh-failure';
import type { FreshToken } from './refresh-result';
import { providerOf } from './source-name';
import { expireAfter, LEASE_GRACE_MS, LONGEST_USUAL_REFRESH_MS, smoothRefreshMs, usableUntil } from './timing';
import type { Failure, Lease, Meta, TokenItem } from './token-item';
import type { Claim, Commit } from './token-store';

/*
 * What the holder of a lease writes, as pure functions of what it knows.
 */

export function claimOf(lease: Lease, item: TokenItem | undefined, forced: boolean): Claim {
  const { base, lease: ended, failure: endured } = item ?? {};
  return { lease, base, ended, endured, failure: ended && formerHolderDied(lease, endured, forced), expireAfter: expireAfterClaim(lease, item) };
}

/** A holder that dies each time must not be a crash loop on the provider: the pause after this lease grows with each takeover in a row. */
function formerHolderDied({ since, until }: Lease, previous: Failure | undefined, forced: boolean): Failure {
  return { ...toFailure({ code: 'HOLDER_DIED' }, previous, until + LEASE_GRACE_MS, forced), at: since };
}

/** Keeps a deletion by time to live away from the lease. An item that lives for ever gets none: its refresh token may be the only credential. */
function expireAfterClaim({ until }: Lease, item: TokenItem | undefined): number | undefined {
  if (item && item.expireAfter === undefined) return undefined;
  return Math.max(item?.expireAfter ?? 0, expireAfter(until));
}

/** What a holder knows after its claim. */
export interface Holding {
  readonly lease: Lease;
  /** What the claim returned: the snapshot to work from, refresh token included. */
  readonly claimed: TokenItem | undefined;
  /** A refresh token that this process was issued and could not store yet: it is newer than the stored one. */
  readonly carried: string | undefined;
  /** The storm guard's count, this refresh included. */
  readonly earlyRejections: number;
  /** When its failure was recorded, if one was. */
  readonly failedAt?: number | undefined;
  /** Nobody needed this refresh: see {@link Failure.forced}. */
  readonly forced: boolean;
  /** What the answer came from, where that has a name. */
  readonly source: string | undefined;
}

/** A provider's answer. */
export interface Answer extends FreshToken {
  readonly tookMs: number;
}

/** A refresh token is of the provider that issued it, and of no use to another one. */
export function refreshTokenFor(source: string | undefined, item: TokenItem | undefined): string | undefined {
  const stored = item?.meta?.source;
  const isOfAnother = source !== undefined && stored !== undefined && providerOf(source) !== providerOf(stored);
  return isOfAnother ? undefined : item?.refreshToken;
}

/** The late commit: it asks for the token that was claimed, not for the lease. */
export function commitOf(holding: Holding, answer: Answer, now: number): Commit {
  const { lease, claimed, carried, failedAt, forced, source } = holding;
  const { accessToken, issuedAt, expiresAt, tookMs } = answer;
  const kept = refreshTokenFor(source, claimed);
  const isKept = kept === claimed?.refreshToken;
  const fresh = answer.refreshToken ?? carried;
  const isSameRefreshToken = fresh === undefined && isKept && claimed?.isToEncrypt;
  const refreshToken = fresh ?? (isSameRefreshToken ? kept : isKept ? undefined : null);
  const { base, refreshMs } = claimed ?? {};
  const keepsForEver = expiresAt === undefined || (refreshToken ?? kept);
  return {
    onlyIf: { base },
    token: { accessToken, issuedAt, expiresAt },
    refreshToken,
    ...(isSameRefreshToken && { isSameRefreshToken }),
    refreshMs: smoothRefreshMs(refreshMs, Math.min(tookMs, LONGEST_USUAL_REFRESH_MS)),
    failedAt,
    failure: pauseAfter(answer, claimed, now, forced),
    meta: metaAfter(holding, claimed?.meta),
    expireAfter: keepsForEver ? undefined : expireAfter(Math.max(expiresAt, lease.until)),
  };
}

/** The same, where the refresh token is to stay as it is stored. */
export function withoutSameRefreshToken(commit: Commit): Commit {
  return commit.isSameRefreshToken ? { ...commit, refreshToken: undefined, isSameRefreshToken: undefined } : commit;
}

/** The entries that change. */
function metaAfter({ earlyRejections, source }: Holding, known: Meta | undefined): Commit['meta'] {
  const entries = {
    earlyRejections: earlyRejections === (known?.earlyRejections ?? 0) ? undefined : earlyRejections,
    source: source === known?.source ? undefined : source ?? null,
  };
  const isChanged = entries.earlyRejections !== undefined || entries.source !== undefined;
  return isChanged ? { entries, exists: known !== undefined } : undefined;
}

/** A pause that a later attempt was told to make is not over because an earlier answer is stored at last. */
export function failureSince({ failedAt, token }: Pick<Commit, 'failedAt' | 'token'>, item: TokenItem | undefined): Failure | undefined {
  return item?.failure && item.failure.at > (failedAt ?? token.issuedAt) ? item.failure : undefined;
}

/** The same token again, or one that is over on arrival: stored, but nobody asks again at once. */
function pauseAfter(answer: Answer, claimed: TokenItem | undefined, now: number, forced: boolean): Failure | undefined {
  const isSame = answer.accessToken === claimed?.token?.accessToken;
  const isOver = now >= usableUntil(answer);
  if (!isSame && !isOver) return undefined;
  return toFailure({ code: isSame ? 'SAME_TOKEN' : 'EXPIRED_ON_ARRIVAL' }, claimed?.failure, now, forced && !isOver);
}
