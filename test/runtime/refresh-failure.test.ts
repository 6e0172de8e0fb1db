import { RefreshError, SharedTokenError } from '../../lambda-runtime/errors';
import { failureOf, isFinal, type RefreshFailure, toFailure } from '../../lambda-runtime/refresh-failure';
import { tokenError } from '../../lambda-runtime/token-error';

const NOW = 1_700_000_000_000;
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const failed = (thrown: unknown): RefreshFailure => failureOf('crm', thrown, NOW);
const codeOf = (thrown: unknown): string => failed(thrown).code;
const retryAfterOf = (retryAfter: unknown): number => failed({ retryAfter }).retryAfterMs;

describe('the code', () => {
  test('is the first usable of error, code, status, the cause\'s code, and name', () => {
    const all = { error: 'invalid_grant', code: 'E_CODE', status: 400, cause: { code: 'ECONNRESET' }, name: 'HttpError' };
    expect(codeOf(all)).toBe('invalid_grant');
    expect(codeOf({ ...all, error: undefined })).toBe('E_CODE');
    expect(codeOf({ ...all, error: undefined, code: null })).toBe('400');
    expect(codeOf({ cause: all.cause, name: all.name })).toBe('ECONNRESET');
    expect(codeOf({ name: all.name })).toBe('HttpError');
  });

  test('of what Node and fetch throw', () => {
    expect(codeOf(Object.assign(new TypeError('fetch failed'), { cause: Object.assign(new Error('x'), { code: 'UND_ERR_CONNECT_TIMEOUT' }) })))
      .toBe('UND_ERR_CONNECT_TIMEOUT');
    expect(codeOf(new RangeError('out of range'))).toBe('RangeError');
    expect(codeOf(new RefreshError('429'))).toBe('429');
    expect(codeOf({ status: 503 })).toBe('503');
    expect(codeOf({ status: '503' })).toBe('503');
  });

  test.each([undefined, null, 'a text', 7, true, {}, [], () => undefined])('of %p thrown is refresh_failed', thrown => {
    expect(codeOf(thrown)).toBe('refresh_failed');
  });

  test('is never a provider\'s text: what has spaces or is longer than 40 is not used, nor what looks like a credential', () => {
    const longest = 'a'.repeat(40);
    expect(codeOf({ error: longest })).toBe(longest);
    for (const text of [`${longest}a`, 'The client is unknown', 'a/b', 'a=b', 'tokén', '', ' x', 'x\n', 'sk_live_4eC39HqLyjWDarjtT1zdp7dc', 'eyJhbGciOiJIUzI1NiJ9.e30', { nested: 'x' }, ['x'], true]) {
      expect(codeOf({ error: text, code: 'E_CODE' })).toBe('E_CODE');
      expect(codeOf({ error: text })).toBe('refresh_failed');
    }
  });

  test('is never a code that is a number, which libraries count in ways of their own', () => {
    expect(codeOf({ code: 11, name: 'MongoError' })).toBe('MongoError');
  });

  test('of what has getters that throw is refresh_failed, and asks for no pause', () => {
    const hostile = { status: 429, get retryAfter(): never { throw new Error('a getter\'s own trouble'); } };
    expect(failed(hostile)).toMatchObject({ code: 'refresh_failed', terminal: false, retryAfterMs: 0 });
  });

  test('and Retry-After of an HTTP client\'s error are those of its response', () => {
    const response = { status: 400, data: { error: 'temporarily_unavailable' }, headers: { 'retry-after': '90' } };
    expect(failed({ code: 'ERR BAD REQUEST', response })).toMatchObject({ code: 'temporarily_unavailable', retryAfterMs: 90 * SECOND });
  });

  test('a cause without a usable code is passed over', () => {
    for (const cause of [undefined, null, 'text', 7, {}, { code: 'a text' }]) expect(codeOf({ cause, name: 'HttpError' })).toBe('HttpError');
  });
});

describe('terminal answers', () => {
  test.each(['invalid_client', 'invalid_grant', 'unauthorized_client', 'unsupported_grant_type', 'invalid_scope', 'access_denied', '401', '403'])('%s', code => {
    expect(failed({ error: code }).terminal).toBe(true);
    expect(failed(new RefreshError(code)).terminal).toBe(true);
  });

  test.each(['temporarily_unavailable', 'slow_down', '429', '503', 'ECONNRESET', 'INVALID_GRANT', 'refresh_failed'])('%s is none', code => {
    expect(failed({ error: code }).terminal).toBe(false);
  });

  test('and answers that no second try cures are final for the call that got them', () => {
    expect(isFinal(failed({ error: 'invalid_client' }))).toBe(true);
    for (const code of ['INVALID_REFRESH_RESULT', 'TOKEN_TOO_LARGE'] as const) {
      expect(isFinal(failed(tokenError('crm', code, 'x')))).toBe(true);
    }
    expect(isFinal(failed(tokenError('crm', 'REFRESH_TIMED_OUT', 'x')))).toBe(false);
    expect(isFinal(failed({ status: 503 }))).toBe(false);
  });
});

describe('Retry-After', () => {
  test.each([[30, 30], [0.5, 0.5], ['30', 30], [' 30 ', 30], ['1.5', 1.5], ['1.25', 1.25], [1, 1]])('%p seconds', (value, seconds) => {
    expect(retryAfterOf(value)).toBe(seconds * SECOND);
  });

  test('an HTTP date or a Date', () => {
    expect(retryAfterOf(new Date(NOW + 90 * SECOND).toUTCString())).toBe(90 * SECOND);
    expect(retryAfterOf(new Date(NOW + 90 * SECOND))).toBe(90 * SECOND);
    expect(retryAfterOf(new Date(NOW + 90 * SECOND).toISOString())).toBe(90 * SECOND);
  });

  test('a moment that has passed asks for nothing', () => {
    for (const past of [new Date(NOW), new Date(NOW - 1), new Date(NOW - MINUTE).toUTCString(), new Date(0)]) expect(retryAfterOf(past)).toBe(0);
  });

  test.each([
    undefined, null, 0, -1, -3600, NaN, Infinity, -Infinity, '', '  ', 'soon', 'NaN', '5 minutes', '1e3', '0x10',
    true, {}, [], [60], 60n, new Date(NaN),
  ])('%p makes no sense and asks for nothing', value => expect(retryAfterOf(value)).toBe(0));

  test.each(['-1', '-5', '-120', '-3600', '-99999', '-1.5'])('%p, a negative number as text, asks for nothing', value => {
    expect(retryAfterOf(value)).toBe(0);
  });

  test.each(['later 2099', 'try 9999', '$3000', 'at Fri, 31 Dec 9999 23:59:59 GMT', 'at 9999-12-31T23:59:59Z', '9999-12-31T23:59:59Z at last'])('%p, a text in which a lenient parser finds a year, asks for nothing', value => {
    expect(retryAfterOf(value)).toBe(0);
  });

  test.each([1e9, '999999999', new Date(8.64e15), 'Fri, 31 Dec 9999 23:59:59 GMT'])('%p is absurd, and is cut to five minutes', value => {
    const { retryAt, at } = toFailure(failed({ status: 429, retryAfter: value }), undefined, NOW);
    expect(retryAt - at).toBe(5 * MINUTE);
  });

  test('of a RefreshError counts', () => {
    expect(failed(new RefreshError('429', { retryAfter: '7' }))).toMatchObject({ code: '429', terminal: false, retryAfterMs: 7 * SECOND });
    expect(failed(new RefreshError('429', { retryAfter: null })).retryAfterMs).toBe(0);
    expect(failed(new RefreshError('429')).retryAfterMs).toBe(0);
  });
});

test('what the table records is a code, a count, and two moments; no text', () => {
  expect(toFailure(failed(Object.assign(new Error('secret text'), { status: 503 })), undefined, NOW))
    .toEqual({ code: '503', count: 1, at: NOW, retryAt: NOW + SECOND });
});

describe('the error for the callers', () => {
  test('is typed, names the token id and the code, and keeps what was thrown as its cause alone', () => {
    const thrown = Object.assign(new Error('sentinel-9f2c'), { error: 'invalid_grant', error_description: 'sentinel-9f2c' });
    const { error } = failed(thrown);
    expect(error).toBeInstanceOf(SharedTokenError);
    expect(error).toMatchObject({ code: 'REFRESH_FAILED', tokenId: 'crm', cause: thrown });
    expect(error.message).toContain('"crm"');
    expect(error.message).toContain('invalid_grant');
    expect(error.message).not.toContain('sentinel');
  });

  test('an error of another token is what refresh threw', () => {
    const other = tokenError('erp', 'COOLING_DOWN', 'x');
    expect(failed(other).error).toMatchObject({ code: 'REFRESH_FAILED', tokenId: 'crm', cause: other });
  });

  test('one of our class that the user made is what refresh threw, too', () => {
    const users = new SharedTokenError('COOLING_DOWN', 'sentinel-9f2c', { tokenId: 'crm' });
    expect(failed(users)).toMatchObject({ code: 'COOLING_DOWN', error: { code: 'REFRESH_FAILED', message: expect.not.stringContaining('sentinel'), cause: users } });
  });

  test('our own errors stay what they are', () => {
    const own = tokenError('crm', 'INVALID_REFRESH_RESULT', 'x');
    expect(failed(own)).toEqual({ code: 'INVALID_REFRESH_RESULT', terminal: false, retryAfterMs: 0, error: own });
  });
});
