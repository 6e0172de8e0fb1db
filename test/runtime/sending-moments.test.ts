import type { SharedTokenEvent } from '../../lambda-runtime/public-types';
import { type SimulatedProcess, SimulatedTime } from '../support/simulated-process';
import { fresh, simulatedProvider, type Way } from '../support/simulated-provider';

/*
 * Whether a holder sends its request, how often, and by which clock: each request to the table takes 10 ms there and back.
 */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
let time: SimulatedTime;
let start: number;
beforeEach(() => {
  time = new SimulatedTime();
  start = time.now;
});

const provider = (...ways: readonly [Way, ...Way[]]) => simulatedProvider(time, ...ways);
const expired = (more: object = {}) => ({ accessToken: 'old', generation: 3, issuedAt: start - 2 * HOUR, expiresAt: start - HOUR, ...more });

/** Something happens to a process once, as soon as it has claimed. */
function afterClaim(process: SimulatedProcess, act: () => void) {
  let hasClaimed = false;
  return (event: SharedTokenEvent) => {
    process.events.push(event);
    if (event.type !== 'claimed' || hasClaimed) return;
    hasClaimed = true;
    act();
  };
}

describe('of the lease of 12 s, 10 s for the request, 10 ms have passed when its claim is answered', () => {
  const byBoth = (process: SimulatedProcess, ms: number) => process.freeze(ms);
  const byWall = (process: SimulatedProcess, ms: number) => { process.wallOffset += ms; };
  const byMonotonic = (process: SimulatedProcess, ms: number) => { process.monotonicOffset += ms; };

  test.each([
    ['5 s are left by the wall clock: it is sent', byWall, 6_990, ['claim', 'commit']],
    ['less is left by the wall clock alone: nothing is sent', byWall, 6_991, ['claim', 'release', 'claim', 'commit']],
    ['5 s are left by the monotonic clock: it is sent', byMonotonic, 6_990, ['claim', 'commit']],
    ['less is left by the monotonic clock alone: nothing is sent', byMonotonic, 6_991, ['claim', 'release', 'claim', 'commit']],
    ['nothing is left: nothing is sent', byBoth, 11_990, ['claim', 'release', 'claim', 'commit']],
    ['it ended long ago: nothing is sent', byBoth, 25 * SECOND, ['claim', 'release', 'claim', 'commit']],
  ])('%s', async (_, moves, ms, writes) => {
    const { refresh, moments } = provider([100, fresh('new')]);
    const process = time.process();
    const token = process.token({ refresh, onEvent: afterClaim(process, () => moves(process, ms)) });
    expect(await time.until(token.get({ timeoutMs: 60_000 }))).toBe('new');
    expect(time.operations().filter(name => name !== 'read')).toEqual(writes);
    expect(moments()).toHaveLength(1);
    const [sent] = process.events.filter(({ type }) => type === 'refreshing');
    expect(sent).toMatchObject({ leaseId: writes.length > 2 ? 'lease-2' : 'lease-1' });
  });
});

describe('the moment of issue', () => {
  test.each([
    ['back by five minutes', -5 * MINUTE],
    ['ahead by three seconds', 3 * SECOND],
  ])('is counted from the claim by the monotonic clock, though the wall clock is set %s before the request is sent', async (_, ms) => {
    time.put(expired());
    const { refresh } = provider([100, fresh('new')]);
    const process = time.process();
    const token = process.token({ refresh, onEvent: afterClaim(process, () => { process.wallOffset += ms; }) });
    expect(await time.until(token.get())).toBe('new');
    expect(time.item()).toMatchObject({ accessToken: 'new', issuedAt: start + 20, expiresAt: start + 20 + HOUR });
  });

  test('of a replay is counted so, too: it is the newer one, though the wall clock was set back before it', async () => {
    time.put(expired({ refreshToken: 'r-1', refreshMs: 100 }));
    const { refresh } = provider([Infinity, fresh('never')], [100, fresh('second', { refreshToken: 'r-3' })]);
    const process = time.process();
    time.after(500, () => { process.wallOffset -= 5 * MINUTE; });
    expect(await time.until(process.token({ refresh, authLimitMs: 2_000 }).get())).toBe('second');
    expect(time.item()).toMatchObject({ accessToken: 'second', issuedAt: start + 1_020 });
  });
});

describe('a rotating refresh token', () => {
  const asking = async (authLimitMs: number, item: object, ...ways: readonly [Way, ...Way[]]) => {
    time.put(expired({ refreshToken: 'r-1', ...item }));
    const { refresh, asked, moments } = provider(...ways);
    const token = time.process().token({ refresh, authLimitMs });
    // What is left after the limit is too short for another try.
    const ended = await time.until(token.get({ timeoutMs: 1.4 * authLimitMs }).catch(({ code }: { code: string }) => code));
    return { ended, asked, moments };
  };
  const slow: Way = [1_900, fresh('slow', { refreshToken: 'r-2' })];
  const silent: Way = [Infinity, fresh('never')];

  test('is sent once where half of the limit is less than twice what a refresh takes: a slow answer within the whole limit is taken', async () => {
    const { ended, moments } = await asking(2_000, { refreshMs: 501 }, slow);
    expect(ended).toBe('slow');
    expect(moments()).toEqual([20]);
    expect(time.requests.at(-1)).toMatchObject({ operation: 'commit', at: 1_920 });
    expect(time.item()).toMatchObject({ accessToken: 'slow', refreshToken: 'r-2', generation: 4 });
  });

  test('and where no answer comes, that one request has the whole limit', async () => {
    const { ended, asked, moments } = await asking(2_000, { refreshMs: 501 }, silent);
    expect(ended).toBe('REFRESH_TIMED_OUT');
    expect(moments()).toEqual([20]);
    expect(asked[0]?.request.signal.aborted).toBe(true);
    expect(time.item()?.failure).toMatchObject({ code: 'REFRESH_TIMED_OUT', at: start + 2_020 });
  });

  test.each([
    ['twice that fits into half of the limit', 2_000, { refreshMs: 500 }],
    ['nothing was measured, a second is assumed, and twice that fits', 4_000, {}],
  ])('is replayed once, at half of the limit, where %s', async (_, limitMs, item) => {
    const { ended, asked, moments } = await asking(limitMs, item, silent, [100, fresh('replayed', { refreshToken: 'r-2' })]);
    expect(ended).toBe('replayed');
    expect(moments()).toEqual([20, 20 + limitMs / 2]);
    expect(asked.map(({ request }) => request.refreshToken)).toEqual(['r-1', 'r-1']);
  });

  test('nothing was measured, and twice a second does not fit: it is sent once', async () => {
    const { ended, moments } = await asking(3_999, {}, [3_900, fresh('slow', { refreshToken: 'r-2' })]);
    expect(ended).toBe('slow');
    expect(moments()).toEqual([20]);
  });
});
