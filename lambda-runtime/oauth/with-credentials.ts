import { isDeepStrictEqual } from 'node:util';
import type { CredentialSource } from './credentials';
import { ProviderRefusal } from './failures';
import type { CredentialFields } from './options';
import { RefreshError } from '../index';

/** What can only be cured by other credentials. */
const CREDENTIALS_ARE_WRONG = ['invalid_client', 'unauthorized_client', 'SECRET_FIELD_MISSING', 'SECRET_FIELD_INVALID'];

/**
 * Makes an attempt with the credentials. Where they are wrong they are read again, since somebody may have stored others meanwhile: then a second attempt is
 * made with those, and no third.
 */
export async function withCredentials<T>(
  source: CredentialSource, signal: AbortSignal, attempt: (fields: CredentialFields) => Promise<T>,
): Promise<T> {
  const fields = await source.read(signal);
  try {
    return await attempt(fields);
  } catch (error) {
    if (!areWrong(error)) throw error;
    const newer = await readNewer(source, signal);
    if (!newer || isDeepStrictEqual(newer, fields)) throw error;
    return attempt(newer);
  }
}

/** Undefined where they cannot be read: then what the provider said is what matters. */
export async function readNewer(source: CredentialSource, signal: AbortSignal): Promise<CredentialFields | undefined> {
  return source.readAgain(signal).catch(() => undefined);
}

/** A refused refresh token is another matter than refused credentials, whatever the status. */
function areWrong(error: unknown): boolean {
  if (!(error instanceof RefreshError) || error.code === 'invalid_grant') return false;
  return CREDENTIALS_ARE_WRONG.includes(error.code) || (error instanceof ProviderRefusal && error.status === 401);
}
