/** Where http does no harm: what is sent stays on this machine. */
const THIS_MACHINE = ['localhost', '127.0.0.1', '[::1]'];

/** The rule for the URL of an endpoint, as messages put it. */
export const ENDPOINT_RULE = 'a URL with https (http only for localhost, 127.0.0.1 and [::1]), without user, password and placeholders';

/** Credentials are sent there, so it must be encrypted; those in the URL would be printed and logged. */
export function isEndpoint(value: unknown): boolean {
  if (typeof value !== 'string' || !URL.canParse(value) || value.includes('{{')) return false;
  const { protocol, hostname, username, password } = new URL(value);
  return (protocol === 'https:' || (protocol === 'http:' && THIS_MACHINE.includes(hostname))) && !username && !password;
}
