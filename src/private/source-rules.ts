/*
 * What the settings of a token source may be, written once: a stack refuses at synthesis what can be seen then, and the runtime refuses the rest when a source is
 * made; each in words of its own. It imports nothing, so that jsii can compile it and esbuild can bundle it.
 */

/** Where http does no harm: what is sent stays on this machine. */
const LOCAL_HOSTS: readonly string[] = ['localhost', '127.0.0.1', '[::1]'];

/** Of a URL that credentials are sent to: nobody on the way can listen. */
export function isEncryptedOrLocal({ protocol, hostname }: { readonly protocol: string; readonly hostname: string }): boolean {
  return protocol === 'https:' || (protocol === 'http:' && LOCAL_HOSTS.includes(hostname));
}

/** Even an empty one, which a parsed URL does not show: a request has none. */
export function hasFragment(url: string): boolean {
  return url.includes('#');
}

/** Methods of a request for a token. */
export const METHODS: readonly string[] = ['GET', 'PATCH', 'POST', 'PUT'];

/** Parameters of a token request that come from the credentials and from settings of their own: they would be sent twice, or silently replaced. */
export const RESERVED_PARAMETERS = [
  'grant_type', 'scope', 'audience', 'resource', 'client_id', 'client_secret', 'refresh_token', 'client_assertion', 'client_assertion_type',
] as const;
export type ReservedParameter = typeof RESERVED_PARAMETERS[number];

export function isReservedParameter(name: string): name is ReservedParameter {
  return (RESERVED_PARAMETERS as readonly string[]).includes(name);
}

/** RFC 6749, section 3.3. */
const SCOPE = /^[\x21\x23-\x5B\x5D-\x7E]+$/;

export function isScope(value: unknown): boolean {
  return typeof value === 'string' && SCOPE.test(value);
}

/** What stands for a field of the credentials, in the values of a request. It captures the field's name: empty, if none stands there. For `replace` and `matchAll`. */
export const PLACEHOLDER = /\{\{\s*([^{}]*?)\s*\}\}/g;

/** The names in the placeholders of a text; an empty one stands for no field, and is an error. */
export function placeholdersOf(text: string): string[] {
  return [...text.matchAll(PLACEHOLDER)].map(([, field]) => field ?? '');
}

/** Seconds. What is longer than a hundred years is a moment taken for a life, or milliseconds for seconds. */
const SHORTEST_LIFE_S = 1;
export const LONGEST_LIFE_S = 3_153_600_000;

/** Of a life that is configured; an answer may tell a shorter one. */
export function isTokenLife(seconds: number): boolean {
  return seconds >= SHORTEST_LIFE_S && seconds <= LONGEST_LIFE_S;
}

/** A field of an answer, or a path of fields. */
export function isFieldPath(path: string): boolean {
  return path.split('.').every(name => name !== '');
}
