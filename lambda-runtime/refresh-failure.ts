import { SharedTokenError } from './errors';
import { coolDown } from './timing';
import type { Failure } from './token-item';

/** Codes after which the same request cannot succeed soon: somebody has to mend the credentials. */
const TERMINAL = new Set(['invalid_client', 'invalid_grant', 'unauthorized_client', 'unsupported_grant_type', 'invalid_scope']);

/** How a refresh failed: for the table a code and a time, for the callers a typed error. */
export interface RefreshFailure {
  readonly code: string;
  /** The credentials are refused: the same request cannot succeed soon. */
  readonly terminal: boolean;
  readonly retryAfterMs: number;
  readonly error: SharedTokenError;
}

/** Is it of no use to this call to try again within its deadline? */
export function isFinal({ terminal, error }: RefreshFailure): boolean {
  return terminal || error.code === 'INVALID_REFRESH_RESULT' || error.code === 'TOKEN_TOO_LARGE' || error.code === 'TABLE_REQUEST_REFUSED';
}

/** What the table records: it counts on from the failure recorded before. */
export function toFailure({ code, terminal, retryAfterMs }: Omit<RefreshFailure, 'error'>, previous: Failure | undefined, now: number): Failure {
  const count = (previous?.count ?? 0) + 1;
  return { code, count, at: now, retryAt: now + coolDown(count, terminal, retryAfterMs) };
}

/** Reads whatever `refresh` threw: our own errors, and the fields that OAuth and HTTP libraries put on theirs. */
export function failureOf(tokenId: string, thrown: unknown, now: number): RefreshFailure {
  if (thrown instanceof SharedTokenError) return { code: thrown.code, terminal: false, retryAfterMs: 0, error: thrown };
  const fields = typeof thrown === 'object' && thrown !== null ? thrown as Readonly<Record<string, unknown>> : {};
  const code = codeOf(fields);
  return {
    code,
    terminal: TERMINAL.has(code),
    retryAfterMs: parseRetryAfter(fields.retryAfter, now),
    error: new SharedTokenError('REFRESH_FAILED', `Token "${tokenId}": refresh failed (${code}). The stored token was left as it was; see the cause.`,
      { tokenId, cause: thrown }),
  };
}

/** A code, never a provider's text: it is stored, and read by people. */
function codeOf(fields: Readonly<Record<string, unknown>>): string {
  const cause = typeof fields.cause === 'object' && fields.cause !== null ? fields.cause as { readonly code?: unknown } : {};
  for (const candidate of [fields.error, fields.code, fields.status, cause.code, fields.name]) {
    const text = typeof candidate === 'number' ? String(candidate) : candidate;
    if (typeof text === 'string' && /^[\w.-]{1,64}$/.test(text)) return text;
  }
  return 'refresh_failed';
}

/** `Date.parse` alone finds a year in many a text. */
const A_DATE = /^([A-Z][a-z]{2,8}, \d{2}[ -][A-Z][a-z]{2}[ -]\d{2,4} \d{2}:\d{2}:\d{2} GMT|\d{4}-\d{2}-\d{2}T[\d:.]+Z)$/;

/** `Retry-After` as seconds, HTTP date or `Date`; 0 where it makes no sense. */
function parseRetryAfter(value: unknown, now: number): number {
  const text = typeof value === 'string' ? value.trim() : value;
  const seconds = typeof text === 'string' && /^\d+(\.\d+)?$/.test(text) ? Number(text) : text;
  if (typeof seconds === 'number') return seconds > 0 && Number.isFinite(seconds) ? seconds * 1_000 : 0;
  const at = seconds instanceof Date ? seconds.getTime() : typeof seconds === 'string' && A_DATE.test(seconds) ? Date.parse(seconds) : NaN;
  return at > now ? at - now : 0;
}
