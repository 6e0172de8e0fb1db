import { isStorableCode } from './storable-code';
import { tokenError } from './token-error';
import type { AttributeName } from '../src/private/contract';

/** The token itself, as commit wrote it. */
export interface StoredToken {
  readonly accessToken: string;
  readonly generation: number;
  /** When the auth request that brought it was started, by the table's clock. */
  readonly issuedAt: number;
  /** Absent: the provider gives none, so only a rejection ends the token. */
  readonly expiresAt?: number | undefined;
}

/** The temporary right to refresh. */
export interface Lease {
  readonly id: string;
  readonly since: number;
  readonly until: number;
  /** For people: which function and request has it. */
  readonly holder: string;
}

/** The last refresh that failed, shared by all: nobody tries again before `retryAt`. */
export interface Failure {
  readonly code: string;
  readonly count: number;
  readonly at: number;
  readonly retryAt: number;
  /** Of a refresh that nobody needed: it keeps nobody from one that somebody does. */
  readonly forced?: boolean | undefined;
}

/** Readable additions of later versions live here; names that this version does not know are kept. */
export interface Meta {
  /** How many generations in a row were rejected before half their life. */
  readonly earlyRejections?: number | undefined;
  /** What the token came from, as its refresher names it: one that came from another is due. */
  readonly source?: string | undefined;
}

/** What a decision was based on: claim and late commit ask that it still be so. `undefined`: no token was ever stored. */
export type Base = Pick<StoredToken, 'generation' | 'issuedAt'> | undefined;

/** Is it the same token still? */
export function isSameBase(one: Base, other: Base): boolean {
  return one?.generation === other?.generation && one?.issuedAt === other?.issuedAt;
}

/** A token's item. */
export interface TokenItem {
  /** Stays when an operator removes the token alone. */
  readonly base?: Base;
  readonly token?: StoredToken | undefined;
  readonly refreshToken?: string | undefined;
  /** The refresh token is of before the encryption was turned on. */
  readonly isToEncrypt?: boolean;
  readonly lease?: Lease | undefined;
  readonly refreshMs?: number | undefined;
  readonly failure?: Failure | undefined;
  readonly meta?: Meta | undefined;
  /** DynamoDB's time to live, in epoch *seconds*. */
  readonly expireAfter?: number | undefined;
}

/** The last moment that a `Date` knows. No number of an item is larger: it could not be counted on, since the SDK writes no integer beyond 2^53. */
export const LAST_MOMENT = 8.64e15;

type Attributes = Readonly<Record<string, unknown>>;

/** What an attribute may be: the words for it, and the test. */
type Type<T> = readonly [name: string, is: (value: unknown) => value is T];
type Types = Readonly<Record<string, Type<unknown>>>;
type Read<S extends Types> = { readonly [N in keyof S]: S[N] extends Type<infer T> ? T : never };

const TEXT: Type<string> = ['a non-empty string', (value): value is string => typeof value === 'string' && value !== ''];
const NUMBER: Type<number> = ['a number', (value): value is number => typeof value === 'number' && Math.abs(value) <= LAST_MOMENT];
const MAP: Type<Attributes> = ['a map', (value): value is Attributes => Object.prototype.toString.call(value) === '[object Object]'];

const FLAG: Type<boolean> = ['true or false', (value): value is boolean => typeof value === 'boolean'];

const optional = <T>([name, is]: Type<T>): Type<T | undefined> => [name, (value): value is T | undefined => value === undefined || is(value)];
const SOME_TEXT = optional(TEXT);
const SOME_NUMBER = optional(NUMBER);
const SOME_MAP = optional(MAP);
const SOME_FLAG = optional(FLAG);

/** The attributes of this protocol; any other is none of its business. */
const ITEM = {
  accessToken: SOME_TEXT,
  generation: SOME_NUMBER,
  issuedAt: SOME_NUMBER,
  expiresAt: SOME_NUMBER,
  refreshToken: SOME_TEXT,
  lease: SOME_MAP,
  refreshMs: SOME_NUMBER,
  failure: SOME_MAP,
  meta: SOME_MAP,
  expireAfter: SOME_NUMBER,
} satisfies Record<Exclude<AttributeName, 'tokenId'>, Type<unknown>>;
const BASE = { generation: NUMBER, issuedAt: NUMBER };
const LEASE = { id: TEXT, since: NUMBER, until: NUMBER, holder: SOME_TEXT };
const FAILURE = { code: SOME_TEXT, count: NUMBER, at: NUMBER, retryAt: NUMBER, forced: SOME_FLAG };
const META = { earlyRejections: SOME_NUMBER, source: SOME_TEXT };

/**
 * Reads an item that anybody may have written.
 *
 * @throws SharedTokenError INVALID_ITEM, naming the attribute and never its value
 */
export function parseItem(tokenId: string, attributes: Attributes | undefined): TokenItem | undefined {
  if (!attributes) return undefined;

  const read = <S extends Types>(types: S, map: Attributes, path = ''): Read<S> => {
    const found: Record<string, unknown> = {};
    for (const name in types) {
      const value = Object.hasOwn(map, name) ? map[name] : undefined;
      const [type, is] = types[name] as Type<unknown>;
      if (!is(value)) {
        throw tokenError(tokenId, 'INVALID_ITEM', `the stored attribute "${path}${name}" is not ${type}, so something else wrote this item: ` +
          'delete the item to have the token fetched anew.');
      }
      found[name] = value;
    }
    return found as Read<S>;
  };

  const { accessToken, generation, issuedAt, expiresAt, refreshToken, lease, refreshMs, failure, meta, expireAfter } = read(ITEM, attributes);
  const base = (accessToken ?? generation ?? issuedAt) === undefined ? undefined : read(BASE, attributes);
  return {
    base,
    token: accessToken && base ? { accessToken, generation: base.generation, issuedAt: base.issuedAt, expiresAt } : undefined,
    refreshToken,
    lease: lease && readLease(read(LEASE, lease, 'lease.')),
    refreshMs,
    failure: failure && readFailure(read(FAILURE, failure, 'failure.')),
    meta: meta && read(META, meta, 'meta.'),
    expireAfter,
  };
}

/** For messages, logs and terminals, where a line must not pass for two: control characters, also those that turn text around, are not shown. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '?');
}

/** A moment for people, in ISO 8601; it may not be known. */
export function momentOf(at = NaN): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? 'an unknown time' : date.toISOString();
}

const readLease = ({ id, since, until, holder = '' }: Read<typeof LEASE>): Lease => ({ id, since, until, holder: printable(holder) });
const readFailure = ({ code, count, at, retryAt, forced }: Read<typeof FAILURE>): Failure =>
  ({ code: isStorableCode(code) ? code : 'UNKNOWN', count, at, retryAt, forced });
