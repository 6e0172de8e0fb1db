import { SharedTokenError } from './errors';
import type { RefreshResult } from './public-types';

/** DynamoDB's limit for an item is 400 KB; what is left over holds the other attributes. */
const LARGEST_CREDENTIALS_BYTES = 390 * 1024;

/** The last moment that a `Date` knows; also below what a number of DynamoDB's can hold. */
const LAST_MOMENT = 8.64e15;

/** A validated answer of `refresh`. */
export interface FreshToken {
  readonly accessToken: string;
  readonly issuedAt: number;
  readonly expiresAt: number | undefined;
  readonly refreshToken: string | undefined;
}

/**
 * Checks what `refresh` answered.
 *
 * @param issuedAt when the auth request was started, by the table's clock: life is counted from there
 * @throws SharedTokenError INVALID_REFRESH_RESULT or TOKEN_TOO_LARGE; it names the field, and never its value
 */
export function validateRefreshResult(tokenId: string, result: RefreshResult | undefined, issuedAt: number): FreshToken {
  const invalid = (what: string) => new SharedTokenError('INVALID_REFRESH_RESULT', `Token "${tokenId}": refresh ${what}`, { tokenId });

  if (typeof result !== 'object' || result === null) throw invalid('returned nothing. Return { accessToken, expiresIn }.');
  const { accessToken, refreshToken } = result;
  if (typeof accessToken !== 'string' || accessToken.trim() === '') {
    throw invalid('returned no accessToken: a non-empty string is expected. Was the answer of the auth endpoint an error? Check its status first.');
  }
  if (refreshToken !== undefined && refreshToken !== null && typeof refreshToken !== 'string') throw invalid('returned a refreshToken that is not a string.');
  const bytes = Buffer.byteLength(accessToken) + Buffer.byteLength(refreshToken ?? '');
  if (bytes > LARGEST_CREDENTIALS_BYTES) {
    throw new SharedTokenError('TOKEN_TOO_LARGE', `Token "${tokenId}": ${bytes} bytes do not fit into a DynamoDB item (400 KB). ` +
      'Store a reference to it, or ask the provider for a smaller one (fewer claims or scopes).', { tokenId });
  }
  return { accessToken, issuedAt, expiresAt: expiryOf(result, issuedAt, invalid), refreshToken: refreshToken?.trim() ? refreshToken : undefined };
}

function expiryOf({ expiresIn, expiresAt }: RefreshResult, issuedAt: number, invalid: (what: string) => Error): number | undefined {
  const hasIn = expiresIn !== undefined && expiresIn !== null;
  const hasAt = expiresAt !== undefined && expiresAt !== null;
  if (hasIn && hasAt) throw invalid('returned both expiresIn and expiresAt: give one of them.');
  if (hasIn) {
    const seconds = typeof expiresIn === 'string' && expiresIn.trim() !== '' ? Number(expiresIn) : expiresIn;
    if (typeof seconds === 'number' && seconds > 0 && issuedAt + seconds * 1_000 <= LAST_MOMENT) return Math.round(issuedAt + seconds * 1_000);
    throw invalid('returned an invalid expiresIn: a number of seconds above zero is expected. Leave it out where the provider gives none.');
  }
  if (hasAt) {
    const at = expiresAt instanceof Date ? expiresAt.getTime() : expiresAt;
    if (typeof at === 'number' && at > issuedAt && at <= LAST_MOMENT) return Math.round(at);
    throw invalid('returned an invalid expiresAt: a Date, or milliseconds (not seconds) since the epoch, in the future is expected.');
  }
  return undefined;
}
