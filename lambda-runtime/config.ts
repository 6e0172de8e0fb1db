import { SharedTokenError } from './errors';
import type { CallOptions, ForcedRefreshOptions, SharedTokenOptions, UseOptions } from './public-types';
import { answerMargin, DEFAULT_CALL_LIMIT_MS } from './timing';
import { tokenError } from './token-error';
import { ENV, KEY_SEPARATOR, TOKEN_ID_MAX_BYTES } from '../src/private/contract';

/*
 * What users pass in, checked once; and what attachTo put into the environment.
 */

type Check = (value: unknown) => boolean;
const isFunction: Check = value => typeof value === 'function';
const isDuration: Check = value => Number.isFinite(value) && (value as number) > 0;
const isText: Check = value => typeof value === 'string' && value !== '';

const A_FUNCTION = [isFunction, 'a function'] as const;
const A_DURATION = [isDuration, 'a number of milliseconds above zero'] as const;

const TOKEN_OPTIONS: Record<keyof SharedTokenOptions, readonly [Check, string]> = {
  refresh: A_FUNCTION,
  refresher: [isText, 'the name or ARN of a Lambda function'],
  source: [isText, 'text that names what refresh asks'],
  table: [isText, 'the name or ARN of a table'],
  authLimitMs: A_DURATION,
  onEvent: A_FUNCTION,
};

/** `Date` finds a year in many a text. */
const ISO_8601 = /^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)$/;
/** Epoch *seconds* would be in 1970, and no token would ever be older. */
const isMoment: Check = value => (typeof value === 'number' || value instanceof Date || (typeof value === 'string' && ISO_8601.test(value)))
  && new Date(value).getTime() > 1e11;

const isAsk: Check = value => {
  const { generation, fingerprint } = Object(value) as { readonly generation?: unknown; readonly fingerprint?: unknown };
  return typeof value === 'object' && value !== null
    && (generation === undefined ? fingerprint === undefined : Number.isFinite(generation) && isText(fingerprint));
};

/** Of any call; those of another method are ignored. */
const CALL_OPTIONS: Record<keyof UseOptions<unknown> | keyof ForcedRefreshOptions, readonly [Check, string]> = {
  context: [value => isFunction((value as { getRemainingTimeInMillis?: unknown } | null)?.getRemainingTimeInMillis), 'the context of a Lambda invocation'],
  signal: [value => value instanceof AbortSignal, 'an AbortSignal'],
  timeoutMs: A_DURATION,
  isRejection: A_FUNCTION,
  since: [isMoment, 'a Date, milliseconds since the epoch, or ISO 8601 text'],
  asked: [isAsk, 'what a reader reports: { generation, fingerprint }, or {}'],
};

/** @throws SharedTokenError INVALID_TOKEN_ID */
export function checkTokenId(tokenId: unknown): asserts tokenId is string {
  const bytes = typeof tokenId === 'string' ? Buffer.byteLength(tokenId) : undefined;
  if (bytes && bytes <= TOKEN_ID_MAX_BYTES) return;
  const got = bytes !== undefined ? `one of ${bytes} bytes` : typeof tokenId === 'object' && tokenId ? 'an object' : String(tokenId);
  throw new SharedTokenError('INVALID_TOKEN_ID', `A token id is a string of 1 to ${TOKEN_ID_MAX_BYTES} bytes, got ${got}.`);
}

/** @throws SharedTokenError INVALID_OPTION */
export function checkTokenOptions(tokenId: string, options: SharedTokenOptions): void {
  checkOptions(tokenId, options, TOKEN_OPTIONS);
}

/** @throws SharedTokenError INVALID_OPTION */
export function checkCall(tokenId: string, call: unknown): void {
  if (!isFunction(call)) throw tokenError(tokenId, 'INVALID_OPTION', 'use takes a function that calls the API with the token it is given.');
}

/** @throws SharedTokenError INVALID_OPTION */
export function checkCallOptions(tokenId: string, options: CallOptions): void {
  checkOptions(tokenId, options, CALL_OPTIONS);
}

function checkOptions(tokenId: string, options: object, known: Readonly<Record<string, readonly [Check, string]>>): void {
  const invalid = (what: string) => tokenError(tokenId, 'INVALID_OPTION', what);
  if (typeof options !== 'object' || options === null) throw invalid('the options are not an object.');
  for (const [name, value] of Object.entries(options)) {
    const option = Object.hasOwn(known, name) ? known[name] : undefined;
    if (!option) throw invalid(`there is no option "${name}". Known: ${Object.keys(known).join(', ')}.`);
    if (value !== undefined && !option[0](value)) throw invalid(`the option "${name}" must be ${option[1]}.`);
  }
}

/** Milliseconds since the epoch; Infinity, the default, stands for now: a forced refresh cuts it to the table's time. */
export function sinceOf(since: ForcedRefreshOptions['since'] = Infinity): number {
  return typeof since === 'number' ? since : new Date(since).getTime();
}

/** A key that is cut off, or behind the wrong character, must not have tokens stored in plain. */
const TABLE = new RegExp(`^[^${KEY_SEPARATOR}]+(${KEY_SEPARATOR}arn:[^:]+:kms:[^:]+:\\d+:key/[\\w-]+)?$`);

/** @throws SharedTokenError TABLE_NOT_CONFIGURED, or INVALID_OPTION where the key is none */
export function tableOf(tokenId: string, options: SharedTokenOptions): string {
  const table = options.table ?? process.env[ENV.TABLE];
  if (table) {
    if (TABLE.test(table)) return table;
    throw tokenError(tokenId, 'INVALID_OPTION', `what follows "${KEY_SEPARATOR}" in the name of the table is not the ARN of a KMS key.`);
  }
  throw tokenError(tokenId, 'TABLE_NOT_CONFIGURED', 'no table. Attach the function in its stack (tokens.attachTo(fn)), ' +
    `set the variable ${ENV.TABLE}, or pass the option "table".`);
}

/**
 * Whom a reader asks.
 *
 * @throws SharedTokenError INVALID_OPTION where the variable holds something else
 */
export function refresherOf(tokenId: string, { refresh, refresher }: SharedTokenOptions): string | undefined {
  if (refresh ?? refresher) return refresher;
  const variable = process.env[ENV.REFRESHERS];
  if (!variable) return undefined;
  try {
    const names: unknown = JSON.parse(variable);
    const name = Object.hasOwn(names as object, tokenId) ? (names as Record<string, unknown>)[tokenId] : undefined;
    if (typeof names === 'object' && (name === undefined || isText(name))) return name as string | undefined;
  } catch {
    // Not even JSON.
  }
  throw tokenError(tokenId, 'INVALID_OPTION', `the variable ${ENV.REFRESHERS} is not a JSON object of token ids and function names. Attach the function (refresher.attachTo), or pass the option "refresher".`);
}

/** How long one call may take: its own option, what the invocation has left, or the function's timeout; less a margin in which to answer. */
export function callLimitMs({ timeoutMs = DEFAULT_CALL_LIMIT_MS, context }: CallOptions): number {
  const invocation = context ? context.getRemainingTimeInMillis() : functionTimeoutMs();
  return Math.min(timeoutMs, invocation - answerMargin(invocation));
}

function functionTimeoutMs(): number {
  const timeout = Number(process.env[ENV.FUNCTION_TIMEOUT_MS]);
  return timeout > 0 ? timeout : Infinity;
}

/** For the lease: which function and request holds it. */
export function holderName({ context }: CallOptions): string {
  const name = process.env.AWS_LAMBDA_FUNCTION_NAME ?? 'process';
  return `${name} ${context?.awsRequestId ?? process.pid}`.slice(0, 256);
}
