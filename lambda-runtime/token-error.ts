import { SharedTokenError, type SharedTokenErrorCode, type SharedTokenErrorDetails } from './errors';

/** Made here, so that their codes and messages are ours: the class is there for everybody, and what was thrown may be anything. */
const ours = new WeakSet<object>();

/** An error about one token, whose id stands in its message. */
export function tokenError(tokenId: string, code: SharedTokenErrorCode, what: string, details?: Omit<SharedTokenErrorDetails, 'tokenId'>): SharedTokenError {
  const error = new SharedTokenError(code, `Token "${tokenId}": ${what}`, { tokenId, ...details });
  ours.add(error);
  return error;
}

export function isTokenError(thrown: unknown): thrown is SharedTokenError {
  return ours.has(Object(thrown) as object);
}
