/** The outcome of a call with a token. */
export type Outcome<T> = { readonly value: T } | { readonly error: unknown };

/** The default test for "the API refused the token": status 401, on a response or on an error, as HTTP clients spell it. */
export function isUnauthorized(outcome: Outcome<unknown>): boolean {
  const subject = 'error' in outcome ? outcome.error : outcome.value;
  try {
    return saysUnauthorized(subject) || saysUnauthorized((Object(subject) as { readonly response?: unknown }).response);
  } catch {
    return false; // a getter of the value's own that throws
  }
}

function saysUnauthorized(subject: unknown): boolean {
  const { status, statusCode, $metadata } = Object(subject) as { status?: unknown; statusCode?: unknown; $metadata?: { httpStatusCode?: unknown } };
  return [status, statusCode, $metadata?.httpStatusCode].includes(401);
}
