import { aborted, bareCause, codeOf, failure, ProviderRefusal, type SourceErrorCode } from './failures';
import { RefreshError } from '../index';

/** 1 MB: a token that DynamoDB takes is far smaller. */
const LARGEST_ANSWER_BYTES = 1_000_000;

/** A JSON object or array. */
export type JsonAnswer = Readonly<Record<string, unknown>>;

/** One request to an endpoint. */
export interface EndpointRequest {
  readonly method: string;
  readonly headers: Headers;
  readonly body?: string | URLSearchParams | undefined;
  readonly signal: AbortSignal;
}

/**
 * Sends one request and reads the JSON of the answer, at most 1 MB of it.
 *
 * @throws RefreshError whatever goes wrong: its code is the provider's, the HTTP status, Node's code of a broken connection, or a `SourceErrorCode`
 */
export async function exchange(url: URL, { method, headers, body, signal }: EndpointRequest): Promise<JsonAnswer> {
  // A connection kept open would be dead after a freeze, and the request on it lost; the next one is many minutes away.
  headers.set('connection', 'close');
  let response: Response;
  let text: string | undefined;
  try {
    response = await fetch(url, { method, headers, body: body ?? null, redirect: 'manual', signal });
    text = await readText(response);
  } catch (error) {
    throw signal.aborted ? aborted() : unreachable(url, error);
  }
  const json = text === undefined ? undefined : parseJson(text);
  const { status } = response;
  if (status >= 300 && status < 400) throw redirected(url, response);
  if (!response.ok) throw refusal(url, status, json, response.headers.get('retry-after'));
  if (text === undefined) throw failure('ANSWER_TOO_LARGE', `${endpoint(url)} answered with more than 1 MB: check the URL.`);
  if (!json) throw failure('ANSWER_NOT_JSON', `${endpoint(url)} answered ${status} with something that is no JSON object: check the URL, it may be a page for people.`);
  return json;
}

/** Undefined where it is too large; the rest is then not read. */
async function readText({ body }: Response): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += (chunk as Uint8Array).byteLength;
    if (bytes > LARGEST_ANSWER_BYTES) return undefined; // leaving the loop cancels the body
    chunks.push(chunk as Uint8Array);
  }
  return new TextDecoder().decode(Buffer.concat(chunks));
}

function parseJson(text: string): JsonAnswer | undefined {
  try {
    const json: unknown = JSON.parse(text);
    return typeof json === 'object' && json !== null ? json as JsonAnswer : undefined;
  } catch {
    return undefined;
  }
}

/** What to do about the codes of RFC 6749, section 5.2, and of RFC 8707. */
const ADVICE: Readonly<Record<string, string>> = {
  invalid_client: 'It does not accept this client: check clientId and the client\'s secret or key, and clientAuthentication (client_secret_post, for some providers).',
  unauthorized_client: 'This client may not get tokens in this way: allow it at the provider.',
  invalid_grant: 'The refresh token is expired, revoked, used up or another client\'s: log in again, and put the new refresh token into the secret.',
  invalid_scope: 'Check the scopes.',
  invalid_target: 'Check audience and resource.',
  unsupported_grant_type: 'The provider does not know this grant: check the URL and the kind of source.',
};

function adviceFor(code: string, status: number): string {
  if (Object.hasOwn(ADVICE, code)) return ADVICE[code]!;
  if (status === 401 || status === 403) return 'Check the credentials, and what they are allowed.';
  if (status === 404 || status === 405) return 'Check the URL.';
  if (status === 429) return 'It was asked too often; later tries are spaced out.';
  return status >= 500 ? 'The trouble is the provider\'s; it is tried again later.' : 'Check the settings of the request.';
}

/** The provider's code where its answer has one, else the status. Its texts are not passed on: some providers quote what they were sent. */
function refusal(url: URL, status: number, json: JsonAnswer | undefined, retryAfter?: string | null): ProviderRefusal {
  const said = codeOf(json?.error);
  const code = said ?? String(status);
  return new ProviderRefusal(code, status, {
    retryAfter,
    message: `${endpoint(url)} answered ${status}${said === undefined ? '' : ` with the code ${said}`}. ${adviceFor(code, status)}`,
  });
}

/** An answer without a token: some providers refuse with status 200. */
export function noToken(url: URL, json: JsonAnswer, field: string): RefreshError {
  if (codeOf(json.error) !== undefined) return refusal(url, 200, json);
  return failure('ACCESS_TOKEN_MISSING', `${endpoint(url)} answered without a token: ${field} is absent, empty, no text, or has white space or control characters in ` +
    'it. Check the URL and the settings of the request.');
}

/** The origin alone: the rest may hold what was sent. */
function redirected(url: URL, { status, headers }: Response): RefreshError {
  const location = headers.get('location');
  const origin = location !== null && URL.canParse(location, url.href) ? new URL(location, url).origin : 'null';
  const target = origin === 'null' ? '' : ` to ${origin}`;
  return failure('REDIRECTED', `${endpoint(url)} answered ${status}, a redirect${target}. Credentials are not sent on: give the URL of the endpoint itself.`);
}

const BROKEN_CONNECTION: readonly (readonly [RegExp, string])[] = [
  [/^Z_/, 'Its answer is not compressed as it says: the trouble is the provider\'s.'],
  [/CERT|SIGNATURE|HOSTNAME/, 'Its certificate is not trusted: the provider has to mend it, or NODE_EXTRA_CA_CERTS has to name the authority that signed it.'],
  [/TLS|SSL/, 'Check that the URL\'s host and port speak HTTPS.'],
  [/./, 'Check the URL, and whether this function can reach it (in a VPC: subnets, security groups, a NAT gateway).'],
];

function unreachable(url: URL, error: unknown): RefreshError {
  const cause = bareCause(innermost(error));
  // Up to Node.js 22 a parser's error has a code for each kind of nonsense; from 24 on, none.
  if (cause.name === 'HTTPParserError') return failure('ANSWER_NOT_HTTP', `What answers at ${url.origin} does not speak HTTP: check the URL's host and port.`, cause);
  const code = cause.code ?? ('ENDPOINT_UNREACHABLE' satisfies SourceErrorCode);
  const advice = BROKEN_CONNECTION.find(([pattern]) => pattern.test(code))?.[1];
  return new RefreshError(code, { cause, message: `The connection to ${url.origin} failed (${code}). ${advice}` });
}

/** `fetch` wraps what happened to the connection. */
function innermost(error: unknown): unknown {
  const { cause } = Object(error) as { readonly cause?: unknown };
  return typeof cause === 'object' && cause !== null ? innermost(cause) : error;
}

function endpoint(url: URL): string {
  return `The endpoint at ${url.origin}`;
}
