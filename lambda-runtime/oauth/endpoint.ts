import { hasFragment, isEncryptedOrLocal } from '../../src/private/source-rules';

/** The rule for the URL of an endpoint, as messages put it. */
export const ENDPOINT_RULE = 'a URL with https (http only for localhost, 127.0.0.1 and [::1]), without user, password, fragment and placeholders';

/** Credentials are sent there, so it must be encrypted; those in the URL would be printed and logged. */
export function isEndpoint(value: unknown): boolean {
  if (typeof value !== 'string' || !URL.canParse(value) || value.includes('{{') || hasFragment(value)) return false;
  const url = new URL(value);
  return isEncryptedOrLocal(url) && !url.username && !url.password;
}
