import { SharedTokenError } from '../../lambda-runtime/errors';
import type { SharedTokenEvent } from '../../lambda-runtime/public-types';
import { tokenError } from '../../lambda-runtime/token-error';
import { SimulatedTime } from '../support/simulated-process';
import { fresh, simulatedProvider, type Way } from '../support/simulated-provider';

/*
 * One refresh under a lease, to the millisecond: each request to the table takes 10 ms there and back.
 */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
let time: SimulatedTime;
beforeEach(() => { time = new SimulatedTime(); });

const provider = (...ways: readonly [Way, ...Way[]]) => simulatedProvider(time, ...ways);
const expired = (more: object = {}) => ({ accessToken: 'old', generation: 3, issuedAt: time.now - 2 * HOUR, expiresAt: time.now - HOUR, refreshMs: 100, ...more });
const lease = () => time.item()?.lease as { id: string; since: number; until: number } | undefined;
const denied = new SharedTokenError('ACCESS_DENIED', 'no grant');

test('a refresh tells each step, with its lease', async () => {
  const process = time.process();
  const start = time.now;
  const { refresh, asked } = provider([100, fresh('new')]);
  expect(await time.until(process.token({ refresh }).get())).toBe('new');
  expect(process.events).toEqual([
    { type: 'read', tokenId: 'crm', at: start + 10 },
    { type: 'claimed', tokenId: 'crm', at: start + 20, leaseId: 'lease-1', until: start + 10 + 12_000, takeover: false },
    { type: 'refreshing', tokenId: 'crm', at: start + 20, leaseId: 'lease-1' },
    { type: 'refreshed', tokenId: 'crm', at: start + 120, leaseId: 'lease-1' },
    { type: 'committed', tokenId: 'crm', at: start + 130, generation: 1 },
  ]);
  expect(asked).toEqual([{ at: 20, request: { tokenId: 'crm', signal: expect.any(AbortSignal), refreshToken: undefined } }]);
  expect(time.item()).toEqual({
    tokenId: 'crm', accessToken: 'new', generation: 1, issuedAt: start + 20, expiresAt: start + 20 + HOUR, refreshMs: 100, expireAfter: expect.any(Number),
  });
});

test('a token that is stored is used without any further request, though the commit\'s reply was lost', async () => {
  for (const fault of [undefined, 'reply lost'] as const) {
    const { refresh } = provider([100, fresh('new')]);
    const token = time.process().token({ refresh });
    time.faults = ({ operation }) => operation === 'commit' && time.operations().filter(name => name === 'commit').length === 1 ? fault : undefined;
    await time.until(token.get());
    const before = time.requests.length;
    expect(await time.until(token.get())).toBe('new');
    expect(time.requests).toHaveLength(before);
    time = new SimulatedTime();
  }
});

test('the request is limited to what is left of the lease', async () => {
  const { refresh } = provider([Infinity, fresh('never')]);
  const process = time.process();
  let isFrozen = false;
  const onEvent = (event: SharedTokenEvent) => {
    process.events.push(event);
    if (event.type !== 'claimed' || isFrozen) return;
    isFrozen = true;
    process.freeze(4_000);
  };
  await time.errorOf(process.token({ refresh, onEvent }).get({ timeoutMs: 13_000 }));
  const [sent, ended] = ['refreshing', 'refreshed'].map(type => process.events.find(event => event.type === type)?.at ?? NaN);
  expect((ended ?? NaN) - (sent ?? NaN)).toBe(12_000 - 10 - 4_000);
});

test.each([
  ['the auth limit is 10 s, and 2 s are kept for the commit', {}, {}, 12_000],
  ['a limit of one\'s own, in whole milliseconds', { authLimitMs: 2_500.7 }, {}, 4_500],
  ['of 3 s a fifth is kept', {}, { timeoutMs: 3_000 }, 2_990],
])('the lease lasts as long as the request and its commit may: %s', async (_, options, call, ms) => {
  const { refresh } = provider([100, fresh('new')]);
  const getting = time.process().token({ refresh, ...options }).get(call);
  await time.pass(50);
  expect((lease()?.until ?? 0) - (lease()?.since ?? 0)).toBe(ms);
  await time.until(getting);
});

describe('before the request is sent', () => {
  test.each([
    ['half of the limit is left of the lease: it is sent', 6_990, ['claim', 'commit']],
    ['less is left: the lease is given back, and decided anew', 6_991, ['claim', 'release', 'claim', 'commit']],
  ])('%s', async (_, frozenMs, writes) => {
    const { refresh } = provider([100, fresh('new')]);
    const process = time.process();
    let isFrozen = false;
    const token = process.token({
      refresh,
      onEvent: event => {
        process.events.push(event);
        if (event.type !== 'claimed' || isFrozen) return;
        isFrozen = true;
        process.freeze(frozenMs);
      },
    });
    expect(await time.until(token.get())).toBe('new');
    expect(time.operations().filter(name => name !== 'read')).toEqual(writes);
    const released = process.events.filter(({ type }) => type === 'released');
    expect(released.map(({ leaseId, code }) => [leaseId, code])).toEqual(frozenMs > 6_990 ? [['lease-1', 'NOT_SENT']] : []);
  });

  test('a takeover is told; one that sends nothing still counts the holder that died, and leaves no cool-down', async () => {
    time.put(expired({ lease: { id: 'dead', since: time.now - MINUTE, until: time.now - 50 * SECOND, holder: 'x' }, failure: { code: 'HOLDER_DIED', count: 4, at: 1, retryAt: 2 } }));
    const { refresh, moments } = provider([100, fresh('new')]);
    const process = time.process();
    const leave = new AbortController();
    time.after(15, () => leave.abort());
    expect(await time.errorOf(process.token({ refresh }).get({ signal: leave.signal }))).toMatchObject({ code: 'ABORTED' });
    await time.pass(100);
    expect(moments()).toEqual([]);
    expect(process.events.find(({ type }) => type === 'claimed')).toMatchObject({ takeover: true });
    expect(time.item()?.failure).toMatchObject({ code: 'HOLDER_DIED', count: 5, retryAt: 0 });
    expect(lease()).toBeUndefined();
  });

  test.each([false, true])('a claim whose lost reply hid a newer token asks nobody, and records nothing on it (a takeover: %p)', async isTakeover => {
    time.put(expired(isTakeover ? { lease: { id: 'dead', since: time.now - MINUTE, until: time.now - 50 * SECOND, holder: 'x' } } : {}));
    const { refresh, moments } = provider([100, fresh('new')]);
    time.faults = ({ operation }) => {
      if (operation !== 'claim' || time.operations().filter(name => name === 'claim').length > 1) return undefined;
      // Before it is sent again, a late answer of an earlier holder is stored: it leaves the lease alone.
      time.after(20, () => time.put({ ...time.item(), failure: undefined, accessToken: 'newer', generation: 4, issuedAt: time.now, expiresAt: time.now + HOUR }));
      return 'reply lost';
    };
    expect(await time.until(time.process().token({ refresh }).get())).toBe('newer');
    expect(moments()).toEqual([]);
    expect(time.operations()).toEqual(['read', 'claim', 'claim', 'release']);
    expect(lease()).toBeUndefined();
    expect(time.item()?.failure).toBeUndefined();
  });

  test('what AWS refuses at the claim is the call\'s error', async () => {
    time.faults = ({ operation }) => operation === 'claim' ? denied : undefined;
    const { refresh } = provider([1, fresh('new')]);
    expect(await time.errorOf(time.process().token({ refresh }).get())).toBe(denied);
  });
});

describe('a refresh that fails', () => {
  test('without an answer within the limit: its signal is aborted, the failure is recorded, the lease given back', async () => {
    const { refresh, asked } = provider([Infinity, fresh('never')]);
    const process = time.process();
    const error = await time.errorOf(process.token({ refresh, authLimitMs: 2_000 }).get({ timeoutMs: 2_900 }));
    expect(error).toMatchObject({ code: 'REFRESH_TIMED_OUT', tokenId: 'crm', message: expect.stringContaining('within 2000 ms') });
    expect(asked[0]?.request.signal.aborted).toBe(true);
    const start = time.now - time.passed;
    expect(process.events.slice(-2)).toEqual([
      { type: 'refreshed', tokenId: 'crm', at: start + 2_020, leaseId: 'lease-1', code: 'REFRESH_TIMED_OUT' },
      { type: 'released', tokenId: 'crm', at: start + 2_030, leaseId: 'lease-1', code: 'REFRESH_TIMED_OUT' },
    ]);
    expect(time.item()).toEqual({
      tokenId: 'crm', failure: { code: 'REFRESH_TIMED_OUT', count: 1, at: start + 2_020, retryAt: start + 3_020 }, expireAfter: expect.any(Number),
    });
  });

  test('counts on from the failure before', async () => {
    time.put(expired({ failure: { code: '503', count: 3, at: time.now - MINUTE, retryAt: time.now - SECOND } }));
    const { refresh } = provider([10, new Error('down')]);
    await time.errorOf(time.process().token({ refresh }).get({ timeoutMs: 2_000 }));
    expect(time.item()?.failure).toMatchObject({ count: 4, retryAt: time.now - time.passed + 30 + 8_000 });
  });

  test('whose token was replaced meanwhile by a late answer: the lease is given back all the same, and nothing recorded', async () => {
    time.put(expired());
    const { refresh } = provider([500, new Error('down')]);
    const process = time.process();
    time.after(300, () => time.put({ ...time.item(), accessToken: 'newer', generation: 4, issuedAt: time.now, expiresAt: time.now + HOUR }));
    expect(await time.until(process.token({ refresh }).get())).toBe('newer');
    expect(time.operations()).toEqual(['read', 'claim', 'release', 'release']);
    expect(lease()).toBeUndefined();
    expect(time.item()).not.toHaveProperty('failure');
    expect(process.story()).toContain('released');
  });

  test('whose lease another has: nothing is given back a second time', async () => {
    time.put(expired());
    const { refresh } = provider([500, new Error('down')]);
    time.after(300, () => time.put({ ...time.item(), lease: { id: 'another', since: time.now, until: time.now + MINUTE, holder: 'x' } }));
    await time.errorOf(time.process().token({ refresh }).get({ timeoutMs: 900 }));
    expect(time.operations().filter(name => name === 'release')).toHaveLength(1);
    expect(lease()?.id).toBe('another');
  });

  test('and whose release gets no answer: the error is the refresh\'s', async () => {
    const { refresh } = provider([10, tokenError('crm', 'INVALID_REFRESH_RESULT', 'of no use')]);
    time.faults = ({ operation }) => operation === 'release' ? denied : undefined;
    const process = time.process();
    expect(await time.errorOf(process.token({ refresh }).get())).toMatchObject({ code: 'INVALID_REFRESH_RESULT' });
    expect(process.story()).not.toContain('released');
  });
});

describe('a defect, an error that is none of ours,', () => {
  const defect = new TypeError('x is not a function');

  test('at the release is told as it is', async () => {
    const { refresh } = provider([10, new Error('down')]);
    time.faults = ({ operation }) => operation === 'release' ? defect : undefined;
    expect(await time.errorOf(time.process().token({ refresh }).get())).toBe(defect);
  });

  test('at the commit counts as a refresh that failed: the token is used, and the lease given back', async () => {
    const { refresh } = provider([10, fresh('new')]);
    time.faults = ({ operation }) => operation === 'commit' ? defect : undefined;
    const process = time.process();
    expect(await time.until(process.token({ refresh }).get())).toBe('new');
    expect(process.events.find(({ type }) => type === 'released')).toMatchObject({ code: 'TypeError' });
  });
});

describe('a token that cannot be stored', () => {
  test('because the table refuses it for good: it is used here, and others do not fetch another at once', async () => {
    const { refresh } = provider([100, fresh('new')]);
    time.faults = ({ operation }) => operation === 'commit' ? denied : undefined;
    const process = time.process();
    expect(await time.until(process.token({ refresh }).get())).toBe('new');
    await time.pass(100);
    expect(time.operations()).toEqual(['read', 'claim', 'commit', 'release']);
    expect(time.item()).toMatchObject({ failure: { code: 'ACCESS_DENIED', count: 1 } });
    expect(process.events.find(({ type }) => type === 'released')).toMatchObject({ code: 'ACCESS_DENIED' });
  });

  test('because the table does not answer: it is used here when the call ends, and its lease is left to end', async () => {
    const { refresh } = provider([100, fresh('new')]);
    time.faults = ({ operation }) => operation === 'commit' ? 'request lost' : undefined;
    expect(await time.until(time.process().token({ refresh }).get({ timeoutMs: 2_000 }))).toBe('new');
    expect(time.operations()).not.toContain('release');
    expect(lease()).toBeDefined();
    expect(time.passed).toBeGreaterThan(1_500);
  });

  test('when everyone has left: attempts end after 5 s, though a deadline is further off', async () => {
    const { refresh } = provider([100, fresh('new')]);
    const leave = new AbortController();
    time.faults = ({ operation }) => operation === 'commit' ? 'request vanishes' : undefined;
    time.after(50, () => leave.abort());
    expect(await time.errorOf(time.process().token({ refresh }).get({ signal: leave.signal }))).toMatchObject({ code: 'ABORTED' });
    await time.pass(MINUTE);
    expect(time.requests.filter(({ operation }) => operation === 'commit').map(({ at }) => at)).toEqual([120, 1_158, 3_233]);
  });

  test('because its lease was lost, and then the table does not answer: it is used, and stored late with the next call', async () => {
    time.put(expired());
    const { refresh, moments } = provider([100, fresh('new')]);
    time.after(50, () => time.put({ ...time.item(), lease: { id: 'another', since: time.now, until: time.now + MINUTE, holder: 'x' } }));
    time.faults = ({ operation }) => operation === 'commit' && time.operations().filter(name => name === 'commit').length > 1 ? 'request lost' : undefined;
    const process = time.process();
    const token = process.token({ refresh });
    expect(await time.until(token.get({ timeoutMs: 2_000 }))).toBe('new');
    expect(process.story()).not.toContain('committed');
    time.faults = () => undefined;
    expect(await time.until(token.get())).toBe('new');
    expect(time.item()).toMatchObject({ accessToken: 'new', generation: 4, lease: { id: 'another' } });
    expect(moments()).toHaveLength(1);
  });

  test('because a newer one is: that is adopted, and nothing is left to store', async () => {
    time.put(expired());
    const { refresh } = provider([100, fresh('mine')]);
    time.after(50, () => time.put({ accessToken: 'newer', generation: 4, issuedAt: time.now, expiresAt: time.now + HOUR }));
    const process = time.process();
    const token = process.token({ refresh });
    expect(await time.until(token.get())).toBe('newer');
    expect(process.story()).toEqual(['read', 'claimed', 'refreshing', 'refreshed', 'adopted']);
    const before = time.requests.length;
    expect(await time.until(token.get())).toBe('newer');
    expect(time.requests).toHaveLength(before);
  });

  test('because the lease is another\'s, while the item holds the same string of an earlier issue: it is stored late', async () => {
    time.put(expired());
    const { refresh } = provider([100, fresh('old')]);
    time.after(50, () => time.put({ ...time.item(), lease: { id: 'another', since: time.now, until: time.now + MINUTE, holder: 'x' } }));
    expect(await time.until(time.process().token({ refresh }).get())).toBe('old');
    expect(time.item()).toMatchObject({ accessToken: 'old', generation: 4, issuedAt: time.now - time.passed + 20 });
  });

  test('a commit whose reply is lost is recognised as ours', async () => {
    const { refresh } = provider([100, fresh('new')]);
    time.faults = ({ operation, at }) => operation === 'commit' && at < 150 ? 'reply lost' : undefined;
    const process = time.process();
    expect(await time.until(process.token({ refresh }).get())).toBe('new');
    expect(time.operations()).toEqual(['read', 'claim', 'commit', 'commit']);
    expect(process.story()).toEqual(['read', 'claimed', 'refreshing', 'refreshed', 'committed']);
    expect(time.item()).toMatchObject({ generation: 1 });
  });
});

describe('an answer after its limit', () => {
  test('is stored when it comes', async () => {
    const { refresh } = provider([3_000, fresh('late')], [Infinity, fresh('never')]);
    const process = time.process();
    const token = process.token({ refresh, authLimitMs: 2_000 });
    await time.errorOf(token.get({ timeoutMs: 2_900 }));
    await time.pass(1_500);
    expect(time.item()).toMatchObject({ accessToken: 'late', generation: 1, issuedAt: time.now - time.passed + 20 });
    expect(time.item()).not.toHaveProperty('failure');
    expect(process.events.at(-1)).toMatchObject({ type: 'committed', generation: 1, at: time.now - time.passed + 3_030 });
    expect(await time.until(token.get())).toBe('late');
  });

  test('is stored though the item was removed, and this process knows it', async () => {
    const { refresh } = provider([3_000, fresh('late')], [Infinity, fresh('never')]);
    const process = time.process();
    await time.errorOf(process.token({ refresh, authLimitMs: 2_000 }).get({ timeoutMs: 2_900 }));
    time.table.delete('crm');
    await time.errorOf(process.token().get({ timeoutMs: 50 }));
    await time.pass(1_500);
    expect(time.item()).toMatchObject({ accessToken: 'late', generation: 1 });
  });

  test('is not, where this process knows a newer one', async () => {
    const { refresh } = provider([6_000, fresh('late')], [100, fresh('second')]);
    const token = time.process().token({ refresh, authLimitMs: 2_000 });
    expect(await time.until(token.get())).toBe('second');
    const before = time.requests.length;
    await time.pass(10_000);
    expect(time.requests).toHaveLength(before);
    expect(await time.until(token.get())).toBe('second');
  });

  test('is tried for a second, and again with the next call', async () => {
    const { refresh } = provider([3_000, fresh('late')], [Infinity, fresh('never')]);
    const token = time.process().token({ refresh, authLimitMs: 2_000 });
    await time.errorOf(token.get({ timeoutMs: 2_900 }));
    time.faults = ({ operation }) => operation === 'commit' ? 'request vanishes' : undefined;
    await time.pass(5_000);
    expect(time.operations().filter(name => name === 'commit')).toHaveLength(1);
    expect(time.item()).not.toHaveProperty('accessToken');
    time.faults = () => undefined;
    expect(await time.until(token.get())).toBe('late');
    expect(time.item()).toMatchObject({ accessToken: 'late', generation: 1 });
  });
});

describe('with a rotating refresh token', () => {
  beforeEach(() => time.put(expired({ refreshToken: 'r-1' })));

  test('each of two tries has half the limit', async () => {
    const { refresh, asked, moments } = provider([Infinity, fresh('never')]);
    await time.errorOf(time.process().token({ refresh, authLimitMs: 2_000 }).get({ timeoutMs: 2_900 }));
    expect(moments()).toEqual([20, 1_020]);
    expect(asked.map(({ request }) => request.refreshToken)).toEqual(['r-1', 'r-1']);
    expect(time.item()?.failure).toMatchObject({ at: time.now - time.passed + 2_020 });
  });

  test('an answer within the first half is replayed by nobody', async () => {
    const { refresh, moments } = provider([900, fresh('first', { refreshToken: 'r-2' })]);
    expect(await time.until(time.process().token({ refresh, authLimitMs: 2_000 }).get())).toBe('first');
    expect(moments()).toEqual([20]);
    expect(time.item()).toMatchObject({ refreshToken: 'r-2', refreshMs: 180 });
  });

  test('the replay\'s answer counts, though the first one came before it', async () => {
    const { refresh } = provider([1_200, fresh('first', { refreshToken: 'r-2' })], [500, fresh('second', { refreshToken: 'r-3' })]);
    expect(await time.until(time.process().token({ refresh, authLimitMs: 2_000 }).get())).toBe('second');
    await time.pass(5_000);
    expect(time.item()).toMatchObject({ accessToken: 'second', refreshToken: 'r-3', generation: 4, issuedAt: time.now - time.passed + 1_020 });
    expect(time.operations().filter(name => name === 'commit')).toHaveLength(1);
  });

  test.each([
    ['fails', [500, new Error('invalid_grant')] as const, 1_520],
    ['gets no answer', [Infinity, fresh('never')] as const, 2_020],
  ])('the first one\'s counts where the replay %s', async (_, second, at) => {
    const { refresh } = provider([1_200, fresh('first', { refreshToken: 'r-2' })], second);
    expect(await time.until(time.process().token({ refresh, authLimitMs: 2_000 }).get())).toBe('first');
    expect(time.item()).toMatchObject({ accessToken: 'first', refreshToken: 'r-2', generation: 4, issuedAt: time.now - time.passed + 20 });
    expect(time.requests.find(({ operation }) => operation === 'commit')?.at).toBe(at);
  });

  test('the first one\'s is stored late where it comes after a replay that failed', async () => {
    const { refresh } = provider([1_800, fresh('first', { refreshToken: 'r-2' })], [500, new Error('invalid_grant')], [Infinity, fresh('never')]);
    const token = time.process().token({ refresh, authLimitMs: 2_000 });
    await time.errorOf(token.get({ timeoutMs: 1_700 }));
    await time.pass(2_000);
    expect(time.item()).toMatchObject({ accessToken: 'first', refreshToken: 'r-2', generation: 4 });
  });

  test('a late answer to the first waits for what is being stored, and gives way to it', async () => {
    const { refresh } = provider([1_545, fresh('first', { refreshToken: 'r-2' })], [520, fresh('second', { refreshToken: 'r-3' })]);
    const token = time.process().token({ refresh, authLimitMs: 2_000 });
    expect(await time.until(token.get())).toBe('second');
    await time.pass(5_000);
    expect(time.item()).toMatchObject({ accessToken: 'second', refreshToken: 'r-3', generation: 4 });
    expect(await time.until(token.get())).toBe('second');
  });

  test('both late: the first is stored, then the other one over it, though hardly younger', async () => {
    const { refresh } = provider([2_500, fresh('first', { refreshToken: 'r-2' })], [3_000, fresh('second', { refreshToken: 'r-3' })], [Infinity, fresh('never')]);
    const token = time.process().token({ refresh, authLimitMs: 2_000 });
    await time.errorOf(token.get({ timeoutMs: 2_400 }));
    await time.pass(MINUTE);
    expect(time.item()).toMatchObject({ accessToken: 'second', refreshToken: 'r-3', generation: 5 });
  });

  test('both late, and the reply to the first one\'s commit comes when the second one waits: that is still to be stored', async () => {
    const { refresh } = provider([2_500, fresh('first', { refreshToken: 'r-2' })], [1_505, fresh('second', { refreshToken: 'r-3' })], [Infinity, fresh('never')]);
    const token = time.process().token({ refresh, authLimitMs: 2_000 });
    await time.errorOf(token.get({ timeoutMs: 2_400 }));
    time.faults = ({ operation, at }) => operation === 'commit' && at > 2_521 ? 'request vanishes' : undefined;
    await time.pass(5_000);
    time.faults = () => undefined;
    await time.until(token.get());
    expect(time.item()).toMatchObject({ accessToken: 'second', refreshToken: 'r-3' });
  });

  test('the first one was stored, its reply was lost, and the replay\'s comes late: that takes its place', async () => {
    const { refresh } = provider([1_200, fresh('first', { refreshToken: 'r-2' })], [3_000, fresh('second', { refreshToken: 'r-3' })]);
    time.faults = ({ operation, at }) => operation === 'commit' && at < 3_500 ? 'reply vanishes' : undefined;
    const token = time.process().token({ refresh, authLimitMs: 2_000 });
    expect(await time.until(token.get({ timeoutMs: 2_900 }))).toBe('first');
    await time.pass(3_000);
    expect(time.item()).toMatchObject({ accessToken: 'second', refreshToken: 'r-3', generation: 5 });
    expect(await time.until(token.get())).toBe('second');
  });

  test.each([
    ['half of the limit is left of the lease: it is replayed', 1_188, 2],
    ['less is left: it is not', 1_189, 1],
  ])('after a freeze in the first try, %s', async (_, frozenMs, sent) => {
    const { refresh, asked } = provider([Infinity, fresh('never')]);
    const process = time.process();
    time.after(500, () => process.freeze(frozenMs));
    await time.errorOf(process.token({ refresh, authLimitMs: 2_000 }).get({ timeoutMs: 6_000 }));
    const firstLease = process.events.filter(({ type, leaseId }) => type === 'refreshing' && leaseId === 'lease-1');
    expect(firstLease).toHaveLength(sent);
    expect(asked.length).toBeGreaterThanOrEqual(sent);
  });

  test('nothing is replayed when everyone has left; an answer that comes then is stored', async () => {
    const { refresh, moments } = provider([1_500, fresh('first', { refreshToken: 'r-2' })]);
    const leave = new AbortController();
    time.after(500, () => leave.abort());
    await time.errorOf(time.process().token({ refresh, authLimitMs: 2_000 }).get({ signal: leave.signal }));
    await time.pass(5_000);
    expect(moments()).toEqual([20]);
    expect(time.item()).toMatchObject({ accessToken: 'first', refreshToken: 'r-2' });
  });

  test('one that could not be stored is handed to the next refresh', async () => {
    const { refresh, asked } = provider([100, fresh('first', { refreshToken: 'r-2', expiresIn: 30 })], [100, fresh('second', { refreshToken: undefined })]);
    const token = time.process().token({ refresh });
    time.faults = ({ operation }) => operation === 'commit' ? 'request lost' : undefined;
    expect(await time.until(token.get({ timeoutMs: 2_000 }))).toBe('first');
    await time.pass(MINUTE);
    time.faults = ({ operation, at }) => operation === 'commit' && at < MINUTE + 4_000 ? 'request lost' : undefined;
    expect(await time.until(token.get())).toBe('second');
    expect(asked.map(({ request }) => request.refreshToken)).toEqual(['r-1', 'r-2']);
    expect(time.item()).toMatchObject({ accessToken: 'second', refreshToken: 'r-2' });
  });
});

describe('an auth limit above the longest lease', () => {
  test('the lease is renewed at half its life, for as long again, until the answer', async () => {
    const { refresh } = provider([20 * MINUTE, fresh('logged-in')]);
    const getting = time.process().token({ refresh, authLimitMs: HOUR }).get({ timeoutMs: 2 * HOUR });
    await time.pass(8 * MINUTE);
    expect(lease()).toMatchObject({ id: 'lease-1', since: time.now - time.passed + 10, until: time.now - time.passed + 450_010 + 15 * MINUTE });
    expect(await time.until(getting)).toBe('logged-in');
    expect(time.requests.filter(({ operation }) => operation === 'renew').map(({ at }) => at)).toEqual([450_010, 900_010]);
    await time.pass(HOUR);
    expect(time.operations().filter(name => name === 'renew')).toHaveLength(2);
  });

  test('a lease that another has is renewed no more', async () => {
    const { refresh } = provider([40 * MINUTE, fresh('logged-in')]);
    const getting = time.process().token({ refresh, authLimitMs: HOUR }).get({ timeoutMs: 2 * HOUR });
    time.after(5 * MINUTE, () => time.put({ ...time.item(), lease: { id: 'another', since: time.now, until: time.now + HOUR, holder: 'x' } }));
    expect(await time.until(getting)).toBe('logged-in');
    expect(time.operations().filter(name => name === 'renew')).toHaveLength(1);
    expect(time.item()).toMatchObject({ accessToken: 'logged-in', lease: { id: 'another' } });
  });

  test('a request that fails ends the renewals', async () => {
    const { refresh } = provider([10 * MINUTE, new Error('no')]);
    await time.errorOf(time.process().token({ refresh, authLimitMs: HOUR }).get({ timeoutMs: 10.01 * MINUTE + 2_500_000 }));
    const renewals = time.operations().filter(name => name === 'renew').length;
    await time.pass(2 * HOUR);
    expect(time.operations().filter(name => name === 'renew')).toHaveLength(renewals);
  });
});
