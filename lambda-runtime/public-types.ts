import type { RefreshAsk } from '../src/private/contract';

export type { RefreshAsk };

/** What `refresh` is given. */
export interface RefreshRequest {
  /** The id of the token to fetch. */
  readonly tokenId: string;
  /** Aborted when the auth limit is reached: pass it on to `fetch`. */
  readonly signal: AbortSignal;
  /** The newest refresh token, where an earlier answer had one. */
  readonly refreshToken?: string | undefined;
}

/** What `refresh` answers. */
export interface RefreshResult {
  /** The token: a non-empty string; with the refresh token at most 390 KB. */
  readonly accessToken: string;
  /**
   * Seconds that the token lives, counted by the provider: a number or a numeric string, as OAuth's `expires_in`.
   *
   * @default - only a rejection ends the token
   */
  readonly expiresIn?: number | string | undefined;
  /**
   * The moment it expires, in milliseconds since the epoch or as a `Date`. Give this or `expiresIn`.
   *
   * @default - only a rejection ends the token
   */
  readonly expiresAt?: number | Date | undefined;
  /**
   * A new refresh token.
   *
   * @default - absent, null or empty: the stored one is kept
   */
  readonly refreshToken?: string | null | undefined;
}

/**
 * Makes the one request to the provider's auth endpoint: at most one at a time among all instances, as long as each keeps to its lease. A request with a
 * refresh token that got no answer in half of its limit is made once more, where that half is at least twice what a refresh usually takes (2 s until one was
 * measured).
 *
 * Throw a `RefreshError` to pass on the provider's error code and `Retry-After`; anything else that is thrown counts as a failure that may pass.
 */
export type Refresh = (request: RefreshRequest) => Promise<RefreshResult>;

/** The part of a Lambda context that is used. */
export interface InvocationContext {
  /** For people: shown as the holder of a lease. */
  readonly awsRequestId?: string | undefined;
  /** Milliseconds until the function times out. */
  getRemainingTimeInMillis(): number;
}

/** Options of one call. */
export interface CallOptions {
  /**
   * The invocation's context. The call then ends before the function's timeout does, by 10 % of the remaining time and at most 0.5 s.
   *
   * @default - the function's timeout, which `attachTo` puts into the environment, counts from the call
   */
  readonly context?: InvocationContext | undefined;
  /** Ends this caller's wait. A request already sent to the provider goes on: its answer belongs to everybody. */
  readonly signal?: AbortSignal | undefined;
  /**
   * The longest that this call may take, in milliseconds.
   *
   * @default 30_000, or what the invocation has left
   */
  readonly timeoutMs?: number | undefined;
}

/** Options of `refresh`. */
export interface ForcedRefreshOptions extends CallOptions {
  /**
   * The moment of the event that asks, as a `Date`, in milliseconds since the epoch or as ISO 8601 text: a token issued since makes the refresh needless.
   * Give a schedule's own time, so that a run that is repeated or late asks the provider no second time. A moment to come counts as now; one before 1973
   * (epoch seconds) is refused.
   *
   * @default - now
   */
  readonly since?: Date | number | string | undefined;
  /**
   * What a reader reports who has no usable token: then one is fetched only where that is due. It is where the stored token is the one that the reader names and
   * not too young to be given up, is about to expire, came from another `source`, or is missing.
   *
   * @default - fetched in any case
   */
  readonly asked?: RefreshAsk | undefined;
}

/** Options of `use`. */
export interface UseOptions<T> extends CallOptions {
  /**
   * Tells a rejection from any other outcome.
   *
   * @default - 401 as `status`, `statusCode` or `$metadata.httpStatusCode` of the value or error, or of its `response`
   */
  readonly isRejection?: ((outcome: { readonly value: T } | { readonly error: unknown }) => boolean) | undefined;
}

/** Options of a `SharedToken`. */
export interface SharedTokenOptions {
  /**
   * Fetches a new token.
   *
   * @default - this function only reads, and some other one refreshes
   */
  readonly refresh?: Refresh | undefined;
  /**
   * Without `refresh`: name or ARN of the Lambda function that is asked when there is no usable token.
   *
   * @default - what the variable `SHARED_TOKEN_REFRESHERS` says of this token, which a refresher's `attachTo` sets; else none is asked
   */
  readonly refresher?: string | undefined;
  /**
   * Names what `refresh` asks, as `provider#settings`: say `auth.example.com#orders.read`. A stored token that came from another source is fetched anew by the next
   * call of `refresh()`, though it works. A stored refresh token of another provider (what stands before the `#`) is neither passed to `refresh` nor kept.
   *
   * @default - tokens of all sources count as the same
   */
  readonly source?: string | undefined;
  /**
   * Table name or ARN; and, where the tokens in it are encrypted, `#` and the ARN of the key.
   *
   * @default - the variable `SHARED_TOKEN_TABLE`, which `attachTo` sets
   */
  readonly table?: string | undefined;
  /**
   * Limit of one refresh, in milliseconds. With a stored refresh token each of two tries gets half of it, where that is at least twice what a refresh usually
   * takes. Above 15 minutes the lease is renewed meanwhile.
   *
   * @default 10_000, or what the call's deadline leaves after a margin for the commit
   */
  readonly authLimitMs?: number | undefined;
  /** Told what happens, without any token: for logs, metrics and timelines. What it throws is ignored. */
  readonly onEvent?: ((event: SharedTokenEvent) => void) | undefined;
}

/** One step of the protocol, as told to `onEvent`. Contains no token. */
export interface SharedTokenEvent {
  readonly type:
    /** the item was read; with `generation` */
    | 'read'
    /** the lease is ours; with `leaseId`, `until`, `takeover` */
    | 'claimed'
    /** nothing is to be done before `until`: another holds the lease (`leaseId`), a cool-down runs, or the table throttles */
    | 'waiting'
    /** the auth request goes out; with `leaseId` */
    | 'refreshing'
    /** the auth request has ended; with `leaseId`, and with `code` where it failed or got no answer in time */
    | 'refreshed'
    /** the new token is stored; with `generation` */
    | 'committed'
    /** a token that was not fetched here is in use here now; with `generation` */
    | 'adopted'
    /** the lease is given back without a token; with `leaseId`, and `code` says why */
    | 'released'
    /** the refresher was asked; with the `generation` of the token that the API refused, if it did; and, when that failed, with the `code` of the failure */
    | 'asked'
    /** the API refused the token of `generation`; with the code `TOO_YOUNG` where that is not believed yet (the storm guard) */
    | 'rejected';
  readonly tokenId: string;
  /** Milliseconds since the epoch, by the instance's own clock. */
  readonly at: number;
  /** Of the stored token: 1, 2, 3 ... */
  readonly generation?: number | undefined;
  /** A UUID, new with each attempt to refresh. */
  readonly leaseId?: string | undefined;
  /** Did another holder's lease end without an answer? */
  readonly takeover?: boolean | undefined;
  /** Milliseconds since the epoch: for `waiting` by the own clock, for `claimed` by the table's. */
  readonly until?: number | undefined;
  /** Why: a code of `SharedTokenError`, or of the provider's. */
  readonly code?: string | undefined;
}
