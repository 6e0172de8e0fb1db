import { deadlineIn, type Host, LIMIT_REACHED, type Limit, systemHost, tableClock, type TableClock, withLimit } from '../../lambda-runtime/host';
import { MovableHost } from '../support/instance';

const NOW = 1_700_000_000_000;
const SECOND = 1_000;
const HOUR = 3_600 * SECOND;

/** A host that stands still unless a test moves it, and whose sleepers a test wakes. */
class ManualHost extends MovableHost {
  readonly sleepers: { readonly ms: number; readonly signal: AbortSignal | undefined; readonly wake: () => void }[] = [];

  override now = () => NOW + this.wallOffset;
  override monotonic = () => this.monotonicOffset;
  override sleep = (ms: number, signal?: AbortSignal) => new Promise<void>(wake => {
    this.sleepers.push({ ms, signal, wake });
    signal?.addEventListener('abort', () => wake(), { once: true });
  });

  wakeAll(): void {
    for (const { wake } of this.sleepers) wake();
  }
}

const settle = async (): Promise<void> => new Promise(resolve => setImmediate(resolve));

describe('the table\'s clock', () => {
  /** What the clock is off by, seen from the host. */
  const offsetOf = (clock: TableClock, host: Host): number => clock.now() - host.now();

  test('is the own wall clock until a reply came', () => {
    const host = new ManualHost();
    expect(tableClock(host).now()).toBe(NOW);
  });

  test.each([['ahead', HOUR], ['behind', -HOUR]])('a host an hour %s agrees with the table after one reply', (_, offset) => {
    const host = new ManualHost();
    host.wallOffset = offset;
    const clock = tableClock(host);
    clock.learn(NOW, host.now(), host.now());
    expect(Math.abs(clock.now() - NOW)).toBeLessThanOrEqual(SECOND);
  });

  test('a reply leaves an interval of offsets, written at some moment of [date, date + 1 s) between sending and receiving; its middle is taken', () => {
    const host = new ManualHost();
    const clock = tableClock(host);
    clock.learn(NOW + 10 * SECOND, NOW - 40, NOW + 60);
    expect(offsetOf(clock, host)).toBe((10 * SECOND - 60 + 11 * SECOND + 40) / 2);
  });

  test('replies together leave less: the middle of what they have in common', () => {
    const host = new ManualHost();
    host.wallOffset = -HOUR;
    const clock = tableClock(host);
    clock.learn(NOW, host.now(), host.now()); // an hour, and 0 to 1,000
    clock.learn(NOW, host.now() + 700, host.now() + 700); // an hour, and -700 to 300
    expect(offsetOf(clock, host)).toBe(HOUR + 150);
    clock.learn(NOW + HOUR, NOW - 60 * SECOND, NOW + 60 * SECOND); // a slow one says nothing new
    expect(offsetOf(clock, host)).toBe(HOUR + 150);
    expect(clock.isUnsure()).toBe(false);
  });

  test('an own clock that may be right is taken as it is, where it cannot be wrong by more than 0.9 s', () => {
    for (const [before, offset] of [[100, 0], [500, 0], [900, 0], [0, 100], [30, 70], [970, -70], [1_000, -100]] as const) {
      const host = new ManualHost();
      const clock = tableClock(host);
      clock.learn(NOW, NOW + before, NOW + before); // -before to 1,000 - before
      expect(offsetOf(clock, host)).toBeCloseTo(offset, 6);
    }
  });

  test('two instances whose clocks may both be right never differ by the grace of a lease', () => {
    const random = randomNumbers(13);
    for (let round = 0; round < 2_000; round++) {
      const errors = [1, -1].map(direction => {
        const host = new ManualHost();
        host.wallOffset = direction * Math.floor(random() * 1_000);
        const clock = tableClock(host);
        const sentAt = host.now();
        host.pass(Math.floor(random() * 500));
        const atTheTable = NOW + Math.floor(random() * (host.now() - sentAt));
        clock.learn(Math.floor(atTheTable / SECOND) * SECOND, sentAt, host.now());
        return clock.now() - (NOW + host.now() - sentAt);
      });
      expect(Math.max(...errors) - Math.min(...errors)).toBeLessThanOrEqual(2 * 900 + 1);
    }
  });

  test('where they have nothing in common the own clock was set: the newest reply counts alone', () => {
    const host = new ManualHost();
    const clock = tableClock(host);
    clock.learn(NOW, NOW, NOW);
    clock.learn(NOW - 5 * SECOND, NOW, NOW); // -5,000 to -4,000
    expect(offsetOf(clock, host)).toBe(-4_500);
    clock.learn(NOW + 5 * SECOND, NOW, NOW);
    expect(offsetOf(clock, host)).toBe(5_500);
  });

  test('once the own clock was set, the newest reply counts alone, and so does the one after it', () => {
    for (const [ms, offsets] of [[250, [5_500, 5_800, 5_800]], [251, [5_500, 6_100, 5_800]], [-251, [5_500, 6_100, 5_800]]] as const) {
      const host = new ManualHost();
      const clock = tableClock(host);
      const learn = (low: number): number => {
        clock.learn(host.now() + low, host.now(), host.now());
        return offsetOf(clock, host);
      };
      const first = learn(5_000);
      host.pass(60 * SECOND);
      host.wallOffset += ms;
      const second = learn(5_600);
      host.pass(SECOND);
      expect([first, second, learn(5_300)]).toEqual(offsets);
      host.pass(SECOND);
      if (ms !== 250) expect(learn(5_500)).toBe(5_900); // and from then on they go together again
    }
  });

  test.each([NaN, Infinity, -Infinity])('a header that is no date (%p) teaches nothing', date => {
    const host = new ManualHost();
    const clock = tableClock(host);
    clock.learn(NOW + HOUR, NOW, NOW);
    clock.learn(date, NOW, NOW);
    expect(offsetOf(clock, host)).toBe(HOUR + 500);
  });

  test('follows a host whose clock jumps', () => {
    const host = new ManualHost();
    const clock = tableClock(host);
    clock.learn(NOW, host.now(), host.now());
    host.wallOffset -= 5 * HOUR;
    clock.learn(NOW + SECOND, host.now(), host.now());
    expect(Math.abs(clock.now() - (NOW + SECOND))).toBeLessThanOrEqual(SECOND);
  });

  test('however wrong the host and slow the replies, after each it is right within half of a second and the time of the request', () => {
    const random = randomNumbers(7);
    for (const skew of [0, 1, -1, 500, -1_500, HOUR, -HOUR, 24 * HOUR, -24 * HOUR]) {
      const host = new ManualHost();
      host.wallOffset = skew;
      const clock = tableClock(host);
      for (let reply = 0; reply < 200; reply++) {
        host.pass(Math.floor(random() * 3_000));
        const sentAt = host.now();
        const [there, back] = [Math.floor(random() * 100), Math.floor(random() * 100)];
        const atTheTable = sentAt - skew + there;
        host.pass(there + back);
        clock.learn(Math.floor(atTheTable / SECOND) * SECOND, sentAt, host.now());
        const error = Math.abs(clock.now() - (host.now() - skew));
        expect(error).toBeLessThanOrEqual((SECOND + there + back) / 2 + 1);
      }
    }
  });

  test('two instances that are two hours apart agree within a few milliseconds, once they have seen many replies', () => {
    const random = randomNumbers(11);
    const clocks = [HOUR, -HOUR].map(skew => {
      const host = new ManualHost();
      host.wallOffset = skew;
      return { host, clock: tableClock(host), skew };
    });
    for (let reply = 0; reply < 2_000; reply++) {
      const pass = Math.floor(random() * 1_500);
      for (const { host, clock, skew } of clocks) {
        host.pass(pass);
        const table = host.now() - skew;
        clock.learn(Math.floor(table / SECOND) * SECOND, host.now() - 2, host.now() + 2);
      }
    }
    expect(Math.abs((clocks[0]?.clock.now() ?? NaN) - (clocks[1]?.clock.now() ?? NaN))).toBeLessThanOrEqual(20);
  });
});

describe('a deadline', () => {
  test('is as far off as was asked, by both clocks', () => {
    const host = new ManualHost();
    host.monotonicOffset = 40;
    const timeLeft = deadlineIn(host, 250);
    expect(timeLeft()).toBe(250);
    host.pass(249);
    expect(timeLeft()).toBe(1);
  });

  test('has passed when either clock says so: after a freeze, or a jump', () => {
    const host = new ManualHost();
    const timeLeft = deadlineIn(host, 250);
    host.wallOffset = 300;
    expect(timeLeft()).toBe(-50);
    host.wallOffset = -HOUR;
    expect(timeLeft()).toBe(250);
    host.monotonicOffset = 250;
    expect(timeLeft()).toBe(0);
  });
});

describe('the system\'s sleep', () => {
  beforeEach(() => { jest.useFakeTimers(); });
  afterEach(() => { jest.useRealTimers(); });
  const track = (sleeping: Promise<void>): { readonly isOver: () => boolean } => {
    let over = false;
    void sleeping.then(() => { over = true; });
    return { isOver: () => over };
  };

  test('lasts as long as was asked', async () => {
    const sleep = track(systemHost.sleep(100));
    await jest.advanceTimersByTimeAsync(99);
    expect(sleep.isOver()).toBe(false);
    await jest.advanceTimersByTimeAsync(1);
    expect(sleep.isOver()).toBe(true);
  });

  test('ends with its signal, never rejects, and leaves no timer behind', async () => {
    const stop = new AbortController();
    const sleep = track(systemHost.sleep(100_000, stop.signal));
    expect(jest.getTimerCount()).toBe(1);
    stop.abort(new Error('stop'));
    expect(jest.getTimerCount()).toBe(0);
    await jest.advanceTimersByTimeAsync(0);
    expect(sleep.isOver()).toBe(true);
  });

  test('does not begin where the signal is aborted already', async () => {
    await expect(systemHost.sleep(100_000, AbortSignal.abort())).resolves.toBeUndefined();
    expect(jest.getTimerCount()).toBe(0);
  });

  test('leaves no listener behind on a signal that outlives it', async () => {
    const { signal } = new AbortController();
    const [added, removed] = [jest.spyOn(signal, 'addEventListener'), jest.spyOn(signal, 'removeEventListener')];
    const sleep = systemHost.sleep(10, signal);
    await jest.advanceTimersByTimeAsync(10);
    await sleep;
    expect(added).toHaveBeenCalledTimes(1);
    expect(removed.mock.calls.map(([type, listener]) => [type, listener])).toEqual(added.mock.calls.map(([type, listener]) => [type, listener]));
  });

  test.each([2 ** 31, 1e12, Number.MAX_SAFE_INTEGER])('of %p ms, which is more than a timer can hold, does not end at once', async ms => {
    const stop = new AbortController();
    const sleep = track(systemHost.sleep(ms, stop.signal));
    await jest.advanceTimersByTimeAsync(HOUR);
    expect(sleep.isOver()).toBe(false);
    stop.abort();
  });
});

test('the system\'s randomness is in [0, 1), its ids are unique, its clocks are those of the process', () => {
  for (let i = 0; i < 100; i++) {
    const random = systemHost.random();
    expect(random >= 0 && random < 1).toBe(true);
  }
  expect(new Set(Array.from({ length: 100 }, () => systemHost.uuid())).size).toBe(100);
  expect(systemHost.uuid()).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  const [first, second] = [systemHost.monotonic(), systemHost.monotonic()];
  expect(second).toBeGreaterThanOrEqual(first);
  const [before, now, after] = [Date.now(), systemHost.now(), Date.now()];
  expect(now >= before && now <= after).toBe(true);
});

describe('a limit on a piece of work', () => {
  let host: ManualHost;
  let lateAnswers: string[];
  const unhandled: unknown[] = [];
  const noteUnhandled = (reason: unknown): void => { unhandled.push(reason); };
  beforeEach(() => {
    host = new ManualHost();
    lateAnswers = [];
    unhandled.length = 0;
    process.on('unhandledRejection', noteUnhandled);
  });
  afterEach(() => { process.off('unhandledRejection', noteUnhandled); });

  const limit = (ms = 100): Limit<string> => ({ host, ms, onLate: answer => lateAnswers.push(answer) });
  /** Work that a test ends. */
  const open = () => {
    let answer: (text: string) => void = () => undefined;
    let fail: (error: Error) => void = () => undefined;
    let signal: AbortSignal | undefined;
    const work = (given: AbortSignal) => {
      signal = given;
      return new Promise<string>((resolve, reject) => { [answer, fail] = [resolve, reject]; });
    };
    return { work, answer: (text: string) => answer(text), fail: (error: Error) => fail(error), signal: () => signal };
  };

  test('work that ends in time gives its answer, and nothing to onLate', async () => {
    const { work, answer } = open();
    const running = withLimit(limit(), work);
    answer('in time');
    expect(await running).toBe('in time');
    await settle();
    expect(lateAnswers).toEqual([]);
  });

  test('work that fails in time rejects as it failed', async () => {
    const { work, fail } = open();
    const running = withLimit(limit(), work);
    fail(new RangeError('mine'));
    await expect(running).rejects.toThrow(RangeError);
    await settle();
    expect(lateAnswers).toEqual([]);
    expect(unhandled).toEqual([]);
  });

  test('work that throws at once rejects, and no timer was started', async () => {
    await expect(withLimit(limit(), () => { throw new RangeError('at once'); })).rejects.toThrow('at once');
    expect(host.sleepers.filter(({ signal }) => !signal?.aborted)).toEqual([]);
  });

  test('at the limit it answers without waiting for the work, and aborts its signal', async () => {
    const { work, signal } = open();
    const running = withLimit(limit(), work);
    expect(signal()?.aborted).toBe(false);
    host.wakeAll();
    expect(await running).toBe(LIMIT_REACHED);
    expect(signal()?.aborted).toBe(true);
    expect(signal()?.reason).toMatchObject({ name: 'TimeoutError' });
  });

  test('an answer that comes after the limit goes to onLate, exactly once', async () => {
    const { work, answer } = open();
    const running = withLimit(limit(), work);
    host.wakeAll();
    await running;
    expect(lateAnswers).toEqual([]);
    answer('late');
    answer('later');
    await settle();
    expect(lateAnswers).toEqual(['late']);
  });

  test('a late answer where nobody asked for it is dropped', async () => {
    const { work, answer } = open();
    const running = withLimit({ host, ms: 100 }, work);
    host.wakeAll();
    expect(await running).toBe(LIMIT_REACHED);
    answer('late');
    await settle();
    expect(unhandled).toEqual([]);
  });

  test('a late failure is no unhandled rejection, and nothing for onLate', async () => {
    const { work, fail } = open();
    const running = withLimit(limit(), work);
    host.wakeAll();
    expect(await running).toBe(LIMIT_REACHED);
    fail(new Error('late'));
    await settle();
    await settle();
    expect(unhandled).toEqual([]);
    expect(lateAnswers).toEqual([]);
  });

  test('work that ends because its signal was aborted is late, whatever it answers', async () => {
    const running = withLimit(limit(), signal => new Promise<string>(resolve => signal.addEventListener('abort', () => resolve('what I had'))));
    host.wakeAll();
    expect(await running).toBe(LIMIT_REACHED);
    await settle();
    expect(lateAnswers).toEqual(['what I had']);
  });

  test('no timer is left behind, however the work ends', async () => {
    type End = (work: ReturnType<typeof open>) => void;
    const ends: End[] = [({ answer }) => answer('done'), ({ fail }) => fail(new Error('failed')), () => host.wakeAll()];
    for (const end of ends) {
      const work = open();
      const running = withLimit(limit(), work.work).catch(() => undefined);
      end(work);
      await running;
      expect(host.sleepers.length).toBeGreaterThan(0);
      expect(host.sleepers.map(({ signal }) => signal?.aborted)).toEqual(host.sleepers.map(() => true));
    }
  });

  test('no timer of the system is left behind', async () => {
    jest.useFakeTimers();
    try {
      expect(await withLimit({ host: systemHost, ms: 100_000 }, async () => 'done')).toBe('done');
      expect(jest.getTimerCount()).toBe(0);
    } finally {
      jest.useRealTimers();
    }
  });

  test('a limit that has passed already is a limit of zero', async () => {
    const { work } = open();
    const running = withLimit(limit(-5), work);
    expect(host.sleepers.map(({ ms }) => ms)).toEqual([0]);
    host.wakeAll();
    expect(await running).toBe(LIMIT_REACHED);
  });

  test('an answer goes one way, never both nor neither, however close it comes to the limit', async () => {
    const hops = async (count: number, text: string, start: Promise<void>): Promise<string> => {
      await start;
      for (let i = 0; i < count; i++) await undefined;
      return text;
    };
    for (const first of ['limit', 'answer']) {
      for (let count = 0; count < 8; count++) {
        const each = new ManualHost();
        const given: string[] = [];
        let begin: () => void = () => undefined;
        const start = new Promise<void>(resolve => { begin = resolve; });
        const answer = `${first} first, ${count} hops`;
        const running = withLimit({ host: each, ms: 100, onLate: (late: string) => given.push(late) }, () => hops(count, answer, start));
        if (first === 'limit') each.wakeAll();
        begin();
        if (first === 'answer') each.wakeAll();
        const outcome = await running;
        await settle();
        expect([...given, ...(outcome === LIMIT_REACHED ? [] : [outcome])]).toEqual([answer]);
      }
    }
  });
});

/** The same numbers in each run: a linear congruence. */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}
