import { SharedTokenError } from './errors';

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
}

/** Readable additions of later versions live here; names that this version does not know are kept. */
export interface Meta {
  /** How many generations in a row were rejected before half their life. */
  readonly earlyRejections?: number | undefined;
}

/** What a decision was based on: claim and late commit ask that it still be so. `undefined`: no token was ever stored. */
export type Base = Pick<StoredToken, 'generation' | 'issuedAt'> | undefined;

/** A token's item. */
export interface TokenItem {
  /** Stays when an operator removes the token alone. */
  readonly base?: Base;
  readonly token?: StoredToken | undefined;
  readonly refreshToken?: string | undefined;
  readonly lease?: Lease | undefined;
  readonly refreshMs?: number | undefined;
  readonly failure?: Failure | undefined;
  readonly meta?: Meta | undefined;
  /** DynamoDB's time to live, in epoch *seconds*. */
  readonly expireAfter?: number | undefined;
}

type Attributes = Readonly<Record<string, unknown>>;

/**
 * Reads an item that anybody may have written.
 *
 * @throws SharedTokenError INVALID_ITEM, naming the attribute and never its value
 */
export function parseItem(tokenId: string, attributes: Attributes | undefined): TokenItem | undefined {
  if (attributes === undefined) return undefined;
  const read = new AttributeReader(tokenId, attributes);
  const accessToken = read.text('accessToken');
  const generation = read.number('generation');
  const issuedAt = read.number('issuedAt');
  const base = accessToken === undefined && generation === undefined && issuedAt === undefined ? undefined : {
    generation: read.required('generation', generation),
    issuedAt: read.required('issuedAt', issuedAt),
  };
  return {
    base,
    token: accessToken === undefined || base === undefined ? undefined : { ...base, accessToken, expiresAt: read.number('expiresAt') },
    refreshToken: read.text('refreshToken'),
    lease: read.map('lease', lease => ({
      id: lease.required('id', lease.text('id')),
      since: lease.required('since', lease.number('since')),
      until: lease.required('until', lease.number('until')),
      holder: lease.text('holder') ?? '',
    })),
    refreshMs: read.number('refreshMs'),
    failure: read.map('failure', failure => ({
      code: failure.text('code') ?? 'UNKNOWN',
      count: failure.required('count', failure.number('count')),
      at: failure.required('at', failure.number('at')),
      retryAt: failure.required('retryAt', failure.number('retryAt')),
    })),
    meta: read.map('meta', meta => ({ earlyRejections: meta.number('earlyRejections') })),
    expireAfter: read.number('expireAfter'),
  };
}

class AttributeReader {
  constructor(private readonly tokenId: string, private readonly attributes: Attributes, private readonly path = '') {}

  text(name: string): string | undefined {
    return this.typed(name, 'a non-empty string', (value): value is string => typeof value === 'string' && value !== '');
  }

  number(name: string): number | undefined {
    return this.typed(name, 'a number', (value): value is number => typeof value === 'number' && Number.isFinite(value));
  }

  map<T>(name: string, parse: (attributes: AttributeReader) => T): T | undefined {
    const isMap = (value: unknown): value is Attributes => Object.prototype.toString.call(value) === '[object Object]';
    const value = this.typed(name, 'a map', isMap);
    return value && parse(new AttributeReader(this.tokenId, value, `${this.path}${name}.`));
  }

  required<T>(name: string, value: T | undefined): T {
    if (value === undefined) throw this.invalid(name, 'is missing');
    return value;
  }

  private typed<T>(name: string, expected: string, is: (value: unknown) => value is T): T | undefined {
    const value = Object.hasOwn(this.attributes, name) ? this.attributes[name] : undefined;
    if (value === undefined || is(value)) return value;
    throw this.invalid(name, `is not ${expected}`);
  }

  private invalid(name: string, what: string): SharedTokenError {
    return new SharedTokenError(
      'INVALID_ITEM',
      `Token "${this.tokenId}": the stored attribute "${this.path}${name}" ${what}, so something else wrote this item. ` +
        'It was left as it is; delete the item to have the token fetched anew.',
      { tokenId: this.tokenId },
    );
  }
}
