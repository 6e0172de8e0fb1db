/** What `refresh` is given. */
export interface RefreshRequest {
  readonly tokenId: string;
  /** Aborted when the auth limit is reached: pass it on to `fetch`. */
  readonly signal: AbortSignal;
  /** The stored refresh token, where an earlier answer had one. */
  readonly refreshToken?: string | undefined;
}

/** What `refresh` answers. */
export interface RefreshResult {
  readonly accessToken: string;
  /** Seconds that the token lives, counted by the provider; a number or a numeric string, as `expires_in` of OAuth 2. Absent: only a rejection ends the token. */
  readonly expiresIn?: number | string | undefined;
  /** The moment it expires, in milliseconds since the epoch or as a `Date`. Give this or `expiresIn`. */
  readonly expiresAt?: number | Date | undefined;
  /** A new refresh token. Absent, null or empty: the stored one is kept. */
  readonly refreshToken?: string | null | undefined;
}

/** Makes the one request to the provider's auth endpoint. Called by at most one instance at a time. */
export type Refresh = (request: RefreshRequest) => Promise<RefreshResult>;

/** The part of a Lambda context that is used. */
export interface InvocationContext {
  readonly awsRequestId?: string | undefined;
  getRemainingTimeInMillis(): number;
}

/** Options of one call. */
export interface CallOptions {
  /** The invocation's context: the call ends before the function's timeout does. */
  readonly context?: InvocationContext | undefined;
  /** Ends this caller's wait. A request already sent to the provider goes on: its answer belongs to everybody. */
  readonly signal?: AbortSignal | undefined;
  /** The longest that this call may take, in milliseconds. Default: 30,000, or what the invocation has left. */
  readonly timeoutMs?: number | undefined;
}

/** Options of `use`. */
export interface UseOptions<T> extends CallOptions {
  /** Tells a rejection from any other outcome. Default: a value or error whose `status`, `statusCode` or `response.status` is 401. */
  readonly isRejection?: ((outcome: { readonly value: T } | { readonly error: unknown }) => boolean) | undefined;
}

/** Options of a `SharedToken`. */
export interface SharedTokenOptions {
  /** Fetches a new token. Absent: this function only reads, and some other one refreshes. */
  readonly refresh?: Refresh | undefined;
  /** Table name or ARN. Default: the variable `SHARED_TOKEN_TABLE`, which `attachTo` sets. */
  readonly table?: string | undefined;
  /** The longest that one auth request may take, in milliseconds. Default: 10,000, or less where the function's timeout leaves less. */
  readonly authLimitMs?: number | undefined;
  /** Told what happens, without any token: for logs, metrics and timelines. What it throws is ignored. */
  readonly onEvent?: ((event: SharedTokenEvent) => void) | undefined;
}

/** One step of the protocol, as told to `onEvent`. Contains no token. */
export interface SharedTokenEvent {
  readonly type:
    /** the item was read */
    | 'read'
    /** the lease is ours; `takeover` says that it was another's, who did not finish */
    | 'claimed'
    /** another holds the lease: waiting until `until` before the next look */
    | 'waiting'
    /** the auth request goes out */
    | 'refreshing'
    /** the auth request was answered */
    | 'refreshed'
    /** the new token is stored */
    | 'committed'
    /** a token that another instance stored is in use here now */
    | 'adopted'
    /** the lease was given back without a token; `code` says why */
    | 'released'
    /** the token of `generation` was refused by the API */
    | 'rejected';
  readonly tokenId: string;
  /** Milliseconds since the epoch, by the instance's own clock. */
  readonly at: number;
  readonly generation?: number | undefined;
  readonly leaseId?: string | undefined;
  readonly takeover?: boolean | undefined;
  readonly until?: number | undefined;
  readonly code?: string | undefined;
}
