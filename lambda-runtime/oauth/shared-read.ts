import { aborted } from './failures';

/** How long what was read is used. */
const KEPT_MS = 5 * 60_000;

/** Something that is read rarely, for all who ask. */
export interface SharedRead<T> {
  /** What was read less than five minutes ago, or a new reading. */
  read(signal: AbortSignal): Promise<T>;
  /** A new reading in any case. */
  readAgain(signal: AbortSignal): Promise<T>;
}

interface Flight<T> {
  readonly answer: Promise<T>;
  readonly stop: AbortController;
  waiters: number;
}

/**
 * Keeps what `source` gave for five minutes, and has one read under way at a time, which ends when all who wait for it have left, and not with the first.
 *
 * @param monotonic milliseconds, never jumps
 */
export function sharedRead<T>(source: (signal: AbortSignal) => Promise<T>, monotonic: () => number): SharedRead<T> {
  let kept: { readonly value: T; readonly until: number } | undefined;
  let flight: Flight<T> | undefined;

  const takeOff = (): Flight<T> => {
    const stop = new AbortController();
    const until = monotonic() + KEPT_MS;
    const answer = source(stop.signal).then(value => {
      kept = { value, until };
      return value;
    });
    return { answer, stop, waiters: 0 };
  };

  const readAgain: SharedRead<T>['readAgain'] = async signal => {
    const mine = flight ??= takeOff();
    mine.waiters++;
    try {
      return await orAborted(mine.answer, signal);
    } finally {
      if (--mine.waiters === 0) {
        flight = undefined;
        mine.stop.abort();
      }
    }
  };
  return {
    readAgain,
    read: async signal => kept && monotonic() < kept.until ? kept.value : readAgain(signal),
  };
}

/** The same promise, given up when the signal is aborted: what it waits for may not know the signal. */
export async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = () => reject(aborted());
    if (signal.aborted) giveUp();
    signal.addEventListener('abort', giveUp, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', giveUp));
  });
}
