import { CLIENT_AUTHENTICATION_METHODS } from './client-authentication';
import { isReference } from './credentials';
import { ENDPOINT_RULE, isEndpoint } from './endpoint';
import type { ClientCredentialsOptions, HttpRequestOptions, RefreshTokenOptions } from './options';
import { placeholdersIn } from './placeholders';
import { isFieldPath, isReservedParameter, isScope, isTokenLife, METHODS, RESERVED_PARAMETERS } from '../../src/private/source-rules';
import { SharedTokenError } from '../index';

/*
 * What users pass in, checked once, when a source is made: they may write JavaScript, or hold settings of another version. Messages name options, never values.
 */

type Check = (value: unknown) => boolean;
type Rule = readonly [Check, string];

const isText: Check = value => typeof value === 'string' && value !== '';
const isObject = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === 'object' && value !== null && !Array.isArray(value);
const isOneOf = (known: readonly string[]): Check => value => known.includes(value as string);

const A_TEXT: Rule = [isText, 'a non-empty string'];
const AN_ENDPOINT: Rule = [isEndpoint, ENDPOINT_RULE];
const A_PATH: Rule = [value => typeof value === 'string' && isFieldPath(value), 'the path of a field, such as "token" or "data.token"'];

const COMMON: Readonly<Record<'credentials' | 'tokenLifeSeconds', Rule>> = {
  credentials: [
    areCredentials,
    'one of { secretArn }, { parameterName }, an object of fields, and a function that returns one; a name must not be empty (is the variable set?)',
  ],
  tokenLifeSeconds: [value => typeof value === 'number' && isTokenLife(value), 'a number of seconds, from one to those of a hundred years'],
};

const TOKEN_ENDPOINT: Readonly<Record<keyof ClientCredentialsOptions & keyof RefreshTokenOptions, Rule>> = {
  tokenUrl: AN_ENDPOINT,
  ...COMMON,
  clientAuthentication: [isOneOf(CLIENT_AUTHENTICATION_METHODS), `one of ${CLIENT_AUTHENTICATION_METHODS.join(', ')}`],
  scopes: [areScopes, 'an array of non-empty strings, at least one, without spaces, quotes, backslashes and what is not ASCII; leave it out if the server decides'],
  audience: A_TEXT,
  resource: A_TEXT,
  parameters: [
    value => isObject(value) && Object.entries(value).every(([name, text]) => typeof text === 'string' && !isReservedParameter(name)),
    `an object of strings, without ${RESERVED_PARAMETERS.join(', ')}: those come from the credentials and from options of their own`,
  ],
};

const HTTP_REQUEST: Readonly<Record<keyof HttpRequestOptions, Rule>> = {
  url: AN_ENDPOINT,
  ...COMMON,
  method: [isOneOf(METHODS), `one of ${METHODS.join(', ')}`],
  headers: [areHeaders, 'an object of strings, with names and values that a header may have'],
  format: [isOneOf(['json', 'form']), 'json or form'],
  body: [value => isObject(value) && isJson(value), 'an object that JSON can express'],
  accessTokenField: A_PATH,
  expiresInField: A_PATH,
  expiresAtField: A_PATH,
};

/** @throws SharedTokenError INVALID_OPTION */
export function checkClientCredentials(options: ClientCredentialsOptions): void {
  check('clientCredentials', options, TOKEN_ENDPOINT, ['tokenUrl', 'credentials']);
}

/** @throws SharedTokenError INVALID_OPTION */
export function checkRefreshToken(options: RefreshTokenOptions): void {
  check('refreshToken', options, TOKEN_ENDPOINT, ['tokenUrl', 'credentials']);
}

/** @throws SharedTokenError INVALID_OPTION */
export function checkHttpRequest(options: HttpRequestOptions): void {
  check('httpRequest', options, HTTP_REQUEST, ['url']);
  const { method = 'POST', headers, format, body = {}, credentials } = options;
  const invalid = (what: string) => invalidOption('httpRequest', what);
  if (method === 'GET' && options.body) throw invalid('a GET request has no body: leave out "body", or set "method".');
  if (format === 'form' && Object.values(body).some(value => !['string', 'number', 'boolean'].includes(typeof value))) {
    throw invalid('with the format "form", the values in "body" must be strings, numbers or booleans.');
  }
  const placeholders = placeholdersIn([headers, body]);
  if (placeholders.includes('')) throw invalid('the placeholder "{{}}" names no field: write the name of a field between the braces, or remove them.');
  const [placeholder] = placeholders;
  if (placeholder !== undefined && !credentials) throw invalid(`the placeholder "{{${placeholder}}}" needs the option "credentials".`);
}

export function invalidOption(factory: string, what: string): SharedTokenError {
  return new SharedTokenError('INVALID_OPTION', `${factory}: ${what}`);
}

function check(factory: string, options: object, rules: Readonly<Record<string, Rule>>, required: readonly string[]): void {
  if (!isObject(options)) throw invalidOption(factory, 'the options are not an object.');
  for (const [name, value] of Object.entries(options)) {
    const rule = Object.hasOwn(rules, name) ? rules[name] : undefined;
    if (!rule) throw invalidOption(factory, `there is no option "${name}". Known: ${Object.keys(rules).join(', ')}.`);
    if (value !== undefined && !rule[0](value)) throw invalidOption(factory, `the option "${name}" must be ${rule[1]}.`);
  }
  const missing = required.find(name => options[name] === undefined);
  if (missing) throw invalidOption(factory, `the option "${missing}" is missing: it must be ${rules[missing]![1]}.`);
}

function areCredentials(value: unknown): boolean {
  if (typeof value === 'function') return true;
  if (!isObject(value)) return false;
  return !isReference(value) || (Object.keys(value).length === 1 && isText(value.secretArn ?? value.parameterName));
}

function areScopes(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 && value.every(isScope);
}

/** Neither a circle nor a BigInt. */
function isJson(value: unknown): boolean {
  try {
    return JSON.stringify(value) !== undefined;
  } catch {
    return false;
  }
}

/** The platform knows what a header may be; a placeholder may be any part of a value. */
function areHeaders(value: unknown): boolean {
  if (!isObject(value) || !Object.values(value).every(text => typeof text === 'string')) return false;
  try {
    return new Headers(value as Record<string, string>) !== undefined;
  } catch {
    return false;
  }
}
