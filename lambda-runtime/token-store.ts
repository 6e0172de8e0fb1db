import type { Base, Failure, Lease, Meta, StoredToken, TokenItem } from './token-item';

/** The port to the table. Every operation is one request: what to do about a lost reply or throttling is decided by its caller. */
export interface TokenStore {
  /** Strongly consistent. */
  read(tokenId: string, signal: AbortSignal): Promise<TokenItem | undefined>;
  claim(tokenId: string, claim: Claim, signal: AbortSignal): Promise<WriteReply>;
  commit(tokenId: string, commit: Commit, signal: AbortSignal): Promise<WriteReply>;
  renew(tokenId: string, renewal: Renewal, signal: AbortSignal): Promise<WriteReply>;
  release(tokenId: string, release: Release, signal: AbortSignal): Promise<WriteReply>;
  /** What does not answer, while an operation is under way. @default the table */
  waitsFor?(): TableTrouble['where'];
}

/** `applied`: the condition held, and `item` is what the write made of it; else `item` is what stands there. */
export interface WriteReply {
  readonly applied: boolean;
  readonly item: TokenItem | undefined;
}

/** Set `lease`, if the item still is as it was seen: same token, same ended lease or none, same ended cool-down or none. */
export interface Claim {
  readonly lease: Lease;
  readonly base: Base;
  /** A lease that is over, and is taken over. */
  readonly ended: Pick<Lease, 'id' | 'until'> | undefined;
  /** A failure whose cool-down is over. */
  readonly endured: Pick<Failure, 'at' | 'count'> | undefined;
  /** Recorded with a takeover: the former holder died. */
  readonly failure: Failure | undefined;
  readonly expireAfter: number | undefined;
}

/** Store a new token and give the lease back. */
export interface Commit {
  /** `{ lease }`: if that lease is still ours. `{ base }`, the late commit: if no other token was stored since; another's lease is left alone. */
  readonly onlyIf: { readonly lease: string } | { readonly base: Base };
  readonly token: Omit<StoredToken, 'generation'>;
  /** `undefined`: the stored one stays. `null`: it is of another provider, and goes. */
  readonly refreshToken: string | null | undefined;
  /** The refresh token is the stored one, to be encrypted: only if it still is. */
  readonly isSameRefreshToken?: boolean | undefined;
  readonly refreshMs: number;
  /** The provider's answer was of no use (the same token again, or one already expired): stored, but the next refresh waits. */
  readonly failure: Failure | undefined;
  /** When this attempt's own failure was recorded, if one was: one that was recorded later is another attempt's, and outlasts a late commit. */
  readonly failedAt?: number | undefined;
  /** Leave the stored failure as it is. */
  readonly keepsFailure?: boolean;
  /** Entries of `meta` that change, `null` for one that goes; and whether the map is there. */
  readonly meta: { readonly entries: Meta | { readonly [N in keyof Meta]: Meta[N] | null }; readonly exists: boolean } | undefined;
  /** `undefined`: the item must outlive everything, so that no time to live deletes the only credential. */
  readonly expireAfter: number | undefined;
}

/** Move the end of a lease that is still ours. */
export interface Renewal {
  readonly lease: string;
  readonly until: number;
}

/** Give the lease back without a token. */
export interface Release {
  readonly lease: string;
  /** Recorded only if the token is still the one that was claimed: a healthy newer one gets no failure. With it what can be saved of an answer that was of no use. */
  readonly failure?: { readonly failure: Failure; readonly base: Base; readonly refreshToken?: string | undefined } | undefined;
}

/** The table, or the key, did not answer, or asked for patience: whether the request was applied is unknown unless `throttled`, which says that it was not. */
export class TableTrouble extends Error {
  constructor(readonly throttled: boolean, cause: unknown, readonly where: 'table' | 'key' = 'table') {
    super(throttled ? 'The table throttles' : `The ${where} could not be reached`, { cause });
  }
}

/** Errors of replies whose write was applied. */
const appliedAllTheSame = new WeakSet<object>();

/** Reads the reply of a write that was applied: where it cannot be used, that must not be forgotten. */
export async function afterWrite<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    appliedAllTheSame.add(error as Error);
    throw error;
  }
}

export function wasApplied(error: unknown): boolean {
  return appliedAllTheSame.has(Object(error) as object);
}
