import { SharedTokenError, type SharedTokenErrorCode, type SharedTokenErrorDetails } from './errors';

/** An error about one token, whose id stands in its message. */
export function tokenError(tokenId: string, code: SharedTokenErrorCode, what: string, details?: Omit<SharedTokenErrorDetails, 'tokenId'>): SharedTokenError {
  return new SharedTokenError(code, `Token "${tokenId}": ${what}`, { tokenId, ...details });
}
