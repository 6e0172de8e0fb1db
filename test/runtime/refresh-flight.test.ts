import { RefreshError, SharedTokenError } from '../../lambda-runtime/errors';
import type { RefreshResult } from '../../lambda-runtime/public-types';
import { SimulatedTime } from '../support/simulated-process';
import { fresh, simulatedProvider, type Way } from '../support/simulated-provider';

/*
 * How a process looks for a token, to the millisecond: each request to the table takes 10 ms there and back, and the host's random number is always one half.
 */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
let time: SimulatedTime;
beforeEach(() => { time = new SimulatedTime(); });

const provider = (...ways: readonly [Way, ...Way[]]) => simulatedProvider(time, ...ways);
const stored = (more: object = {}) => ({ accessToken: 'old', generation: 3, issuedAt: time.now - HOUR / 2, expiresAt: time.now + HOUR / 2, refreshMs: 200, ...more });
const expired = (more: object = {}) => stored({ issuedAt: time.now - 2 * HOUR, expiresAt: time.now - HOUR, ...more });
/** In its refresh-ahead window, for every instance. */
const ending = (more: object = {}) => stored({ issuedAt: time.now - 58 * MINUTE, expiresAt: time.now + 2 * MINUTE, ...more });
const leaseFor = (ms: number, more: object = {}) => ({ id: 'other', since: time.now, until: time.now + ms, holder: 'crm-sync 42', ...more });
const reads = () => time.requests.filter(({ operation }) => operation === 'read').map(({ at }) => at);

describe('a waiter', () => {
  test('looks when the running refresh should be done and stored, then by growing steps; each wait is told', async () => {
    time.put(expired({ lease: leaseFor(12 * SECOND) }));
    const start = time.now;
    const process = time.process();
    const getting = process.token().get();
    time.after(260, () => time.put(stored({ accessToken: 'new', generation: 4, issuedAt: start })));
    expect(await time.until(getting)).toBe('new');
    const waits = process.events.filter(({ type }) => type === 'waiting');
    expect(waits.map(({ leaseId, until }) => [leaseId, (until ?? 0) - start])).toEqual([['other', 223], ...reads().slice(2).map((at): unknown => ['other', expect.closeTo(at, -1)])]);
    expect(reads().slice(0, 2)).toEqual([0, 223]);
    expect(process.story().slice(-2)).toEqual(['read', 'adopted']);
  });

  test('fails at its deadline with an error that says who refreshes until when', async () => {
    time.put(expired({ lease: leaseFor(12 * SECOND) }));
    const error = await time.errorOf(time.process().token({ refresh: provider([1, fresh('new')]).refresh }).get({ timeoutMs: 900 }));
    expect(time.passed).toBe(900);
    expect(error).toMatchObject({ code: 'DEADLINE_EXCEEDED', tokenId: 'crm', message: expect.stringContaining('crm-sync 42 is refreshing it until 2026-01-01T00:00:12.000Z') });
  });

  test.each([
    [{ holder: undefined }, 'another instance is refreshing it'],
    [{ until: 8.64e15 }, 'until +275760-09-13T00:00:00.000Z at the latest'],
  ])('or by what is known of that: %j', async (more, words) => {
    time.put(expired({ lease: leaseFor(12 * SECOND, more) }));
    expect(await time.errorOf(time.process().token().get({ timeoutMs: 900 }))).toMatchObject({ message: expect.stringContaining(words) });
  });
});

describe('callers of one flight', () => {
  test('each leave at their own deadline, and a later one makes the flight last', async () => {
    const { refresh, moments } = provider([1_500, fresh('new')]);
    const token = time.process().token({ refresh, authLimitMs: 2_000 });
    const first = time.errorOf(token.get({ timeoutMs: 400 }));
    const second = token.get({ timeoutMs: 5_000 });
    expect(await first).toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    expect(time.passed).toBe(400);
    expect(await time.until(second)).toBe('new');
    expect(moments()).toEqual([20]);
    expect(time.operations()).toEqual(['read', 'claim', 'commit']);
  });

  test('leave when they are aborted, with the reason, and the others stay', async () => {
    const { refresh } = provider([500, fresh('new')]);
    const token = time.process().token({ refresh });
    const leave = new AbortController();
    time.after(100, () => leave.abort(new Error('enough')));
    const [first, second] = [time.errorOf(token.get({ signal: leave.signal })), token.get()];
    expect(await first).toMatchObject({ code: 'ABORTED', cause: new Error('enough'), message: expect.stringContaining('signal was aborted') });
    expect(time.passed).toBe(100);
    expect(await time.until(second)).toBe('new');
  });

  test('one that may refresh takes the lead from one that only reads', async () => {
    const { refresh, moments } = provider([100, fresh('new')]);
    const process = time.process();
    const reading = process.token().get();
    await time.pass(100);
    const refreshing = process.token({ refresh }).get();
    expect(await time.until(Promise.all([reading, refreshing]))).toEqual(['new', 'new']);
    expect(moments()).toHaveLength(1);
  });

  test('one that comes during the request waits for it, too', async () => {
    const { refresh } = provider([500, fresh('new')]);
    const token = time.process().token({ refresh });
    const first = token.get();
    await time.pass(100);
    expect(await time.until(Promise.all([first, token.get()]))).toEqual(['new', 'new']);
    expect(time.operations()).toEqual(['read', 'claim', 'commit']);
  });

  test('one that leaves early takes nobody along', async () => {
    time.put(expired({ lease: leaseFor(12 * SECOND) }));
    const token = time.process().token();
    const long = token.get({ timeoutMs: 5_000 });
    await time.pass(100);
    const short = time.errorOf(token.get({ timeoutMs: 300 }));
    time.after(900, () => time.put(stored({ accessToken: 'new', generation: 4, issuedAt: time.now })));
    expect(await short).toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    expect(await time.until(long)).toBe('new');
  });

  test('the lead stays with one that may refresh when readers join', async () => {
    time.put(expired({ lease: leaseFor(500) }));
    const { refresh, moments } = provider([100, fresh('new')]);
    const process = time.process();
    const refreshing = process.token({ refresh }).get();
    await time.pass(100);
    const reading = process.token().get();
    expect(await time.until(Promise.all([refreshing, reading]))).toEqual(['new', 'new']);
    expect(moments()).toHaveLength(1);
  });

  test('when all have left, nothing more is looked for', async () => {
    time.put(expired({ lease: leaseFor(12 * SECOND) }));
    const leave = new AbortController();
    time.after(100, () => leave.abort());
    expect(await time.errorOf(time.process().token().get({ signal: leave.signal }))).toMatchObject({ code: 'ABORTED' });
    await time.pass(MINUTE);
    expect(reads()).toEqual([0]);
  });

  test('one whose signal is aborted already does not even get a token from memory, and asks nobody', async () => {
    time.put(stored());
    const token = time.process().token();
    await time.until(token.get());
    expect(await time.errorOf(token.get({ signal: AbortSignal.abort(new Error('enough')) }))).toMatchObject({ code: 'ABORTED', cause: new Error('enough') });
    expect(reads()).toEqual([0]);
  });

  test('after a freeze has taken the flight\'s time, the next caller looks at once', async () => {
    time.put(expired({ refreshMs: 3_000, lease: leaseFor(12 * SECOND) }));
    const process = time.process();
    const frozen = process.token().get({ timeoutMs: 5_000 }).catch(() => undefined);
    await time.pass(100);
    process.freeze(20_000);
    time.put(stored({ accessToken: 'new', generation: 4, issuedAt: time.now }));
    const before = time.passed;
    expect(await time.until(process.token().get())).toBe('new');
    expect(time.passed - before).toBe(10);
    await time.until(frozen);
  });

  test('a new flight is begun when the lease of the first is over', async () => {
    const { refresh, moments } = provider([Infinity, fresh('never')], [100, fresh('new')]);
    const process = time.process();
    const token = process.token({ refresh, authLimitMs: 2_000 });
    const first = token.get({ timeoutMs: 20_000 });
    await time.pass(100);
    process.freeze(15 * SECOND);
    const before = time.passed;
    expect(await time.until(token.get())).toBe('new');
    expect(time.passed - before).toBeLessThan(200);
    expect(moments()).toHaveLength(2);
    expect(await time.until(first)).toBe('new');
  });

  test('who joined late is not there for a flight that has landed', async () => {
    const { refresh, moments } = provider([100, fresh('first', { expiresIn: 100 })], [100, fresh('second')]);
    const token = time.process().token({ refresh });
    expect(await time.until(token.get())).toBe('first');
    await time.pass(2 * MINUTE);
    expect(await time.until(token.get())).toBe('second');
    expect(moments()).toHaveLength(2);
  });
});

describe('a claim that the table throttles', () => {
  test('is not sent again: after a pause the process looks, and claims if need be', async () => {
    const { refresh } = provider([100, fresh('new')]);
    let throttles = 2;
    time.faults = ({ operation }) => operation === 'claim' && throttles-- > 0 ? 'throttled' : undefined;
    const process = time.process();
    expect(await time.until(process.token({ refresh }).get())).toBe('new');
    expect(time.requests.map(({ operation, at }) => [operation, at])).toEqual([
      ['read', 0], ['claim', 10], ['read', 95], ['claim', 105], ['read', 265], ['claim', 275], ['commit', 385],
    ]);
    expect(process.events.filter(({ type }) => type === 'waiting').map(({ until, leaseId }) => [(until ?? 0) - time.now + time.passed, leaseId])).toEqual([[95, undefined], [265, undefined]]);
  });

  test('is sent again where an earlier attempt may have been applied', async () => {
    const { refresh, moments } = provider([100, fresh('new')]);
    const ends = ['reply lost', 'throttled', undefined] as const;
    let claims = 0;
    time.faults = ({ operation }) => operation === 'claim' ? ends[claims++] : undefined;
    expect(await time.until(time.process().token({ refresh }).get())).toBe('new');
    expect(time.operations()).toEqual(['read', 'claim', 'claim', 'claim', 'commit']);
    expect(moments()).toHaveLength(1);
  });
});

describe('too little time for a refresh', () => {
  test('a process that once had more time waits for who has it; after one call has ended so, it claims with what it has', async () => {
    const { refresh, moments } = provider([900, fresh('first', { expiresIn: 100 })], [100, fresh('second')]);
    const token = time.process().token({ refresh });
    expect(await time.until(token.get())).toBe('first');
    await time.pass(2 * MINUTE);
    const error = await time.errorOf(token.get({ timeoutMs: 1_200 }));
    expect(error).toMatchObject({ code: 'DEADLINE_EXCEEDED', message: expect.stringContaining('too little time was left for a refresh') });
    expect(moments()).toHaveLength(1);
    expect(await time.until(token.get({ timeoutMs: 1_200 }))).toBe('second');
  });
});

test('a first read that took long does not forbid to claim: what it left of the time counts', async () => {
  time.put(expired({ refreshMs: SECOND }));
  time.faults = ({ operation, at }) => operation === 'read' && at === 0 ? { slowMs: 890 } : undefined;
  const { refresh } = provider([900, fresh('new')]);
  expect(await time.until(time.process().token({ refresh }).get({ timeoutMs: 3_000 }))).toBe('new');
  expect(time.operations()).toEqual(['read', 'claim', 'commit']);
});

describe('what a call had too little time for', () => {
  const slow = async () => {
    const { refresh, moments } = provider([900, fresh('first', { expiresIn: 100 })], [100, fresh('second')]);
    const process = time.process();
    await time.until(process.token({ refresh }).get());
    await time.pass(2 * MINUTE);
    return { process, refresh, moments };
  };

  test.each([
    ['with half of it left, had time enough: the next one waits for who has more', 605, 'DEADLINE_EXCEEDED'],
    ['with less than half of it left, had too little: the next one claims with as much', 606, 'second'],
  ])('who leaves by a signal %s', async (_, leaveAfterMs, ended) => {
    const { process, refresh, moments } = await slow();
    const token = process.token({ refresh });
    const leave = new AbortController();
    time.after(leaveAfterMs, () => leave.abort());
    // 1,190 ms were left when that was found too little.
    const getting = [1_200, 1_100].map(async timeoutMs => token.get({ timeoutMs, signal: leave.signal }));
    expect(await time.until(Promise.allSettled(getting))).toMatchObject([{ reason: { code: 'ABORTED' } }, { reason: { code: 'ABORTED' } }]);
    await time.pass(50);
    expect(moments()).toHaveLength(1);
    expect(await time.until(token.get({ timeoutMs: 1_200 }).catch(({ code }: SharedTokenError) => code))).toBe(ended);
    // A call that ended for want of time lets the next one through.
    expect(await time.until(token.get({ timeoutMs: 1_200 }))).toBe('second');
  });

  test('says nothing where it waited for a lease, nor where it only read', async () => {
    const { process, refresh, moments } = await slow();
    time.put({ ...time.item(), lease: leaseFor(20 * SECOND) });
    expect(await time.errorOf(process.token({ refresh }).get({ timeoutMs: 1_200 }))).toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    time.put({ ...time.item(), lease: undefined });
    expect(await time.errorOf(process.token().get({ timeoutMs: 1_200 }))).toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    expect(await time.errorOf(process.token({ refresh }).get({ timeoutMs: 1_200 }))).toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    expect(moments()).toHaveLength(1);
    expect(await time.until(process.token({ refresh }).get())).toBe('second');
  });

  test('is told with the failure before, where there was one', async () => {
    const { process, refresh } = await slow();
    time.put({ ...time.item(), failure: { code: '503', count: 1, at: time.now - 9_000, retryAt: time.now - 8_000 } });
    const error = await time.errorOf(process.token({ refresh }).get({ timeoutMs: 1_200 }));
    expect(error).toMatchObject({ code: 'DEADLINE_EXCEEDED', message: expect.stringContaining('the last refresh failed (503)') });
  });
});

describe('a refresh that fails', () => {
  test('is tried again when its cool-down ends, where the deadline allows', async () => {
    const { refresh, moments } = provider([10, new RefreshError('503')], [10, fresh('new')]);
    const process = time.process();
    expect(await time.until(process.token({ refresh }).get())).toBe('new');
    expect(moments()).toEqual([20, 1_101]);
    expect(process.events.find(({ type }) => type === 'waiting')).toMatchObject({ until: time.now - time.passed + 1_081, leaseId: undefined });
  });

  test('and whose cool-down is longer is the call\'s error, with its cause and when to try again', async () => {
    const cause = new RefreshError('503', { retryAfter: 7 });
    const { refresh } = provider([10, cause]);
    const error = await time.errorOf(time.process().token({ refresh }).get());
    expect(error).toMatchObject({ code: 'REFRESH_FAILED', tokenId: 'crm', retryAt: time.now - time.passed + 30 + 7_000, cause, message: expect.stringContaining('503') });
    expect(time.passed).toBe(40);
  });

  test.each(['invalid_client', 'invalid_grant'])('for good (%s) is not tried again, and known at once', async code => {
    const { refresh, moments } = provider([10, new RefreshError(code)]);
    const error = await time.errorOf(time.process().token({ refresh }).get());
    expect(error).toMatchObject({ code: 'REFRESH_FAILED', retryAt: time.now - time.passed + 30 + 5 * MINUTE });
    expect(moments()).toHaveLength(1);
  });

  test('of another instance: the error names its code, and when the next may be tried', async () => {
    time.put(expired({ failure: { code: '503', count: 5, at: time.now - 10, retryAt: time.now + 9_000 } }));
    const { refresh } = provider([10, fresh('new')]);
    const error = await time.errorOf(time.process().token({ refresh }).get());
    expect(error).toMatchObject({
      code: 'COOLING_DOWN', retryAt: time.now - time.passed + 9_000, message: expect.stringMatching(/\(503\); no instance tries again before 2026-01-01T00:00:09.000Z/),
    });
  });

  test('of another instance, and soon over: it is waited for', async () => {
    time.put(expired({ failure: { code: '503', count: 1, at: time.now - 10, retryAt: time.now + 500 } }));
    const { refresh, moments } = provider([10, fresh('new')]);
    expect(await time.until(time.process().token({ refresh }).get())).toBe('new');
    expect(moments()).toEqual([571]);
  });

  test('is the cause of an error at the deadline, when others hold the call up after it', async () => {
    const cause = new RefreshError('503');
    const { refresh } = provider([10, cause]);
    time.after(100, () => time.put({ lease: leaseFor(12 * SECOND) }));
    const error = await time.errorOf(time.process().token({ refresh }).get({ timeoutMs: 3_000 })) as SharedTokenError;
    expect(error).toMatchObject({ code: 'DEADLINE_EXCEEDED', cause: { code: 'REFRESH_FAILED', cause } });
    expect(time.passed).toBe(3_000);
  });

  test('by an answer that is none is not tried again', async () => {
    const { refresh, moments } = provider([10, {} as RefreshResult]);
    expect(await time.errorOf(time.process().token({ refresh }).get())).toMatchObject({ code: 'INVALID_REFRESH_RESULT', tokenId: 'crm' });
    expect(moments()).toHaveLength(1);
    expect(time.passed).toBe(40);
  });

  test('by a token that is over on arrival: stored with a pause, and the call fails as one that cools down', async () => {
    const { refresh, moments } = provider([10, fresh('stale', { expiresIn: 0.001 })]);
    expect(await time.errorOf(time.process().token({ refresh }).get({ timeoutMs: 900 }))).toMatchObject({ code: 'COOLING_DOWN' });
    expect(moments()).toHaveLength(1);
    expect(time.item()).toMatchObject({ accessToken: 'stale', failure: { code: 'EXPIRED_ON_ARRIVAL', count: 1 } });
  });
});

describe('refresh ahead', () => {
  test('the other callers of a cold process wait for the read alone', async () => {
    time.put(ending());
    const { refresh } = provider([500, fresh('new')]);
    const token = time.process().token({ refresh });
    const [first, second] = [token.get(), token.get()];
    expect(await time.until(second)).toBe('old');
    expect(time.passed).toBe(10);
    expect(await time.until(first)).toBe('new');
  });

  test('looks before it claims: where another was quicker, its token is used', async () => {
    time.put(stored());
    const { refresh, moments } = provider([500, fresh('own')]);
    const token = time.process().token({ refresh });
    await time.until(token.get());
    await time.pass(28 * MINUTE);
    time.put(stored({ accessToken: 'new', generation: 4, issuedAt: time.now - MINUTE, expiresAt: time.now + HOUR }));
    expect(await time.until(token.get())).toBe('new');
    expect(time.operations()).toEqual(['read', 'read']);
    expect(moments()).toEqual([]);
  });

  test('the first caller fetches the successor, the others use the token at once', async () => {
    time.put(ending());
    const { refresh, moments } = provider([500, fresh('new')]);
    const token = time.process().token({ refresh });
    const first = token.get();
    await time.pass(200);
    expect(await time.until(token.get())).toBe('old');
    expect(time.passed).toBe(200);
    expect(await time.until(first)).toBe('new');
    expect(moments()).toEqual([20]);
  });

  test('a table that does not answer: the token is used after a second, and not looked for again before 10 s', async () => {
    time.put(ending({ expiresAt: time.now + 20 * MINUTE, issuedAt: time.now - 40 * MINUTE }));
    const { refresh } = provider([10, fresh('new')]);
    const token = time.process().token({ refresh });
    await time.until(token.get());
    await time.pass(18 * MINUTE);
    time.requests.length = 0;
    time.faults = () => 'request vanishes';
    const start = time.passed;
    expect(await time.until(token.get())).toBe('old');
    expect(time.passed - start).toBe(SECOND);
    expect(await time.until(token.get())).toBe('old');
    expect(time.passed - start).toBe(SECOND);
    expect(time.requests).toHaveLength(1);
    await time.pass(9_999);
    await time.until(token.get());
    expect(time.requests).toHaveLength(1);
    await time.pass(1);
    time.faults = () => undefined;
    expect(await time.until(token.get())).toBe('new');
  });

  test('a claim that is throttled ahead of time: the token is used, after no pause', async () => {
    time.put(ending());
    const { refresh, moments } = provider([10, fresh('new')]);
    time.faults = ({ operation }) => operation === 'claim' ? 'throttled' : undefined;
    const token = time.process().token({ refresh });
    expect(await time.until(token.get())).toBe('old');
    expect(time.passed).toBe(20);
    expect(await time.until(token.get())).toBe('old');
    expect(time.operations()).toEqual(['read', 'claim']);
    expect(moments()).toEqual([]);
  });

  test('one that fails is no error, and its cool-down is kept', async () => {
    time.put(ending());
    const { refresh, moments } = provider([10, new RefreshError('invalid_client')]);
    const token = time.process().token({ refresh });
    expect(await time.until(token.get())).toBe('old');
    await time.pass(10 * SECOND);
    expect(await time.until(token.get())).toBe('old');
    expect(moments()).toHaveLength(1);
  });
});

describe('a reader', () => {
  test('looks for two seconds, then says that there is no token', async () => {
    const error = await time.errorOf(time.process().token().get());
    expect(error).toMatchObject({ code: 'NO_USABLE_TOKEN', tokenId: 'crm', message: expect.stringContaining('this function only reads') });
    expect(time.passed).toBeGreaterThanOrEqual(2_010);
    expect(time.passed).toBeLessThanOrEqual(2_030);
    expect(reads()).toEqual([0, 90, 229, 444, 782, 1_317, 2_000]);
  });

  test('the wait for a lease does not count', async () => {
    time.put(expired({ lease: leaseFor(3 * SECOND) }));
    expect(await time.errorOf(time.process().token().get())).toMatchObject({ code: 'NO_USABLE_TOKEN' });
    // The lease, watched for its whole duration, and then two seconds of looking.
    expect(time.passed).toBeGreaterThan(5_000);
    expect(time.passed).toBeLessThan(5_300);
  });
});

describe('a token that is not stored yet', () => {
  const unsavedToken = async () => {
    const { refresh, moments } = provider([100, fresh('new')]);
    time.faults = ({ operation }) => operation === 'commit' ? 'request lost' : undefined;
    const token = time.process().token({ refresh });
    expect(await time.until(token.get({ timeoutMs: 2_000 }))).toBe('new');
    time.requests.length = 0;
    return { token, moments };
  };

  test('is stored with the next call, before anything else', async () => {
    const { token, moments } = await unsavedToken();
    time.faults = () => undefined;
    expect(await time.until(token.get())).toBe('new');
    expect(time.operations()).toEqual(['commit']);
    expect(time.item()).toMatchObject({ accessToken: 'new', generation: 1 });
    expect(await time.until(token.get())).toBe('new');
    expect(time.operations()).toEqual(['commit']);
    expect(moments()).toHaveLength(1);
  });

  test('is used after a second of trying, and not tried again before 10 s', async () => {
    const { token } = await unsavedToken();
    time.faults = () => 'request vanishes';
    const start = time.passed;
    expect(await time.until(token.get())).toBe('new');
    expect(time.passed - start).toBe(SECOND);
    expect(await time.until(token.get())).toBe('new');
    expect(time.passed - start).toBe(SECOND);
    expect(time.operations()).toEqual(['commit']);
    await time.pass(10 * SECOND);
    time.faults = () => undefined;
    await time.until(token.get());
    expect(time.operations()).toEqual(['commit', 'commit']);
    expect(time.item()).toMatchObject({ accessToken: 'new' });
  });

  test('holds up nobody but the call that stores it', async () => {
    const { token } = await unsavedToken();
    time.faults = () => 'request vanishes';
    const start = time.passed;
    const storing = token.get();
    await time.pass(100);
    expect(await time.until(token.get())).toBe('new');
    expect(time.passed - start).toBe(100);
    expect(await time.until(storing)).toBe('new');
  });

  test('gives way to one that was stored meanwhile', async () => {
    const { token } = await unsavedToken();
    time.faults = () => undefined;
    time.put(stored({ accessToken: 'newer', generation: 9, issuedAt: time.now }));
    expect(await time.until(token.get())).toBe('newer');
    expect(await time.until(token.get())).toBe('newer');
    expect(time.operations()).toEqual(['commit']);
  });
});

describe('use', () => {
  const api = (refused: readonly string[], tried: string[] = []) => ({
    tried,
    call: async (token: string) => {
      tried.push(token);
      await time.sleep(20);
      return { status: refused.includes(token) ? 401 : 200 };
    },
  });

  test('a refused token is replaced, and the call made once more', async () => {
    time.put(stored());
    const { refresh } = provider([100, fresh('new')]);
    const process = time.process();
    const { call, tried } = api(['old']);
    expect(await time.until(process.token({ refresh }).use(call))).toEqual({ status: 200 });
    expect(tried).toEqual(['old', 'new']);
    expect(process.events.filter(({ type }) => type === 'rejected').map(({ generation, code }) => [generation, code])).toEqual([[3, undefined]]);
  });

  test('a young one is tried again after half a second and a look, and then the refusal goes back', async () => {
    time.put(stored({ issuedAt: time.now - SECOND, expiresAt: time.now + HOUR }));
    const { refresh, moments } = provider([100, fresh('new')]);
    const process = time.process();
    const { call, tried } = api(['old']);
    expect(await time.until(process.token({ refresh }).use(call))).toEqual({ status: 401 });
    expect(tried).toEqual(['old', 'old']);
    expect(moments()).toEqual([]);
    expect(reads()).toEqual([0, 530]);
    expect(process.events.filter(({ type }) => type === 'rejected').map(({ generation, code }) => [generation, code])).toEqual([[3, 'TOO_YOUNG'], [3, 'TOO_YOUNG']]);
  });

  test('the pause ends with the call\'s time, and with its signal', async () => {
    time.put(stored({ issuedAt: time.now - SECOND, expiresAt: time.now + HOUR }));
    const { refresh } = provider([100, fresh('new')]);
    const token = time.process().token({ refresh });
    await time.until(token.get());
    const leave = new AbortController();
    time.after(100, () => leave.abort());
    const start = time.passed;
    expect(await time.errorOf(token.use(api(['old']).call, { signal: leave.signal }))).toMatchObject({ code: 'ABORTED' });
    expect(time.passed - start).toBe(100);
    expect(await time.until(token.use(api(['old']).call, { timeoutMs: 200 }))).toEqual({ status: 401 });
    expect(time.passed - start).toBeLessThanOrEqual(100 + 220);
  });

  test('a young one whose successor is being fetched: that is waited for', async () => {
    time.put(stored({ issuedAt: time.now - SECOND, expiresAt: time.now + HOUR, lease: leaseFor(12 * SECOND) }));
    const { refresh } = provider([100, fresh('own')]);
    const { call, tried } = api(['old']);
    time.after(900, () => time.put(stored({ accessToken: 'new', generation: 4, issuedAt: time.now })));
    expect(await time.until(time.process().token({ refresh }).use(call))).toEqual({ status: 200 });
    expect(tried).toEqual(['old', 'new']);
  });

  test('a refusal of a token that was replaced meanwhile is told to nobody', async () => {
    time.put(stored());
    const process = time.process();
    const token = process.token();
    await time.until(token.get());
    token.reject('another');
    expect(process.story()).toEqual(['read', 'adopted']);
    token.reject('old');
    expect(process.events.at(-1)).toMatchObject({ type: 'rejected', generation: 3, code: undefined });
  });

  test('a refusal before any token is known is noted, for every issue until now', async () => {
    time.put(stored());
    const { refresh } = provider([100, fresh('new')]);
    const process = time.process();
    const token = process.token({ refresh });
    token.reject('old');
    expect(process.events).toEqual([{ type: 'rejected', tokenId: 'crm', at: time.now, generation: undefined, code: undefined }]);
    expect(await time.until(token.get())).toBe('new');
  });

  test('what the call throws goes through', async () => {
    time.put(stored());
    const thrown = new Error('no network');
    expect(await time.errorOf(time.process().token().use(async () => { throw thrown; }))).toBe(thrown);
  });
});
