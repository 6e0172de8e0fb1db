import { FunctionEnvironment, type FunctionSettings, type InvocationResult } from './function-environment';
import { PARALLEL_COLD_STARTS } from './settings';
import type { InvocationOutcome } from '../local-aws/invoke-api';

/** An invocation that waits for an environment. */
interface Waiting {
  readonly proceed: (environment: PooledEnvironment) => void;
  readonly fail: (error: unknown) => void;
}

interface PooledEnvironment {
  /** It has it for its whole life. */
  readonly number: number;
  readonly process: FunctionEnvironment;
}

/**
 * A function as Lambda scales it: an environment does one invocation at a time and is used again when it is idle; where all are busy, another one is started. An
 * invocation gets whichever is ready first.
 */
export class FunctionPool {
  private readonly environments = new Map<number, PooledEnvironment>();
  private readonly idle: PooledEnvironment[] = [];
  private readonly waiting: Waiting[] = [];
  private starting = 0;
  private starts = 0;
  private closed = false;

  /** @param onLogLine told each line of the function's log, and the number of the environment that wrote it */
  constructor(private readonly settings: FunctionSettings, private readonly onLogLine: (line: string, environment: number) => void) {}

  /** Never rejects: an error is an outcome. */
  async invoke(event: unknown, qualifier?: string): Promise<InvocationOutcome> {
    try {
      const environment = await this.acquire();
      const result = await environment.process.invoke(event, qualifier);
      this.release(environment);
      return outcomeOf(result);
    } catch (error) {
      return unhandled('Runtime.ExitError', String(error));
    }
  }

  /** Kills an environment in whatever it is doing, by SIGKILL. */
  async kill(number: number): Promise<void> {
    await this.environments.get(number)?.process.kill();
  }

  async stop(): Promise<void> {
    this.closed = true;
    for (const { fail } of this.waiting.splice(0)) fail(new Error('The function is gone.'));
    await Promise.all([...this.environments.values()].map(async ({ process }) => process.kill()));
  }

  private async acquire(): Promise<PooledEnvironment> {
    return new Promise((proceed, fail) => {
      this.waiting.push({ proceed, fail });
      this.serve();
    });
  }

  private release(environment: PooledEnvironment): void {
    if (environment.process.isAlive) this.idle.push(environment);
    else this.environments.delete(environment.number);
    this.serve();
  }

  /** Gives what is idle to those who wait, and starts more for the others. */
  private serve(): void {
    while (this.waiting.length > 0) {
      const environment = this.idle.pop();
      if (!environment) break;
      if (environment.process.isAlive) this.waiting.shift()?.proceed(environment);
    }
    while (!this.closed && this.starting < Math.min(this.waiting.length, PARALLEL_COLD_STARTS)) void this.start();
  }

  private async start(): Promise<void> {
    this.starting++;
    const number = ++this.starts;
    try {
      const process = await FunctionEnvironment.start({ ...this.settings, onLogLine: line => this.onLogLine(line, number) });
      const environment = { number, process };
      this.environments.set(number, environment);
      this.idle.push(environment);
      if (this.closed) await process.kill(); // stopped while it started
    } catch (error) {
      this.waiting.shift()?.fail(error);
    } finally {
      this.starting--;
      this.serve();
    }
  }
}

/** What Lambda answers. */
function outcomeOf(result: InvocationResult): InvocationOutcome {
  if (result.outcome === 'returned') return { payload: result.value };
  if (result.outcome === 'lost') return unhandled('Runtime.ExitError', 'Error: Runtime exited with error: signal: killed');
  return unhandled(result.errorType, result.errorMessage);
}

function unhandled(errorType: string, errorMessage: string): InvocationOutcome {
  return { payload: { errorType, errorMessage }, functionError: 'Unhandled' };
}
