import type { SimulatedProcess, SimulatedTime } from './simulated-process';
import type { Refresh } from '../../lambda-runtime/public-types';
import type { RefresherPort } from '../../lambda-runtime/refresher-port';
import type { RefreshAsk } from '../../src/private/contract';

/** One invocation of it. */
export interface Invocation {
  /** Milliseconds since the simulation began, when it was asked. */
  readonly at: number;
  readonly asked: RefreshAsk;
  readonly how: 'now' | 'ahead';
}

export interface SimulatedRefresherOptions {
  readonly refresh: Refresh;
  /** From who asks to the function's handler, and the answer's way back. */
  readonly oneWayMs?: number;
  /** What the start of an environment takes. */
  readonly coldStartMs?: number;
  /** Is there an environment that has been used before? */
  readonly isWarm?: boolean;
  /** Thrown in place of an invocation. */
  readonly trouble?: (invocation: Invocation) => Error | undefined;
}

/** A refresher's function in simulated time: as in Lambda each environment does one invocation at a time, and one more begins with a cold start. */
export function simulatedRefresher(time: SimulatedTime, options: SimulatedRefresherOptions): RefresherPort & { readonly invocations: Invocation[] } {
  const { refresh, oneWayMs = 15, coldStartMs = 800, isWarm = true, trouble = () => undefined } = options;
  const invocations: Invocation[] = [];
  const idle: SimulatedProcess[] = isWarm ? [time.process()] : [];

  const environment = async (): Promise<SimulatedProcess> => {
    const warm = idle.pop();
    if (warm) return warm;
    await time.sleep(coldStartMs);
    return time.process();
  };
  const run = async (asked: RefreshAsk): Promise<void> => {
    const process = await environment();
    try {
      await process.token({ refresh }).refresh({ asked });
    } finally {
      idle.push(process);
    }
  };

  return {
    invocations,
    async ask(asked, how) {
      const invocation = { at: time.passed, asked, how };
      invocations.push(invocation);
      await time.sleep(oneWayMs);
      const error = trouble(invocation);
      if (error) throw error;
      const done = run(asked);
      if (how === 'ahead') return;
      await done;
      await time.sleep(oneWayMs);
    },
  };
}
