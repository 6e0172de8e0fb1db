/*
 * Node's own AbortController costs more than all else in a simulated run together: an EventTarget, an Event and a DOMException with its stack for each timer
 * that is not needed any more. While runs go on, this one stands in its place. It does the same as far as the runtime can see: test/simulation compares.
 */

type Listener = () => void;

/** An `AbortSignal`, as far as it is used. */
class LightSignal {
  static any(signals: readonly LightSignal[]): LightSignal {
    const combined = new LightSignal();
    for (const signal of signals) {
      if (signal.aborted) {
        combined.abort(signal.reason);
        return combined;
      }
    }
    for (const signal of signals) signal.addEventListener('abort', () => combined.abort(signal.reason));
    return combined;
  }

  aborted = false;
  reason: unknown;
  private listeners: Listener[] | undefined;

  addEventListener(_type: 'abort', listener: Listener): void {
    if (this.listeners === undefined) this.listeners = [listener];
    else if (!this.listeners.includes(listener)) this.listeners.push(listener);
  }

  removeEventListener(_type: 'abort', listener: Listener): void {
    const at = this.listeners?.indexOf(listener) ?? -1;
    if (at >= 0) this.listeners?.splice(at, 1);
  }

  abort(reason: unknown): void {
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason;
    const { listeners } = this;
    this.listeners = undefined; // an abort comes once
    if (listeners !== undefined) for (const listener of listeners) listener();
  }
}

class LightController {
  readonly signal = new LightSignal();

  abort(reason: unknown = WITHOUT_REASON): void {
    this.signal.abort(reason);
  }
}

const WITHOUT_REASON = new DOMException('This operation was aborted', 'AbortError');

/** Runs `work` with the light ones; without stack traces, which nobody reads here; and with a copy of the environment, which is slow to look into. */
export async function withLightAbort<T>(work: () => Promise<T>): Promise<T> {
  const own = { AbortController: globalThis.AbortController, AbortSignal: globalThis.AbortSignal };
  const { stackTraceLimit } = Error;
  const { env } = process;
  Object.assign(globalThis, { AbortController: LightController, AbortSignal: LightSignal });
  Error.stackTraceLimit = 0;
  process.env = { ...env };
  try {
    return await work();
  } finally {
    Object.assign(globalThis, own);
    Error.stackTraceLimit = stackTraceLimit;
    process.env = env;
  }
}
