import type { SharedTokenError, SharedTokenErrorCode } from './errors';
import { parseRetryAfter } from './retry-after';
import { isStorableCode, UNKNOWN_CODE } from './storable-code';
import { coolDown } from './timing';
import { isTokenError, tokenError } from './token-error';
import type { Failure } from './token-item';

/** Codes after which the same request cannot succeed soon: somebody has to mend the credentials. */
const TERMINAL = new Set(['invalid_client', 'invalid_grant', 'unauthorized_client', 'unsupported_grant_type', 'invalid_scope', 'access_denied', '401', '403']);

/** How a refresh failed: for the table a code and a time, for the callers a typed error. */
export interface RefreshFailure {
  readonly code: string;
  /** The credentials are refused: the same request cannot succeed soon. */
  readonly terminal: boolean;
  readonly retryAfterMs: number;
  readonly error: SharedTokenError;
}

/** Answers that a second try would only repeat. */
const NOT_CURED_BY_RETRY: readonly SharedTokenErrorCode[] = ['INVALID_REFRESH_RESULT', 'TOKEN_TOO_LARGE'];

/** Is it of no use to this call to try again within its deadline? */
export function isFinal({ terminal, error }: RefreshFailure): boolean {
  return terminal || NOT_CURED_BY_RETRY.includes(error.code);
}

/** What the table records: it counts on from the failure recorded before. */
export function toFailure({ code, terminal, retryAfterMs }: FailedHow, previous: Failure | undefined, now: number, forced?: boolean): Failure {
  const count = (previous?.count ?? 0) + 1;
  return { code, count, at: now, retryAt: now + coolDown(count, terminal, retryAfterMs), ...(forced && { forced }) };
}

/** The part of a failure that the table records. */
export type FailedHow = Pick<RefreshFailure, 'code'> & Partial<RefreshFailure>;

/** Reads whatever `refresh` threw: our own errors, and the fields that OAuth and HTTP libraries put on theirs. */
export function failureOf(tokenId: string, thrown: unknown, now: number): RefreshFailure {
  // One of another token is whatever else refresh threw.
  if (isTokenError(thrown) && thrown.tokenId === tokenId) return { code: thrown.code, terminal: false, retryAfterMs: 0, error: thrown };
  const { code, retryAfterMs } = read(thrown, now);
  return {
    code,
    terminal: TERMINAL.has(code),
    retryAfterMs,
    error: tokenError(tokenId, 'REFRESH_FAILED', `refresh failed (${code}): see the cause.`, { cause: thrown }),
  };
}

/** What was thrown may be anything, with getters that throw themselves. */
function read(thrown: unknown, now: number): Pick<RefreshFailure, 'code' | 'retryAfterMs'> {
  try {
    const { error, code, status, cause, name, retryAfter, response } = fieldsOf(thrown);
    const { data, headers, status: responseStatus } = fieldsOf(response);
    const candidates = [error, fieldsOf(data).error, typeof code === 'string' ? code : '', status, responseStatus, fieldsOf(cause).code, name];
    return {
      code: String(candidates.find(isCode) ?? UNKNOWN_CODE),
      retryAfterMs: parseRetryAfter(retryAfter ?? fieldsOf(headers)['retry-after'], now),
    };
  } catch {
    return { code: UNKNOWN_CODE, retryAfterMs: 0 };
  }
}

/** A status is a number. */
function isCode(value: unknown): boolean {
  return isStorableCode(typeof value === 'number' ? String(value) : value);
}

type Fields = Readonly<Record<string, unknown>>;

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? value as Fields : {};
}
