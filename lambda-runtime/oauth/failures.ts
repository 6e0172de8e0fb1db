import { RefreshError, type RefreshErrorOptions } from '../index';
import { isStorableCode } from '../storable-code';

/** Codes of what a source finds wrong itself. Beside them stand the provider's own (`invalid_client`, `503`) and Node's (`ECONNREFUSED`, `CERT_HAS_EXPIRED`). */
export type SourceErrorCode =
  /** The secret or parameter does not exist, has no value, or is about to be deleted. */
  | 'SECRET_NOT_FOUND'
  /** The role may not read or decrypt it, or the AWS credentials are missing, refused or expired. */
  | 'SECRET_ACCESS_DENIED'
  /** It could not be read: the service is out of reach, throttles, or fails. */
  | 'SECRET_UNAVAILABLE'
  /** It is not the text of a JSON object. */
  | 'SECRET_INVALID'
  /** A field that is needed is not there, or empty. */
  | 'SECRET_FIELD_MISSING'
  /** A field has a value that cannot work. */
  | 'SECRET_FIELD_INVALID'
  /** The function in the option `credentials` threw. */
  | 'CREDENTIALS_FAILED'
  /** The client of the AWS SDK that reads the secret is not installed. */
  | 'AWS_SDK_MISSING'
  /** No connection to the endpoint, for a reason without a code of Node's. */
  | 'ENDPOINT_UNREACHABLE'
  /** The endpoint answered with a redirect. */
  | 'REDIRECTED'
  /** What answered does not speak HTTP. */
  | 'ANSWER_NOT_HTTP'
  /** The answer is larger than 1 MB. */
  | 'ANSWER_TOO_LARGE'
  /** The answer is not JSON. */
  | 'ANSWER_NOT_JSON'
  /** The answer is JSON, and not as RFC 6749 says. */
  | 'ANSWER_INVALID'
  /** The answer holds no access token, or one with white space or control characters in it. */
  | 'ACCESS_TOKEN_MISSING'
  /** The token is not a bearer token. */
  | 'TOKEN_TYPE_UNSUPPORTED'
  /** The answer says when the token ends, and that makes no sense. */
  | 'EXPIRY_INVALID'
  /** The signal was aborted, usually since the auth limit was reached. */
  | 'ABORTED'
  /** A defect here, or of one of the libraries. */
  | 'UNEXPECTED';

/** A failure that a source found itself; `message` says what happened and what to do, without any secret or text of the provider's. */
export function failure(code: SourceErrorCode, message: string, cause?: unknown): RefreshError {
  return new RefreshError(code, { message, cause: cause && bareCause(cause) });
}

/** The same failure, with a refresh token that has come all the same. */
export function withRefreshToken({ code, message, cause, retryAfter }: RefreshError, refreshToken: string): RefreshError {
  return new RefreshError(code, { message, cause, retryAfter, refreshToken });
}

export function aborted(): RefreshError {
  return failure('ABORTED', 'The refresh was given up before it was done: its signal was aborted.');
}

/** The provider answered, and said no. */
export class ProviderRefusal extends RefreshError {
  /** @param status of the HTTP answer; a refusal may come with 200 */
  constructor(code: string, readonly status: number, options: RefreshErrorOptions) {
    super(code, options);
  }
}

/** What may be stored and shown as a code. */
export function codeOf(value: unknown): string | undefined {
  return isStorableCode(value) ? value : undefined;
}

/** What may be known of an error: its name and code. Messages and fields of libraries' errors hold requests, answers and keys. */
export function bareCause(error: unknown): Error & { readonly code: string | undefined } {
  const { name, code } = Object(error) as { readonly name?: unknown; readonly code?: unknown };
  const said = { name: codeOf(name) ?? 'Error', code: codeOf(code) };
  return Object.assign(new Error(said.code ?? said.name), said);
}
