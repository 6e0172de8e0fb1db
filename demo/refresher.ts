import type { FunctionSettings } from './function-environment';
import { FunctionPool } from './function-pool';
import { REFRESHER, type RunLog } from './run-log';
import type { Function } from '../local-aws/invoke-api';

/** The function that refreshes the token: those who use it, the deployment and a schedule invoke it. */
export class Refresher {
  private readonly pool: FunctionPool;
  /** The environment that made the newest auth call. */
  private holder = 0;

  constructor(settings: FunctionSettings, private readonly log: RunLog) {
    this.pool = new FunctionPool(settings, (line, environment) => {
      if (log.noteLine(REFRESHER, line)?.type === 'refreshing') this.holder = environment;
    });
  }

  readonly invoke: Function = async ({ payload, qualifier }) => {
    this.log.refresherInvocations?.push(Date.now());
    return this.pool.invoke(payload, qualifier);
  };

  /** Kills the environment that is in the middle of its auth call, or was the last to be. */
  async killHolder(): Promise<void> {
    this.log.kills.push({ instance: REFRESHER, at: Date.now() });
    await this.pool.kill(this.holder);
  }

  async stop(): Promise<void> {
    await this.pool.stop();
  }
}
