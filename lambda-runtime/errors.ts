import { parseRetryAfter } from './retry-after';
import { isStorableCode, UNKNOWN_CODE } from './storable-code';

/** Stable codes of {@link SharedTokenError}. Codes are only ever added. */
export type SharedTokenErrorCode =
  /** The token id is empty, not a string, or longer than DynamoDB allows for a key (2,048 bytes of UTF-8). */
  | 'INVALID_TOKEN_ID'
  /** An option is unknown or has a value that cannot work; `use` was given no function; or `refresh()` is called where the option `refresh` is missing; or `SHARED_TOKEN_REFRESHERS` is no JSON map. */
  | 'INVALID_OPTION'
  /** Neither the option `table` nor the variable `SHARED_TOKEN_TABLE` names a table, or no AWS region is known. */
  | 'TABLE_NOT_CONFIGURED'
  /** The table does not exist in this account and region. */
  | 'TABLE_NOT_FOUND'
  /** The function's role lacks a grant for this token id, for a key of the table or for its refresher, or its AWS credentials are missing, refused or expired. */
  | 'ACCESS_DENIED'
  /** The table, or the key that encrypts its tokens, could not be reached, or answered with errors or throttling, until the deadline. Where the deadline merely came in the middle of a request, it is DEADLINE_EXCEEDED. */
  | 'TABLE_UNAVAILABLE'
  /** The table refused a request as malformed, which points to a defect here or to a table of another shape. */
  | 'TABLE_REQUEST_REFUSED'
  /** The stored item was written by something else: an attribute has a type that this protocol never writes. */
  | 'INVALID_ITEM'
  /** The key that encrypts the tokens is disabled, deleted or of a wrong kind; or `@aws-sdk/client-kms` is missing. Nothing was asked of the provider. */
  | 'KEY_UNUSABLE'
  /** What is stored was encrypted with another key, for another token or table, or was changed since; or it is encrypted, and this function knows no key. */
  | 'DECRYPTION_FAILED'
  /** To an operator alone: the item was changed between each look and the write after it. */
  | 'ITEM_CHANGED'
  /** `refresh` threw, or the provider refused. `cause` tells what `refresh` threw, and `original()` is that itself. */
  | 'REFRESH_FAILED'
  /** `refresh` did not answer within the auth limit. */
  | 'REFRESH_TIMED_OUT'
  /** `refresh` answered with something that holds no token, or with an expiry that makes no sense. */
  | 'INVALID_REFRESH_RESULT'
  /** The token does not fit into a DynamoDB item (400 KB). */
  | 'TOKEN_TOO_LARGE'
  /** A refresh failed a short while ago; `retryAt` says when the next one may be tried. */
  | 'COOLING_DOWN'
  /** This caller only reads, and nobody stored a usable token in time. */
  | 'NO_USABLE_TOKEN'
  /** This caller only reads, and the refresher that it asks does not exist, cannot be asked (`@aws-sdk/client-lambda` is missing), or fails before it can note in the table why. */
  | 'REFRESHER_FAILED'
  /** The deadline passed: of the option `timeoutMs`, of the invocation, or the default. */
  | 'DEADLINE_EXCEEDED'
  /** The caller's own signal was aborted. */
  | 'ABORTED';

/** What a {@link SharedTokenError} is made of. */
export interface SharedTokenErrorDetails {
  /** Which token it is about. */
  readonly tokenId?: string | undefined;
  /** When the next refresh may be tried, in milliseconds since the epoch by the table's clock. */
  readonly retryAt?: number | undefined;
  /** What led to it: what `refresh` threw, or what the table answered. `error.cause` tells what of it may be logged, `error.original()` is the thing itself. */
  readonly cause?: unknown;
}

/** An error whose `cause` may be logged: HTTP libraries hang request and response on their errors, and those hold credentials. */
class QuietError extends Error {
  readonly #original: unknown;

  constructor(message: string, cause: unknown) {
    super(message, cause === undefined ? undefined : { cause: bare(cause, LONGEST_CHAIN) });
    this.#original = cause;
  }

  /** What led to it, as it came: for a program that must know more of it than `cause` tells. It may hold credentials; a function, so that no log shows it. */
  original(): unknown {
    return this.#original;
  }
}

/** One that is its own cause must end, too. */
const LONGEST_CHAIN = 8;

/** Of both kinds that AWS gives. */
const REQUEST_ID = /^([\da-f-]{36}|[A-Z\d]{52})$/;

/** What says what happened: name, message, stack, cause, and a code, a status, AWS's id of a request. One of ours, too: others may have hung something on it. */
function bare(error: unknown, depth: number): Error {
  const one = new Error(`no error, but a value (${typeof error})`);
  const show = (name: string, value: unknown) => Object.defineProperty(one, name, { value, writable: true, configurable: true });
  try {
    if (!(error instanceof Error) && Object.prototype.toString.call(error) !== '[object Error]') return one; // the latter: of another realm
    const { name, message, stack, cause, ...fields } = error as Error & Record<string, unknown>;
    for (const [field, text] of Object.entries({ name, message, stack })) show(field, withoutExcerpt(String(text)));
    for (const field of ['code', 'status', 'statusCode', 'requestId']) {
      const value = fields[field];
      if (typeof value === 'number' || isStorableCode(value) || (field === 'requestId' && REQUEST_ID.test(String(value)))) Object.assign(one, { [field]: value });
    }
    if (cause !== undefined && depth > 0) show('cause', bare(cause, depth - 1));
  } catch {
    show('message', 'an error that cannot be read'); // of somebody's own making, with getters that throw
  }
  return one;
}

/** `JSON.parse` quotes what it was given. */
function withoutExcerpt(text: string): string {
  return text.replace(/"[^]*"(\.\.\.)? is not valid JSON/, '"..." is not valid JSON');
}

/**
 * The only kind of error that the runtime throws. Tell cases apart by `code`, never by `message`.
 *
 * No message of it contains a token or a credential.
 *
 * @example
 * try {
 *   await crm.get({ context });
 * } catch (error) {
 *   if (error instanceof SharedTokenError && error.code === 'COOLING_DOWN') return retryLater(error.retryAt);
 *   throw error;
 * }
 */
export class SharedTokenError extends QuietError {
  override readonly name = 'SharedTokenError';
  /** Which token it is about; absent where the id itself is the trouble. */
  readonly tokenId: string | undefined;
  /** When the next refresh may be tried, in milliseconds since the epoch by the table's clock; absent where nothing says so. */
  readonly retryAt: number | undefined;

  /** @param code stable; what to tell cases apart by */
  constructor(readonly code: SharedTokenErrorCode, message: string, details: SharedTokenErrorDetails = {}) {
    super(message, details.cause);
    this.tokenId = details.tokenId;
    this.retryAt = details.retryAt;
  }
}

/** What a {@link RefreshError} says beside its code. */
export interface RefreshErrorOptions {
  /** The provider's `Retry-After`: seconds, an HTTP date, or a `Date`. Ignored where it makes no sense. */
  readonly retryAfter?: number | string | Date | null | undefined;
  readonly cause?: unknown;
  /**
   * For people: what happened, and what to do. Never put a credential, nor a provider's own text, into it.
   *
   * @default - says that the token could not be refreshed, and the code
   */
  readonly message?: string | undefined;
  /** A new refresh token in an answer that is of no use otherwise: it is stored all the same, and shown nowhere. */
  readonly refreshToken?: string | undefined;
}

/**
 * Thrown by a `refresh` function to say more than "it failed": the provider's error code (`invalid_client`, `invalid_grant`, `429` ...) and when to try again.
 *
 * All instances share that: nobody sends the next request before its time. The code is stored in the table; one that is not made of 1 to 40 letters,
 * digits (three at most), `_`, `.` and `-` is not used. Never put a credential into it.
 *
 * @example
 * if (!response.ok) {
 *   const { error } = await response.json().catch(() => ({})); // OAuth's own code says more than the status: 'invalid_client'
 *   throw new RefreshError(error ?? String(response.status), { retryAfter: response.headers.get('retry-after') });
 * }
 */
export class RefreshError extends QuietError {
  override readonly name = 'RefreshError';
  /** The provider's error code; `refresh_failed` in place of what is none. */
  readonly code: string;
  /** As it was given, if it is a time; a text that is none is left out. */
  readonly retryAfter: RefreshErrorOptions['retryAfter'];

  /** @param code the provider's error code, or the HTTP status */
  constructor(code: string, options: RefreshErrorOptions = {}) {
    // Both come from the provider, and are shown by whoever logs the error.
    const storable = isStorableCode(code) ? code : UNKNOWN_CODE;
    super(options.message ?? `The token could not be refreshed: ${storable}`, options.cause);
    this.code = storable;
    const { retryAfter } = options;
    this.retryAfter = retryAfter instanceof Date ? new Date(+retryAfter) : parseRetryAfter(retryAfter, 0) > 0 ? retryAfter : undefined;
    if (options.refreshToken) refreshTokens.set(this, options.refreshToken);
  }
}

/** Beside the errors: whoever logs or inspects one does not see its refresh token. */
const refreshTokens = new WeakMap<object, string>();

/** The refresh token that was given with a {@link RefreshError}. */
export function refreshTokenOf(error: unknown): string | undefined {
  return refreshTokens.get(Object(error) as object);
}
