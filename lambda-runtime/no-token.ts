import { SharedTokenError, type SharedTokenErrorCode } from './errors';
import type { RefreshFailure } from './refresh-failure';
import { tokenError } from './token-error';
import { momentOf } from './token-item';
import type { TokenMeans } from './token-keeper';

/*
 * Why a call ends without a token, in words that say what to do.
 */

/** The error of a refresh of one's own that failed says more than the cool-down that it caused. */
export function refreshFailed({ tokenId, memory }: TokenMeans, { error }: RefreshFailure, retryAt = memory.item?.failure?.retryAt): SharedTokenError {
  return new SharedTokenError(error.code, error.message, { tokenId, retryAt, cause: error.original() });
}

/** What a decision ended with. */
export function refused(means: TokenMeans, code: SharedTokenErrorCode, retryAt?: number): SharedTokenError {
  const { tokenId, memory } = means;
  if (code === 'DEADLINE_EXCEEDED') return deadlineExceeded(means);
  return tokenError(tokenId, code, code === 'COOLING_DOWN'
    ? `the last refresh failed (${memory.item?.failure?.code}); ${memory.item?.failure?.forced ? 'none that nobody needs is tried' : 'no instance tries'} again before ${momentOf(retryAt)}.`
    : 'no usable token, and this function only reads. Give it a refresh function or a refresher, or see why the one that refreshes does not.', { retryAt });
}

/** What came of a call until its deadline. */
export interface CallSoFar {
  /** Of the last refresh of its own. */
  readonly failure?: RefreshFailure | undefined;
  /** What came of asking a refresher, in words. */
  readonly asked?: string | undefined;
  /** The trouble with the request in whose middle it came. */
  readonly trouble?: unknown;
}

export function deadlineExceeded({ tokenId, table, memory }: TokenMeans, { failure, asked, trouble }: CallSoFar = {}): SharedTokenError {
  const ofTheTable = table.trouble();
  if (ofTheTable) return ofTheTable;
  const { lease, failure: last } = memory.item ?? {};
  const why = lease ? `${lease.holder || 'another instance'} is refreshing it until ${momentOf(lease.until)} at the latest`
    : asked ?? (last ? `the last refresh failed (${last.code})` : 'too little time was left for a refresh');
  return tokenError(tokenId, 'DEADLINE_EXCEEDED', `no new token before the deadline: ${why}. ` +
    'Give the function and the call more time than a refresh takes.', { cause: failure?.error ?? trouble });
}

/** What a failed call is told: of the deadline, where that merely came in the middle of a request to the table. */
export function reasonOf(means: TokenMeans, error: unknown, soFar?: CallSoFar): unknown {
  return means.table.wasCutShort(error) ? deadlineExceeded(means, { ...soFar, trouble: error.original() }) : error;
}

export function abortedError(tokenId: string, { reason }: AbortSignal): SharedTokenError {
  return tokenError(tokenId, 'ABORTED', 'the caller\'s signal was aborted.', { cause: reason });
}
