import { FunctionEnvironment, type FunctionSettings } from './function-environment';
import type { RunLog } from './run-log';

/** All instances of the function. Each has a number for its whole life; when one dies, a new process takes its number. */
export class Fleet {
  private readonly environments = new Map<number, FunctionEnvironment>();
  private closed = false;

  constructor(
    private readonly settings: FunctionSettings,
    private readonly log: RunLog,
  ) {}

  get instances(): readonly number[] {
    return [...this.environments.keys()];
  }

  /** Starts instances 1 to `count`, `parallel` at a time. */
  async start(count: number, parallel: number, onStarted: (started: number) => void): Promise<void> {
    const waiting = Array.from({ length: count }, (_, index) => index + 1);
    const startNext = async (): Promise<void> => {
      for (let instance = waiting.shift(); instance !== undefined; instance = waiting.shift()) {
        await this.startInstance(instance);
        onStarted(this.environments.size);
      }
    };
    await Promise.all(Array.from({ length: parallel }, startNext));
  }

  environment(instance: number): FunctionEnvironment {
    const environment = this.environments.get(instance);
    if (!environment) throw new Error(`There is no instance ${instance}.`);
    return environment;
  }

  /** Kills the instance in whatever it is doing, by SIGKILL. */
  async kill(instance: number): Promise<void> {
    this.log.kills.push({ instance, at: Date.now() });
    await this.environment(instance).kill();
  }

  /** Puts a new process in the place of one that died, as Lambda does. */
  async replace(instance: number): Promise<void> {
    await this.startInstance(instance);
    this.log.replacements.push({ instance, at: Date.now() });
  }

  async stop(): Promise<void> {
    this.closed = true;
    await Promise.all([...this.environments.values()].map(async environment => environment.kill()));
  }

  private async startInstance(instance: number): Promise<void> {
    if (this.closed) return;
    const environment = await FunctionEnvironment.start({
      ...this.settings,
      onLogLine: line => void this.log.noteLine(instance, line),
    });
    this.environments.set(instance, environment);
    if (this.closed) await environment.kill(); // stopped while it started
  }
}
