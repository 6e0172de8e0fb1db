import type { RefreshResult } from '../index';
import { failure } from './failures';
import { decodeJwt } from './libraries';
import { LONGEST_LIFE_S } from '../../src/private/source-rules';

/** Below this, epoch seconds (until the year 5138); from here on, epoch milliseconds (since 1973). */
const FIRST_EPOCH_MS = 1e11;
const A_NUMBER = /^\d+(\.\d+)?$/;
/** `Date` finds a year in many a text, and without an offset it takes the own time zone. */
const ISO_8601 = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)$/;

/** What is known of a token's life. Of `expiresIn` and `expiresAt`, undefined: the answer does not speak of it; null: it says nothing where it should. */
export interface LifeStatements {
  readonly accessToken: string;
  /** Seconds, as a number or a numeric string. */
  readonly expiresIn: unknown;
  /** A moment: ISO 8601, or epoch in seconds or milliseconds. */
  readonly expiresAt?: unknown;
  /** The configured life in seconds, where the answer says nothing that makes sense. */
  readonly tokenLifeSeconds: number | undefined;
}

/** Either is absent: only a rejection ends the token. */
export type Life = Pick<RefreshResult, 'expiresIn' | 'expiresAt'>;

/**
 * When a token ends: as the answer says, else as the token itself says (the claim `exp` of a JWT), else as configured, else unknown.
 *
 * What makes no sense never counts as "unknown": then the configured life counts, and without one it is an error.
 *
 * @param now milliseconds since the epoch
 * @throws RefreshError EXPIRY_INVALID
 */
export function tokenLife({ accessToken, expiresIn, expiresAt, tokenLifeSeconds }: LifeStatements, now: number): Life {
  const moment = (value: unknown) => momentOf(value, now);
  const claim = (value: unknown) => typeof value === 'number' ? momentIn(value * 1_000, now) : undefined;
  const statements = [['the moment of expiry', expiresAt, moment], ['expires_in', expiresIn, lifeOf], ['the claim exp', expOf(accessToken), claim]] as const;
  const said = statements.find(([, value]) => value !== undefined && !isBlank(value));
  const life = said?.[2](said[1]);
  if (life) return life;
  if (tokenLifeSeconds !== undefined) return { expiresIn: tokenLifeSeconds };
  if (said) throw unknownLife(`The answer holds a token, and for ${said[0]} a value that makes no sense or lies in the past.`);
  if (isBlank(expiresIn) || isBlank(expiresAt)) throw unknownLife('The answer holds a token, and nothing where it should say when the token expires.');
  return {};
}

/** Many servers write so for "none". */
function isBlank(value: unknown): boolean {
  return value === null || value === '';
}

function unknownLife(what: string) {
  return failure('EXPIRY_INVALID', `${what} Set the life of a token (tokenLifeSeconds; tokenLife of a TokenSource), or the field that holds the expiry.`);
}

function lifeOf(value: unknown): Life | undefined {
  const seconds = numberOf(value);
  return seconds > 0 && seconds <= LONGEST_LIFE_S ? { expiresIn: seconds } : undefined;
}

function momentOf(value: unknown, now: number): Life | undefined {
  if (typeof value === 'string' && ISO_8601.test(value)) return momentIn(Date.parse(value), now);
  const number = numberOf(value);
  return momentIn(number < FIRST_EPOCH_MS ? number * 1_000 : number, now);
}

/** Only a moment to come; NaN is none. */
function momentIn(ms: number, now: number): Life | undefined {
  return ms > now && ms <= now + LONGEST_LIFE_S * 1_000 ? { expiresAt: ms } : undefined;
}

function numberOf(value: unknown): number {
  return typeof value === 'number' ? value : typeof value === 'string' && A_NUMBER.test(value.trim()) ? Number(value) : NaN;
}

/** Undefined where the token is no JWT, or has no such claim. */
function expOf(token: string): unknown {
  try {
    const { exp } = decodeJwt(token);
    return exp === null ? NaN : exp;
  } catch {
    return undefined;
  }
}
