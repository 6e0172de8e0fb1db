import { SharedTokenError } from '../../lambda-runtime/errors';
import type { RefreshResult } from '../../lambda-runtime/public-types';
import { type FreshToken, validateRefreshResult } from '../../lambda-runtime/refresh-result';

const ISSUED = 1_700_000_000_000;
const SENTINEL = 'sentinel-9f2c';

/** What a JavaScript caller may return, whatever the types say. */
const validate = (result: unknown): FreshToken => validateRefreshResult('crm', result as RefreshResult, ISSUED);
const errorFor = (result: unknown): SharedTokenError => {
  try {
    validate(result);
  } catch (error) {
    if (error instanceof SharedTokenError) return error;
    throw error;
  }
  throw new Error(`Expected ${String(result)} to be refused`);
};
const expectInvalid = (result: unknown, field: string): void => {
  const error = errorFor(result);
  expect(error).toMatchObject({ code: 'INVALID_REFRESH_RESULT', tokenId: 'crm' });
  expect(error.message).toContain('"crm"');
  expect(error.message).toContain(field);
  expect(`${error.message} ${String(error.stack)} ${JSON.stringify(error)}`).not.toContain(SENTINEL);
};

describe('the access token', () => {
  test.each([undefined, null, 'token', 42, true])('an answer that is no object (%p) is refused, and says what to return', result => {
    expectInvalid(result, 'accessToken');
    expect(errorFor(result).message).toMatch(/returned (nothing|a \w+): return/);
  });

  test.each([
    ['missing', {}],
    ['undefined', { accessToken: undefined }],
    ['null', { accessToken: null }],
    ['empty', { accessToken: '' }],
    ['blank', { accessToken: ' \t\n' }],
    ['a number', { accessToken: 12345 }],
    ['an object', { accessToken: { value: SENTINEL } }],
    ['spelt as OAuth does', { access_token: SENTINEL, expires_in: 3600 }],
    ['an array', [SENTINEL]],
  ])('that is %s is refused', (_, result) => expectInvalid(result, 'accessToken'));

  test('of 390 KB is accepted, one byte more is too large; refresh token and multi-byte characters count', () => {
    const largest = 390 * 1024;
    expect(validate({ accessToken: 'a'.repeat(largest) }).accessToken).toHaveLength(largest);
    expect(validate({ accessToken: 'a'.repeat(largest - 10), refreshToken: 'r'.repeat(10) }).refreshToken).toHaveLength(10);
    for (const tooLarge of [
      { accessToken: 'a'.repeat(largest + 1) },
      { accessToken: 'é'.repeat(largest / 2) + 'a' },
      { accessToken: 'a'.repeat(largest - 10), refreshToken: 'r'.repeat(11) },
    ]) {
      const error = errorFor(tooLarge);
      expect(error).toMatchObject({ code: 'TOKEN_TOO_LARGE', tokenId: 'crm' });
      expect(error.message).toContain('"crm"');
      expect(error.message).toContain(`${largest + 1} bytes`);
      expect(error.message.length).toBeLessThan(500);
    }
  });
});

describe('expiresIn', () => {
  test.each([[3600, 3_600_000], ['3600', 3_600_000], [' 60 ', 60_000], [0.5, 500], ['1.5', 1_500], [0.0004, 0]])('%p seconds', (expiresIn, ms) => {
    expect(validate({ accessToken: 'a', expiresIn }).expiresAt).toBe(ISSUED + ms);
  });

  test.each([
    0, -0, -1, NaN, Infinity, -Infinity, 'abc', '', '  ', '0', '-5', 'NaN', 'Infinity', '3600s', true, {}, [], [3600], 3600n, new Date(ISSUED),
  ])('%p is refused: neither cached for ever nor always expired', expiresIn => expectInvalid({ accessToken: SENTINEL, expiresIn }, 'expiresIn'));

  test.each([1e13, Number.MAX_VALUE, 1e300, 9_223_372_036_854_775_807, '9223372036854775807'])(
    '%p, a "never" of some providers, does not become a number that the table cannot hold', expiresIn => {
      const outcome = outcomeOf({ accessToken: 'a', expiresIn });
      expect(outcome === undefined || outcome === 'INVALID_REFRESH_RESULT' || Number.isSafeInteger(outcome)).toBe(true);
    });
});

describe('expiresAt', () => {
  test('milliseconds or a Date', () => {
    expect(validate({ accessToken: 'a', expiresAt: ISSUED + 60_000 }).expiresAt).toBe(ISSUED + 60_000);
    expect(validate({ accessToken: 'a', expiresAt: new Date(ISSUED + 60_000) }).expiresAt).toBe(ISSUED + 60_000);
    expect(validate({ accessToken: 'a', expiresAt: ISSUED + 60_000.4 }).expiresAt).toBe(ISSUED + 60_000);
  });

  test.each([
    ['seconds', ISSUED / 1_000 + 3_600],
    ['the past', ISSUED - 1],
    ['the moment of the request', ISSUED],
    ['zero', 0],
    ['NaN', NaN],
    ['Infinity', Infinity],
    ['a text', '2099-01-01T00:00:00Z'],
    ['a number as text', String(ISSUED + 60_000)],
    ['an invalid Date', new Date(NaN)],
    ['a past Date', new Date(ISSUED - 1)],
    ['an object', {}],
  ])('in %s is refused', (_, expiresAt) => expectInvalid({ accessToken: SENTINEL, expiresAt }, 'expiresAt'));

  test('in seconds is refused with a hint', () => {
    expect(errorFor({ accessToken: 'a', expiresAt: ISSUED / 1_000 + 3_600 }).message).toContain('milliseconds (not seconds)');
  });

  test('and expiresIn together are refused; one of them null is not both', () => {
    expectInvalid({ accessToken: SENTINEL, expiresIn: 60, expiresAt: ISSUED + 60_000 }, 'both expiresIn and expiresAt');
    expectInvalid({ accessToken: SENTINEL, expiresIn: 0, expiresAt: 0 }, 'both expiresIn and expiresAt');
    expect(validate({ accessToken: 'a', expiresIn: null, expiresAt: ISSUED + 60_000 }).expiresAt).toBe(ISSUED + 60_000);
    expect(validate({ accessToken: 'a', expiresIn: 60, expiresAt: null }).expiresAt).toBe(ISSUED + 60_000);
  });

  test.each([1e300, Number.MAX_VALUE])('%p does not become a number that the table cannot hold', expiresAt => {
    const outcome = outcomeOf({ accessToken: 'a', expiresAt });
    expect(outcome === undefined || outcome === 'INVALID_REFRESH_RESULT' || Number.isSafeInteger(outcome)).toBe(true);
  });
});

describe('the refresh token', () => {
  test.each([undefined, null, '', '  \n'])('%p keeps the stored one', refreshToken => {
    expect(validate({ accessToken: 'a', refreshToken }).refreshToken).toBeUndefined();
  });

  test.each([0, 42, true, false, {}, [SENTINEL]])('%p is refused', refreshToken => {
    expectInvalid({ accessToken: SENTINEL, refreshToken }, 'refreshToken');
  });
});

test('I8: no refusal contains a credential, whatever else is wrong with the answer', () => {
  const expiries = [{ expiresIn: SENTINEL }, { expiresIn: [SENTINEL] }, { expiresAt: SENTINEL }, { expiresIn: 1, expiresAt: 1 }];
  const wrongs = [...expiries, { refreshToken: { SENTINEL } }];
  for (const wrong of wrongs) {
    const error = errorFor({ accessToken: SENTINEL, ...wrong });
    expect(`${error.message} ${String(error.stack)} ${JSON.stringify(error)}`).not.toContain(SENTINEL);
    expect(error.cause).toBeUndefined();
  }
  const large = errorFor({ accessToken: SENTINEL + 'a'.repeat(400_000), refreshToken: SENTINEL });
  expect(`${large.message} ${String(large.stack)}`).not.toContain(SENTINEL);
});

function outcomeOf(result: unknown): number | undefined | string {
  try {
    return validate(result).expiresAt;
  } catch (error) {
    return error instanceof SharedTokenError ? error.code : String(error);
  }
}
