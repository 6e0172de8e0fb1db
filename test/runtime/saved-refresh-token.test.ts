import { inspect } from 'node:util';
import { RefreshError, refreshTokenOf } from '../../lambda-runtime/errors';
import type { RefreshResult } from '../../lambda-runtime/public-types';
import { SimulatedTime } from '../support/simulated-process';
import { fresh, simulatedProvider } from '../support/simulated-provider';

/*
 * A provider that rotates has used up the refresh token before, whatever else its answer is worth.
 */
const MINUTE = 60_000;
let time: SimulatedTime;
beforeEach(() => {
  time = new SimulatedTime();
});

const stored = (more: object = {}) => ({
  accessToken: 'old', generation: 3, issuedAt: time.now - 60 * MINUTE, expiresAt: time.now - MINUTE, refreshMs: 50, refreshToken: 'refresh-1', ...more,
});

test.each<[string, RefreshResult | Error]>([
  ['has an expiry that makes no sense', { accessToken: 'new', expiresIn: 0, refreshToken: 'refresh-2' }],
  ['has no token', { accessToken: '', refreshToken: 'refresh-2' }],
  ['is told by an error of a source', new RefreshError('EXPIRY_INVALID', { refreshToken: 'refresh-2' })],
])('the new refresh token of an answer that %s is stored with the failure, and sent next', async (_, answer) => {
  time.put(stored());
  const provider = simulatedProvider(time, [50, answer], [50, fresh('new')]);
  const token = time.process().token({ refresh: provider.refresh });
  await time.errorOf(token.get({ timeoutMs: 500 }));
  expect(time.item()).toMatchObject({ accessToken: 'old', generation: 3, refreshToken: 'refresh-2', failure: { count: 1 } });
  expect(time.item()).not.toHaveProperty('lease');

  await time.pass(MINUTE);
  expect(await time.until(token.get())).toBe('new');
  expect(provider.asked.map(({ request }) => request.refreshToken)).toEqual(['refresh-1', 'refresh-2']);
});

test('it is the only credential: the item has no time to live from then on', async () => {
  time.put(stored({ refreshToken: undefined, expireAfter: 1_900_000_000 }));
  const provider = simulatedProvider(time, [50, { accessToken: 'new', expiresIn: 'soon', refreshToken: 'refresh-2' }]);
  await time.errorOf(time.process().token({ refresh: provider.refresh }).get({ timeoutMs: 500 }));
  expect(time.item()).toMatchObject({ refreshToken: 'refresh-2' });
  expect(time.item()).not.toHaveProperty('expireAfter');
});

test('a failure without one leaves the stored one alone', async () => {
  time.put(stored());
  const provider = simulatedProvider(time, [50, new RefreshError('503')]);
  await time.errorOf(time.process().token({ refresh: provider.refresh }).get({ timeoutMs: 500 }));
  expect(time.item()).toMatchObject({ refreshToken: 'refresh-1' });
});

test('an error that carries one shows it nowhere', () => {
  const error = new RefreshError('EXPIRY_INVALID', { refreshToken: 'sentinel' });
  expect(refreshTokenOf(error)).toBe('sentinel');
  expect([inspect(error, { depth: 9, showHidden: true }), JSON.stringify(error), String(error), String(error.stack), ...Object.values(error)].join()).not.toContain('sentinel');
});
