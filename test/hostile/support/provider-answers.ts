import fc from 'fast-check';
import { RefreshError, SharedTokenError } from '../../../lambda-runtime/errors';

/*
 * What a function of the user's may return or throw, whatever the types say.
 */

/** Stands in all texts of the provider: none of them is to be seen anywhere but as a token. */
export const PROVIDERS = 'text of the provider';

const TEXTS = ['', ' ', `${PROVIDERS} says no`, `${PROVIDERS}\r\nx: y`, 'x'.repeat(400_000), '\uD800', '__proto__', '3600', '1e400'];
const text = fc.oneof(fc.constantFrom(...TEXTS), fc.string({ maxLength: 12 }));
const HOSTILE: readonly unknown[] = [
  undefined, null, NaN, Infinity, -Infinity, 0, -1, 1e300, 2 ** 53, 10n ** 40n, true, Symbol(PROVIDERS), () => PROVIDERS,
  new Date(NaN), new Date(8.64e15), new Date(0), new String(PROVIDERS), new Number(3_600), new Map([[PROVIDERS, PROVIDERS]]), new Uint8Array(4),
  Object.create(null), [], [PROVIDERS],
];
/** They do something when they are asked. */
const ACTING: readonly unknown[] = [
  ...[() => PROVIDERS, () => 10n, thrower].map(getTime => Object.assign(new Date(), { getTime })),
  { toString: thrower, valueOf: thrower, toJSON: thrower },
];

function thrower(): never {
  throw new TypeError(PROVIDERS);
}

const anyValue = fc.oneof(
  { weight: 2, arbitrary: fc.constantFrom(...HOSTILE) },
  text,
  fc.integer(),
  fc.double(),
  fc.constantFrom<unknown>(['__proto__'], { error: PROVIDERS }, { status: 429 }),
  fc.anything({ maxDepth: 2, withBigInt: true, withBoxedValues: true, withDate: true, withNullPrototype: true, withTypedArray: true }),
);
const actingValue = fc.oneof({ weight: 5, arbitrary: anyValue }, { weight: 1, arbitrary: fc.constantFrom(...ACTING) });

/** Made when it is asked for: fast-check looks at values, and these strike back. */
type Made = () => unknown;

/** A plain record, in disguise. */
const disguised = (records: fc.Arbitrary<object>): fc.Arbitrary<Made> =>
  fc.tuple(records, fc.constantFrom(...DISGUISES)).map(([record, put]) => () => put(record));

const PLAIN = (record: object): object => record;
const DISGUISES: readonly ((record: object) => object)[] = [
  PLAIN, PLAIN, PLAIN,
  record => Object.assign(Object.create(null) as object, record),
  record => Object.freeze({ ...record }),
  record => new Proxy(record, {}),
  // Getters: one throws, one gives another value each time.
  ...[0, 1, 2, 3].map(place => (record: object) => withGetter(record, place, thrower)),
  record => {
    let looks = 0;
    return withGetter(record, 0, () => looks++ === 0 ? 'first-look' : { look: looks });
  },
  // Proxies of which one trap throws.
  ...(['get', 'has', 'ownKeys', 'getPrototypeOf', 'getOwnPropertyDescriptor'] as const).map(trap => (record: object) => new Proxy(record, { [trap]: thrower })),
  record => new Proxy(record, Object.fromEntries(['get', 'getPrototypeOf', 'getOwnPropertyDescriptor', 'ownKeys', 'has'].map(trap => [trap, thrower]))),
  revoked,
];

function withGetter(record: object, place: number, get: () => unknown): object {
  const name = Object.keys(record)[place] ?? 'accessToken';
  return Object.defineProperty({ ...record }, name, { get, enumerable: true });
}

function revoked(record: object): object {
  const { proxy, revoke } = Proxy.revocable(record, {});
  revoke();
  return proxy;
}

const usuallyOr = (values: fc.Arbitrary<unknown>) => (...usual: readonly unknown[]) =>
  fc.oneof({ weight: 8, arbitrary: fc.constantFrom(...usual) }, { weight: 2, arbitrary: values });

const answersOf = (values: fc.Arbitrary<unknown>) => {
  const usually = usuallyOr(values);
  const token = { accessToken: usually('fetched-token', 'é'), refreshToken: usually('fetched-refresh-token', null, '') };
  const expiry = { expiresIn: usually(3_600, '60'), expiresAt: usually(new Date('2099-01-01T00:00:00Z'), Date.parse('2099-01-01T00:00:00Z')) };
  return fc.oneof(
    fc.record({ ...token, expiresIn: expiry.expiresIn }, { requiredKeys: ['accessToken'] }),
    fc.record({ ...token, expiresAt: expiry.expiresAt }, { requiredKeys: ['accessToken'] }),
    fc.record({ ...token, ...expiry, access_token: values, ['__proto__']: values }, { requiredKeys: [] }),
  );
};

/** What `refresh` may return, without anything that acts when it is looked at. */
export const plainAnswer: fc.Arbitrary<unknown> = fc.oneof({ weight: 4, arbitrary: answersOf(anyValue) }, anyValue);

/** What `refresh` may return: near enough to an answer to be taken for it, or far from it. */
export const hostileAnswer: fc.Arbitrary<Made> = fc.oneof(
  { weight: 4, arbitrary: disguised(answersOf(actingValue)) },
  actingValue.map(value => () => value),
);

const usually = usuallyOr(actingValue);
const codes = usually('invalid_grant', '429', 'ECONNRESET', 'slow_down');
const retries = usually(30, '30', new Date('2099-01-01T00:00:00Z'));

const refreshError = fc.tuple(codes, retries, usually('saved-refresh-token', undefined), actingValue).map(([code, retryAfter, refreshToken, message]) => {
  try {
    return new RefreshError(code as string, { retryAfter, refreshToken, message } as ConstructorParameters<typeof RefreshError>[1]);
  } catch {
    return new RefreshError('not_a_text', { refreshToken } as ConstructorParameters<typeof RefreshError>[1]); // a symbol cannot be put into a message
  }
});
/** What looks like one of ours, and is the user's: the class is there for everybody. */
const sharedTokenError = fc.tuple(codes, fc.constantFrom('crm', undefined)).map(([code, tokenId]) =>
  Object.assign(new SharedTokenError('REFRESH_FAILED', PROVIDERS, { tokenId }), { code, name: code }));
const libraryError = fc.record({
  error: codes,
  code: codes,
  status: usually(503, 400, '401'),
  name: usually('HttpError'),
  retryAfter: retries,
  cause: actingValue,
  response: fc.oneof(actingValue, fc.record({ status: usually(429), data: actingValue, headers: actingValue })),
}, { requiredKeys: [] }).map(fields => Object.assign(new Error(PROVIDERS), fields));

/** What `refresh` may throw. */
export const hostileThrown: fc.Arbitrary<Made> = fc.oneof(
  refreshError.map(error => () => error),
  sharedTokenError.map(error => () => error),
  disguised(fc.oneof<fc.Arbitrary<object>[]>(libraryError, refreshError, sharedTokenError)),
  actingValue.map(value => () => value),
);

/** The ways in which `refresh` may answer. */
export const hostileRefresh: fc.Arbitrary<Made> = fc.oneof(
  { weight: 3, arbitrary: hostileAnswer },
  { weight: 3, arbitrary: hostileAnswer.map(made => async () => made()) },
  { weight: 3, arbitrary: hostileAnswer.map(made => () => ({ then: (resolve: (value: unknown) => void) => { resolve(made()); } })) },
  hostileThrown.map(made => () => { throw made(); }),
  hostileThrown.map(made => async () => { throw made(); }),
  hostileThrown.map(made => () => ({
    then(resolve: (value: unknown) => void, reject: (error: unknown) => void) {
      reject(made());
      resolve({ accessToken: 'too-late' });
      throw made();
    },
  })),
  fc.constant(() => Object.defineProperty({}, 'then', { get: thrower })),
);
