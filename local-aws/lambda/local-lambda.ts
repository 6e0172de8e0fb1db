import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ExecutionEnvironment, type ExecutionEnvironmentOptions } from './execution-environment';
import { optLayout, type OptLayout, type OptLayoutKind } from './opt-layout';

/**
 * Lambda on this machine: execution environments with AWS's own runtime client, on the versions of Node.js that Lambda has.
 *
 * @example
 * const lambda = LocalLambda.open();
 * const environment = await lambda.start({ node: 22, code: 'dist/handler', layer: undefined, handler: 'index.handler', variables: {} });
 * const result = await environment.invoke({ some: 'event' }); // { value } or { error }
 * await lambda.close();
 */
export class LocalLambda {
  /**
   * @param kind how functions are laid out
   * @throws ToolUnavailableError where the runtime client cannot be installed
   */
  static open(kind?: OptLayoutKind): LocalLambda {
    const root = mkdtempSync(join(tmpdir(), 'local-lambda-'));
    try {
      return new LocalLambda(root, optLayout(root, kind));
    } catch (error) {
      rmSync(root, { recursive: true, force: true });
      throw error;
    }
  }

  private readonly starting = new Set<Promise<unknown>>();
  private readonly environments: ExecutionEnvironment[] = [];
  private readonly killAll: () => void;

  private constructor(private readonly root: string, private readonly layout: OptLayout) {
    this.killAll = () => this.environments.forEach(environment => void environment.kill());
    process.once('exit', this.killAll); // should nobody come to close it
  }

  /** One cold start. @throws FailedColdStartError */
  async start(options: ExecutionEnvironmentOptions): Promise<ExecutionEnvironment> {
    const start = ExecutionEnvironment.start(this.layout, options);
    this.starting.add(start);
    try {
      const environment = await start;
      this.environments.push(environment);
      return environment;
    } finally {
      this.starting.delete(start);
    }
  }

  /** Ends all environments, also those that are just starting, and removes every trace. */
  async close(): Promise<void> {
    await Promise.allSettled(this.starting);
    await Promise.all(this.environments.map(async environment => environment.close()));
    process.off('exit', this.killAll);
    rmSync(this.root, { recursive: true, force: true });
  }
}
