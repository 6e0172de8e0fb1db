import { CLOCK_JUMP_MS } from './timing';

/** The two clocks that everything goes by. */
export interface Clock {
  /** Wall clock, milliseconds since the epoch. May be wrong, and may jump. */
  now(): number;
  /** Monotonic clock, milliseconds since some moment. Never jumps; may stand still while the environment is frozen. */
  monotonic(): number;
}

/** Everything that is not a function of state: time, randomness, identity, sleep. Injected, so that the protocol can be run under a simulated one. */
export interface Host extends Clock {
  /** Resolves after `ms`, or as soon as the signal is aborted. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** At least 0, below 1. */
  random(): number;
  uuid(): string;
}

/** A timer cannot hold more, and would end at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The real one. */
export const systemHost: Host = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: (ms, signal) => new Promise(resolve => {
    if (signal?.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, Math.min(ms, LONGEST_TIMER_MS));
    signal?.addEventListener('abort', done, { once: true });
  }),
  random: () => Math.random(),
  uuid: () => crypto.randomUUID(),
};

/**
 * The table's time: the own wall clock plus an offset learned from the `Date` header of the table's replies. So all instances agree on when a lease or a
 * cool-down ends, whatever their own clocks say.
 */
export interface TableClock extends Clock {
  /**
   * The header counts whole seconds, and was written at some moment between request and reply: that leaves an interval of offsets that are possible. An own
   * clock that may be right is taken as it is, or nearly so, since most are right to the millisecond and waiters plan by that; else the middle of what all
   * replies leave. Two instances never differ by more than the grace of a lease. Once the own clock was set, the newest reply counts alone.
   */
  learn(date: number, sentAt: number, receivedAt: number): void;
  /** What replies told leaves too much open for any decision: the first one, or the first after the own clock was set, took too long. */
  isUnsure(): boolean;
}

/** By so much the table's time may be off, and no more: two instances then differ by less than the grace of a lease. */
const LARGEST_ERROR_MS = 900;

export function tableClock(host: Host): TableClock {
  let lowest = -Infinity;
  let highest = Infinity;
  let offset = 0;
  const drift = () => host.now() - host.monotonic();
  let lastDrift = drift();
  let wasSet = false;
  return {
    now: () => host.now() + offset,
    monotonic: () => host.monotonic(),
    learn(date, sentAt, receivedAt) {
      const [low, high] = [date - receivedAt, date + 1_000 - sentAt];
      const isSet = Math.abs(drift() - lastDrift) > CLOCK_JUMP_MS;
      // Set during the request, its interval is wrong; so the reply after it counts alone, too.
      const isAlone = isSet || wasSet || low > highest || high < lowest;
      lastDrift = drift();
      wasSet = isSet;
      if (!(high - low >= 0)) return; // the header is no date
      lowest = isAlone ? low : Math.max(lowest, low);
      highest = isAlone ? high : Math.min(highest, high);
      const middle = (lowest + highest) / 2;
      offset = Math.round(lowest > 0 || highest < 0 ? middle : Math.min(Math.max(0, highest - LARGEST_ERROR_MS), lowest + LARGEST_ERROR_MS));
    },
    isUnsure: () => lowest > -Infinity && highest - lowest > 2 * LARGEST_ERROR_MS,
  };
}

/** Milliseconds until a moment by both clocks; zero or less when it has passed. Either may say so: one may stand still in a freeze, the other may jump. */
export type Deadline = () => number;

export function deadlineIn(clock: Clock, ms: number): Deadline {
  const wall = clock.now() + ms;
  const monotonic = clock.monotonic() + ms;
  return () => Math.min(wall - clock.now(), monotonic - clock.monotonic());
}

/** Says that a limit was reached before the work was done. */
export const LIMIT_REACHED = Symbol('limit reached');

/** A limit on a piece of work. */
export interface Limit<T> {
  readonly host: Host;
  readonly ms: number;
  /** Aborted, it is a limit that was reached. */
  readonly signal?: AbortSignal | undefined;
  /** Given the answer that comes after the limit, if one does. */
  readonly onLate?: (answer: T) => void;
}

/** Runs `work` up to the limit, then aborts its signal and answers without waiting for it. Bounds work that ignores its signal, too. */
export async function withLimit<T>(
  { host, ms, signal, onLate }: Limit<T>,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T | typeof LIMIT_REACHED> {
  const limit = new AbortController();
  const timer = new AbortController();
  const stop = signal ? AbortSignal.any([signal, timer.signal]) : timer.signal;
  return new Promise((resolve, reject) => {
    // One place decides whether the answer or the limit came first, so that an answer goes one way and never both or neither.
    let isOpen = true;
    const closes = () => {
      const first = isOpen;
      isOpen = false;
      timer.abort();
      return first;
    };
    work(limit.signal).then(answer => {
      if (closes()) resolve(answer);
      else onLate?.(answer);
    }, error => {
      if (closes()) reject(error as Error); // else too late: nobody waits for it
    });
    void host.sleep(Math.max(0, ms), stop).then(() => {
      if (!closes()) return;
      resolve(LIMIT_REACHED);
      limit.abort(new DOMException('The time limit was reached', 'TimeoutError'));
    });
  });
}
