import type { SharedWorld } from './shared-world';

/** From who invokes a function to its handler, and the answer back again, half of it each way. */
const INVOKE_MS = 30;

/** A Lambda function: each environment does one invocation at a time, and where all are busy one more is started. */
export class SimulatedFunction<Environment> {
  invocations = 0;
  private idle: Environment[] = [];

  constructor(private readonly world: SharedWorld, private readonly start: () => Environment, private readonly coldStartMs: number) {}

  /** One environment is there, and has been used. */
  warmUp(): void {
    this.idle = [this.start()];
  }

  /** It was not used for a while. */
  coolDown(): void {
    this.idle = [];
  }

  async invoke(handler: (environment: Environment) => Promise<unknown>): Promise<void> {
    this.invocations++;
    await this.world.sleep(INVOKE_MS / 2);
    let environment = this.idle.pop();
    if (environment === undefined) {
      await this.world.sleep(this.coldStartMs);
      environment = this.start();
    }
    try {
      await handler(environment);
    } finally {
      this.idle.push(environment);
    }
    await this.world.sleep(INVOKE_MS / 2);
  }
}
