import type { RefreshResult } from './public-types';
import { tokenError } from './token-error';
import { LAST_MOMENT } from './token-item';

/** DynamoDB's limit for an item is 400 KB; what is left over holds the other attributes. */
const LARGEST_CREDENTIALS_BYTES = 390 * 1024;

/** A hundred years: what is longer is a moment taken for a life. */
const LONGEST_LIFE_S = 3_153_600_000;
/** How OAuth spells what `refresh` returns. */
const OAUTH_NAMES = [['access_token', 'accessToken'], ['expires_in', 'expiresIn'], ['refresh_token', 'refreshToken']] as const;

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
  const invalid = (what: string) => tokenError(tokenId, 'INVALID_REFRESH_RESULT', `refresh ${what}`);

  if (typeof result !== 'object' || result === null) {
    throw invalid(`returned ${isGiven(result) ? `a ${typeof result}` : 'nothing'}: return { accessToken, expiresIn }.`);
  }
  // TypeScript lets them pass in what an async function returns, and a refresh token or an expiry would be lost.
  const foreign = OAUTH_NAMES.find(([name]) => Object.hasOwn(result, name));
  if (foreign) throw invalid(`returned ${foreign[0]}: return it as ${foreign[1]}.`);
  const { accessToken, refreshToken } = result;
  if (typeof accessToken !== 'string' || !accessToken.trim()) {
    throw invalid('returned no accessToken, a non-empty string. Check the status of the auth endpoint\'s answer first, and return { accessToken, expiresIn }.');
  }
  if (isGiven(refreshToken) && typeof refreshToken !== 'string') throw invalid('returned a refreshToken that is not a string.');
  const bytes = Buffer.byteLength(accessToken) + Buffer.byteLength(refreshToken ?? '');
  if (bytes > LARGEST_CREDENTIALS_BYTES) {
    throw tokenError(tokenId, 'TOKEN_TOO_LARGE', `${bytes} bytes do not fit into a DynamoDB item (400 KB). ` +
      'Store a reference, or ask the provider for a smaller token.');
  }
  return { accessToken, issuedAt, expiresAt: expiryOf(result, issuedAt, invalid), refreshToken: refreshToken?.trim() ? refreshToken : undefined };
}

function expiryOf({ expiresIn, expiresAt }: RefreshResult, issuedAt: number, invalid: (what: string) => Error): number | undefined {
  const moment = (at: unknown, problem: string) => {
    if (typeof at === 'number' && at > issuedAt && at <= LAST_MOMENT) return Math.round(at);
    throw invalid(problem);
  };
  if (isGiven(expiresIn) && isGiven(expiresAt)) throw invalid('returned both expiresIn and expiresAt: give one of them.');
  if (isGiven(expiresIn)) {
    const seconds = typeof expiresIn === 'string' && expiresIn.trim() ? Number(expiresIn) : expiresIn;
    return moment(typeof seconds === 'number' && seconds <= LONGEST_LIFE_S && issuedAt + seconds * 1_000,
      'returned an invalid expiresIn: give seconds above zero (not a moment), or leave it out where the provider gives none.');
  }
  if (isGiven(expiresAt)) {
    return moment(expiresAt instanceof Date ? expiresAt.getTime() : expiresAt,
      'returned an invalid expiresAt: give a Date, or milliseconds (not seconds) since the epoch, in the future.');
  }
  return undefined;
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** What can be saved of an answer that is of no use otherwise: a refresh token that an item can hold, in whatever `refresh` returned or threw. */
export function refreshTokenToSave(given: () => unknown): string | undefined {
  try {
    const refreshToken = given();
    return typeof refreshToken === 'string' && refreshToken.trim() && Buffer.byteLength(refreshToken) <= LARGEST_CREDENTIALS_BYTES ? refreshToken : undefined;
  } catch {
    return undefined; // a getter's own trouble
  }
}
