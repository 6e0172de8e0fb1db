import { setTimeout as sleep } from 'node:timers/promises';
import type { Fleet } from './fleet';
import type { InvocationResult } from './function-environment';
import type { Invocation, RunLog } from './run-log';

/** Calls every instance: once at the start, then again and again, each at its own pace, until it is stopped. */
export class Load {
  private stopping = false;
  private loops: readonly Promise<void>[] = [];

  constructor(private readonly fleet: Fleet, private readonly log: RunLog, private readonly meanPauseMs: number) {}

  /** The first invocation of every instance, as many at a time as the machine bears. */
  async firstInvocations(parallel: number, onInvoked: (invoked: number) => void): Promise<void> {
    const waiting = [...this.fleet.instances];
    const invokeNext = async (): Promise<void> => {
      for (let instance = waiting.shift(); instance !== undefined; instance = waiting.shift()) {
        await this.invoke(instance);
        onInvoked(this.log.invocations.length);
      }
    };
    await Promise.all(Array.from({ length: parallel }, invokeNext));
  }

  start(): void {
    this.loops = this.fleet.instances.map(async (instance) => {
      while (!this.stopping) {
        await sleep(this.meanPauseMs * (0.5 + Math.random()));
        await this.invoke(instance);
      }
    });
  }

  /** Begins no more invocations. */
  cancel(): void {
    this.stopping = true;
  }

  /** Begins no more invocations, and waits for the end of those that have begun. */
  async stop(): Promise<void> {
    this.cancel();
    await Promise.all(this.loops);
  }

  private async invoke(instance: number): Promise<void> {
    if (this.stopping) return;
    const startedAt = Date.now();
    const result = await this.fleet.environment(instance).invoke({ text: `Hello from instance ${instance}` });
    this.log.invocations.push({ instance, startedAt, endedAt: Date.now(), ...judge(result) });
    if (result.outcome === 'lost' && !this.stopping) await this.replace(instance);
  }

  /** A place that stays empty counts as a failed request: nobody serves what would have gone there. */
  private async replace(instance: number): Promise<void> {
    const startedAt = Date.now();
    try {
      await this.fleet.replace(instance);
    } catch (error) {
      this.log.invocations.push({ instance, startedAt, endedAt: Date.now(), outcome: 'failed', error: String(error) });
    }
  }
}

/** Only an answer from the API with the status 200 is a success. */
function judge(result: InvocationResult): Pick<Invocation, 'outcome' | 'error'> {
  if (result.outcome === 'lost') return { outcome: 'lost' };
  if (result.outcome === 'failed') return { outcome: 'failed', error: `${result.errorType}: ${result.errorMessage}` };
  const { statusCode } = result.value as { statusCode?: unknown };
  return statusCode === 200 ? { outcome: 'succeeded' } : { outcome: 'failed', error: `the API answered ${String(statusCode)}` };
}
