import { tokenLife, type LifeStatements } from '../../lambda-runtime/oauth/token-life';
import { UnsecuredJWT } from '../support/jose';

const NOW = Date.parse('2026-01-01T00:00:00Z');
const NOW_S = NOW / 1_000;
const HUNDRED_YEARS_S = 3_153_600_000;
const jwtWith = (claims: Record<string, unknown>) => new UnsecuredJWT(claims).encode();
const lifeOf = (statements: Partial<LifeStatements>) =>
  tokenLife({ accessToken: 'opaque', expiresIn: undefined, tokenLifeSeconds: undefined, ...statements }, NOW);

describe('the answer says how long the token lives', () => {
  test.each<[string, unknown, number]>([
    ['a number', 3600, 3600],
    ['a numeric string', '3600', 3600],
    ['one with blanks around it', ' 3600 ', 3600],
    ['a fraction', 0.5, 0.5],
    ['a hundred years', HUNDRED_YEARS_S, HUNDRED_YEARS_S],
  ])('%s', (_, expiresIn, seconds) => {
    expect(lifeOf({ expiresIn })).toEqual({ expiresIn: seconds });
  });

  test.each<[string, unknown]>([
    ['zero', 0], ['a negative number', -1], ['NaN', NaN], ['infinity', Infinity], ['text', 'soon'], ['a number with text', '3600s'], ['empty text', ''],
    ['a negative string', '-5'], ['true', true], ['an object', {}], ['more than a hundred years (milliseconds, or a moment)', HUNDRED_YEARS_S + 1],
  ])('%s is an error, or the configured life, and never no expiry', (_, expiresIn) => {
    expect(() => lifeOf({ expiresIn })).toThrow(expect.objectContaining({ code: 'EXPIRY_INVALID', message: expect.stringMatching(/tokenLifeSeconds/) }));
    expect(lifeOf({ expiresIn, tokenLifeSeconds: 60 })).toEqual({ expiresIn: 60 });
  });

  test('it counts before the claim of the token, and before the configured life', () => {
    expect(lifeOf({ expiresIn: 10, accessToken: jwtWith({ exp: NOW_S + 20 }), tokenLifeSeconds: 30 })).toEqual({ expiresIn: 10 });
  });
});

describe('the answer says when the token ends', () => {
  test.each<[string, unknown, number]>([
    ['ISO 8601 in UTC', '2026-01-01T01:00:00Z', NOW + 3_600_000],
    ['with milliseconds', '2026-01-01T00:00:00.250Z', NOW + 250],
    ['without seconds', '2026-01-01T01:00Z', NOW + 3_600_000],
    ['with an offset', '2026-01-01T01:00:00-01:00', NOW + 7_200_000],
    ['epoch seconds', NOW_S + 60, NOW + 60_000],
    ['epoch milliseconds', NOW + 60_000, NOW + 60_000],
    ['epoch seconds as text', String(NOW_S + 60), NOW + 60_000],
    ['epoch milliseconds as text', String(NOW + 60_000), NOW + 60_000],
  ])('%s', (_, expiresAt, moment) => {
    expect(lifeOf({ expiresAt })).toEqual({ expiresAt: moment });
  });

  test.each<[string, unknown]>([
    ['now', NOW], ['a past moment', '2025-12-31T23:59:59Z'], ['seconds that are a life', 3600], ['zero', 0], ['a negative number', -NOW], ['NaN', NaN],
    ['text', 'tomorrow'], ['text with a year in it', 'in 2027'], ['a moment in an unknown time zone', '2026-01-01T01:00:00'], ['a date', '2027-01-01'],
    ['no such day', '2026-13-01T00:00:00Z'], ['microseconds', NOW * 1_000 + 1], ['an object', {}], ['true', true],
  ])('%s is an error, or the configured life', (_, expiresAt) => {
    expect(() => lifeOf({ expiresAt })).toThrow(expect.objectContaining({ code: 'EXPIRY_INVALID' }));
    expect(lifeOf({ expiresAt, tokenLifeSeconds: 60 })).toEqual({ expiresIn: 60 });
  });

  test('it counts before a life', () => {
    expect(lifeOf({ expiresAt: NOW + 1, expiresIn: 60 })).toEqual({ expiresAt: NOW + 1 });
  });
});

describe('the token says when it ends', () => {
  test('the claim exp of a JWT is a moment', () => {
    expect(lifeOf({ accessToken: jwtWith({ exp: NOW_S + 600 }), tokenLifeSeconds: 60 })).toEqual({ expiresAt: NOW + 600_000 });
  });

  test.each<[string, unknown]>([
    ['the past', NOW_S - 1], ['now', NOW_S], ['text', String(NOW_S + 600)], ['null', null], ['milliseconds', NOW + 600_000], ['an object', {}],
  ])('an exp that is %s is an error, or the configured life', (_, exp) => {
    const accessToken = jwtWith({ exp });
    expect(() => lifeOf({ accessToken })).toThrow(expect.objectContaining({ code: 'EXPIRY_INVALID', message: expect.stringContaining('exp') }));
    expect(lifeOf({ accessToken, tokenLifeSeconds: 60 })).toEqual({ expiresIn: 60 });
  });

  test.each([
    ['without exp', jwtWith({ sub: 'a' })],
    ['that is none: two dots', 'a.b.c'],
    ['whose payload is no object', `e30.${Buffer.from('[1]').toString('base64url')}.x`],
    ['that is encrypted', 'e30.a.b.c.d'],
  ])('a JWT %s says nothing', (_, accessToken) => {
    expect(lifeOf({ accessToken })).toEqual({});
    expect(lifeOf({ accessToken, tokenLifeSeconds: 60 })).toEqual({ expiresIn: 60 });
  });
});

test('nobody says anything: only a rejection ends the token', () => {
  expect(lifeOf({})).toEqual({});
});

describe.each(['expiresIn', 'expiresAt'] as const)('%s is null: it says nothing where it should', field => {
  test('the claim of the token counts', () => {
    expect(lifeOf({ [field]: null, accessToken: jwtWith({ exp: NOW_S + 600 }) })).toEqual({ expiresAt: NOW + 600_000 });
  });

  test('else the configured life', () => {
    expect(lifeOf({ [field]: null, tokenLifeSeconds: 60 })).toEqual({ expiresIn: 60 });
  });

  test('else it is an error', () => {
    expect(() => lifeOf({ [field]: null })).toThrow(expect.objectContaining({ code: 'EXPIRY_INVALID' }));
  });
});

test('a moment that is null leaves the life to count', () => {
  expect(lifeOf({ expiresAt: null, expiresIn: 60 })).toEqual({ expiresIn: 60 });
});
