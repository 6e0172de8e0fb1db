import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { CODES, ended, prototypes } from './support/outcome';
import { hostileAnswer, hostileRefresh, hostileThrown, plainAnswer, PROVIDERS } from './support/provider-answers';
import { getWire, putWire } from './support/wire-table';
import { canonical, isValid, type WireItem } from './support/wire-values';
import { RefreshError, SharedTokenError } from '../../lambda-runtime/errors';
import type { Refresh, RefreshResult } from '../../lambda-runtime/public-types';
import { failureOf, toFailure } from '../../lambda-runtime/refresh-failure';
import { type FreshToken, validateRefreshResult } from '../../lambda-runtime/refresh-result';
import { isStorableCode } from '../../lambda-runtime/storable-code';
import { parseItem } from '../../lambda-runtime/token-item';
import { Instance } from '../support/instance';
import { tablePerFile } from '../support/per-test';

/*
 * Whatever `refresh` returns or throws: a token that is one, or an error that callers know; and in the table nothing of the provider's but tokens and codes.
 */
jest.setTimeout(120_000);
const { table } = tablePerFile();
const prototypesBefore = prototypes();
afterEach(async () => {
  await sleep(20); // jest fails a test for a rejection that nobody handles, while it runs
  expect(prototypes()).toBe(prototypesBefore);
});

const NOW = Date.now();
const PURE_RUNS = { numRuns: 3_000 };

/** What may be stored of an answer. */
function expectStorable({ accessToken, refreshToken, expiresAt, issuedAt }: FreshToken): void {
  expect(typeof accessToken === 'string' && accessToken.trim() !== '').toBe(true);
  expect(refreshToken === undefined || (typeof refreshToken === 'string' && refreshToken.trim() !== '')).toBe(true);
  expect(Buffer.byteLength(accessToken + (refreshToken ?? ''))).toBeLessThanOrEqual(390 * 1024);
  expect(parseItem('crm', { accessToken, issuedAt, generation: 1, expiresAt, refreshToken })).toMatchObject({ token: { accessToken, issuedAt, expiresAt } });
  expect(expiresAt === undefined || expiresAt >= issuedAt).toBe(true);
}

describe('the pure parts', () => {
  test('an answer is a token that can be stored, or refused without a word of it', async () => {
    let accepted = 0;
    await fc.assert(fc.asyncProperty(plainAnswer, async answer => {
      const { value, error } = await ended((async () => validateRefreshResult('crm', answer as RefreshResult, NOW))());
      if (value) {
        accepted++;
        expectStorable(value);
      } else {
        expect(['INVALID_REFRESH_RESULT', 'TOKEN_TOO_LARGE']).toContain(error?.code);
        expect(`${error?.message} ${error?.stack} ${JSON.stringify(error)}`).not.toContain(PROVIDERS);
      }
    }), PURE_RUNS);
    expect(accepted).toBeGreaterThan(100);
  });

  test('an answer that acts when it is looked at gives a token that can be stored, or is an error', () => {
    fc.assert(fc.property(hostileAnswer, made => {
      let fresh: FreshToken;
      try {
        fresh = validateRefreshResult('crm', made() as RefreshResult, NOW);
      } catch {
        return; // its own error, or ours: the next test is of errors
      }
      expectStorable(fresh);
    }), PURE_RUNS);
  });

  test('whatever is thrown becomes a code that can be stored, a pause of five minutes at most, and an error that callers know', () => {
    fc.assert(fc.property(hostileThrown, fc.integer({ min: 0, max: 2 ** 40 }), (made, count) => {
      const failure = failureOf('crm', made(), NOW);
      expect(isStorableCode(failure.code)).toBe(true);
      expect(failure.error).toBeInstanceOf(SharedTokenError);
      expect(CODES).toContain(failure.error.code);
      expect(`${failure.error.message} ${failure.error.stack}`).not.toContain(PROVIDERS);
      const recorded = toFailure(failure, { code: 'x', count, at: NOW - 1, retryAt: NOW }, NOW);
      expect(parseItem('crm', { failure: recorded })?.failure).toEqual({ ...recorded, forced: undefined });
      expect(recorded.retryAt - NOW).toBeGreaterThan(0);
      expect(recorded.retryAt - NOW).toBeLessThanOrEqual(5 * 60_000);
    }), PURE_RUNS);
  });
});

const TOKEN: WireItem = {
  accessToken: { S: 'stored-token' },
  generation: { N: '7' },
  issuedAt: { N: String(NOW - 600_000) },
  refreshToken: { S: 'stored-refresh-token' },
};
const AT_ONCE = { timeoutMs: 20_000 };
/** As many instances at the same time. */
const AT_A_TIME = 8;
let items = 0;

/** One refresh of a token that works, by a function that anybody may have written. */
async function refreshed(refresh: () => unknown, stored = TOKEN): Promise<{ readonly code: string | undefined; readonly item: WireItem }> {
  const tokenId = `hostile-${items++}`;
  expect(await putWire(table(), tokenId, stored)).toBe(true);
  const token = new Instance().token(tokenId, { refresh: refresh as Refresh });
  const { value, code, error } = await ended(token.refresh(AT_ONCE));
  const item = (await getWire(table(), tokenId))!;
  expect(isValid(item)).toBe(true);
  expect(item.lease).toBeUndefined();
  if (value) {
    expect(item.failure === undefined || item.failure.M !== undefined).toBe(true);
    expect((item.accessToken?.S as string).trim()).not.toBe('');
  } else {
    expect(item.accessToken).toEqual(stored.accessToken);
    const failure = item.failure?.M as WireItem | undefined;
    expect(isStorableCode(failure?.code?.S)).toBe(true);
    expect(canonical({ ...item, refreshToken: undefined })).not.toContain(PROVIDERS);
    expect(`${error?.message} ${error?.stack}`).not.toContain(PROVIDERS);
    // Nobody's token is taken away, and what the provider said keeps nobody from it.
    expect(await new Instance().token(tokenId).get(AT_ONCE)).toBe('stored-token');
  }
  // Never lost, but for a newer one.
  expect((item.refreshToken?.S as string).trim()).not.toBe('');
  return { code, item };
}

test('through the real table: a token, or an error that callers know; the lease is given back, the refresh token kept, a failure recorded by its code', async () => {
  let failed = 0;
  let stored = 0;
  await fc.assert(fc.asyncProperty(fc.array(hostileRefresh, { minLength: AT_A_TIME, maxLength: AT_A_TIME }), async batch => {
    const codes = await Promise.all(batch.map(async refresh => (await refreshed(refresh)).code));
    for (const code of codes) code === undefined ? stored++ : failed++;
  }), { numRuns: 15, endOnFailure: true });
  expect(Math.min(stored, failed)).toBeGreaterThan(0); // else this says little
});

const refreshErrorWith = (refreshToken: unknown) => new RefreshError('invalid_scope', { refreshToken: refreshToken as string });

test.each<[string, unknown]>([
  ['a number', 5],
  ['an object', { token: PROVIDERS }],
  ['blank', ' \n'],
  ['too large', 'x'.repeat(400_000)],
])('a refresh token of a RefreshError that is %s does not take the stored one\'s place', async (_, refreshToken) => {
  const thrown = refreshErrorWith(refreshToken);
  const { code, item } = await refreshed(() => { throw thrown; });
  expect(code).toBe('REFRESH_FAILED');
  expect(item.refreshToken).toEqual(TOKEN.refreshToken);
  expect(item.failure).toMatchObject({ M: { code: { S: 'invalid_scope' } } });
});

test('an answer whose refresh token is too large leaves the stored one, and its failure is recorded', async () => {
  const { code, item } = await refreshed(async () => ({ accessToken: 'fetched-token', refreshToken: 'x'.repeat(400_000) }));
  expect(code).toBe('TOKEN_TOO_LARGE');
  expect(item).toMatchObject({ refreshToken: TOKEN.refreshToken, failure: { M: { code: { S: 'TOKEN_TOO_LARGE' } } } });
});

test('one that fits by itself, but not beside the stored token: the same', async () => {
  const stored = { ...TOKEN, later: { S: 'x'.repeat(300_000) } };
  const { code, item } = await refreshed(() => { throw refreshErrorWith('x'.repeat(200_000)); }, stored);
  expect(code).toBe('REFRESH_FAILED');
  expect(item).toMatchObject({ refreshToken: TOKEN.refreshToken, failure: { M: { code: { S: 'invalid_scope' } } } });
});

test('a SharedTokenError that is the user\'s own is stored by a code of ours, whatever it says', async () => {
  const thrown = Object.assign(new SharedTokenError('REFRESH_FAILED', PROVIDERS, { tokenId: `hostile-${items}` }), { code: `${PROVIDERS} says no` });
  const { code, item } = await refreshed(() => { throw thrown; });
  expect(code).toBe('REFRESH_FAILED');
  expect(item.failure).toMatchObject({ M: { code: { S: 'SharedTokenError' } } });
});
