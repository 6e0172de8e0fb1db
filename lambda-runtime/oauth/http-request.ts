import { accessTokenIn } from './access-token';
import { checkHttpRequest } from './check-options';
import { type CredentialSource, credentialSource, textField } from './credentials';
import { exchange, type JsonAnswer, noToken } from './exchange';
import { failure } from './failures';
import type { CredentialFields, HttpRequestOptions } from './options';
import { fillIn } from './placeholders';
import { tokenLife } from './token-life';
import { withCredentials } from './with-credentials';
import type { Refresh, RefreshResult } from '../index';

/**
 * Fetches tokens from an endpoint that follows no standard: one JSON or form request, and an answer in JSON whose fields are told.
 *
 * `{{field}}` in header values and in the texts of `body`, at any depth, stands for that field of the secret. For an endpoint of OAuth use `clientCredentials`
 * or `refreshToken`.
 *
 * @throws SharedTokenError INVALID_OPTION, at once. The function that is returned throws a `RefreshError`, whose code is the provider's (the field `error` of
 * its answer), the HTTP status (`503`), Node's (`ECONNREFUSED`), or a {@link SourceErrorCode}.
 *
 * @example
 * const erp = new SharedToken('erp', {
 *   refresh: httpRequest({
 *     url: 'https://erp.example.com/session',
 *     credentials: { secretArn: process.env.ERP_SECRET }, // { "user": "...", "password": "..." }
 *     body: { user: '{{user}}', password: '{{password}}' },
 *     accessTokenField: 'session.token',
 *     expiresAtField: 'session.validUntil',
 *   }),
 * });
 */
export function httpRequest(options: HttpRequestOptions): Refresh {
  checkHttpRequest(options);
  const settings = { ...options, ...(options.body && { body: asJson(options.body) }) };
  const source = credentialSource(settings.credentials ?? {}, () => performance.now());
  return async ({ signal }) => withCredentials(source, signal, async fields => {
    const url = new URL(settings.url);
    const request = { method: settings.method ?? 'POST', headers: headersOf(settings, fields, source), body: bodyOf(settings, fields, source) };
    return resultOf(settings, url, await exchange(url, { ...request, signal }));
  });
}

/** A copy of what JSON says of it: dates are text there. */
function asJson<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

const CONTENT_TYPE = { json: 'application/json', form: 'application/x-www-form-urlencoded;charset=UTF-8' };

function headersOf({ headers = {}, body, format = 'json' }: HttpRequestOptions, fields: CredentialFields, source: CredentialSource): Headers {
  const filled = new Headers({ accept: 'application/json', ...(body && { 'content-type': CONTENT_TYPE[format] }) });
  for (const [name, value] of Object.entries(headers)) {
    const text = fillIn(value, field => textField(fields, field, source));
    try {
      filled.set(name, text);
    } catch {
      // The platform's message quotes the value.
      throw failure('SECRET_FIELD_INVALID', `With the fields of ${source.name}, the header "${name}" has characters that no header may have: see whether a field ` +
        'has a line break at its end.');
    }
  }
  return filled;
}

function bodyOf({ body, format = 'json' }: HttpRequestOptions, fields: CredentialFields, source: CredentialSource): string | undefined {
  if (!body) return undefined;
  const filled = fillIn(body, field => textField(fields, field, source));
  if (format === 'json') return JSON.stringify(filled);
  return new URLSearchParams(Object.entries(filled).map(([name, value]): [string, string] => [name, String(value)])).toString();
}

function resultOf(options: HttpRequestOptions, url: URL, answer: JsonAnswer): RefreshResult {
  const { accessTokenField = 'access_token', expiresInField, expiresAtField, tokenLifeSeconds } = options;
  const accessToken = accessTokenIn(valueAt(answer, accessTokenField));
  if (accessToken === undefined) throw noToken(url, answer, accessTokenField);
  // A field that was named must be there; the one that OAuth names may.
  const named = (field: string | undefined) => field === undefined ? undefined : valueAt(answer, field) ?? null;
  const expiresIn = expiresInField === undefined ? answer.expires_in : named(expiresInField);
  return { accessToken, ...tokenLife({ accessToken, expiresIn, expiresAt: named(expiresAtField), tokenLifeSeconds }, Date.now()) };
}

/** Follows a dotted path; a number in it is a place in an array. */
function valueAt(answer: JsonAnswer, path: string): unknown {
  return path.split('.').reduce<unknown>((value, name) => typeof value === 'object' && value !== null ? (value as JsonAnswer)[name] : undefined, answer);
}
