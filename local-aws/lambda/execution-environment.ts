import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { lambdaVariables, nodeFlags, type Concurrency, type FunctionIdentity, type NodeMajor } from './environment-variables';
import type { FunctionFiles, OptLayout } from './opt-layout';
import { RuntimeApi, type InvocationError, type InvocationResult } from './runtime-api';
import { NODE_PATH_HOOK, RUNTIME_CLIENT } from './runtime-folder';
import { nodeOf } from '../../toolchain/tools';

/** One function, as it is configured. */
export interface ExecutionEnvironmentOptions extends FunctionFiles {
  readonly node: NodeMajor;
  /** Such as `index.handler`. */
  readonly handler: string;
  /** The function's own. Nothing else is inherited from this process. */
  readonly variables: Readonly<Record<string, string>>;
  /** @default 3000 */
  readonly timeoutMs?: number;
  /** @default 128 */
  readonly memoryMb?: number;
  /** @default - one invocation at a time */
  readonly concurrency?: Concurrency;
  /**
   * Is it left running between invocations, until `freeze` is called?
   *
   * @default - frozen whenever nothing runs in it, unless it takes several invocations at once
   */
  readonly staysAwake?: boolean;
  /** @default function */
  readonly name?: string;
}

export interface InvokeOptions {
  /**
   * Milliseconds after which this invocation times out.
   *
   * @default - the function's timeout
   */
  readonly timeoutMs?: number;
}

/** How a process ended. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** What Lambda leaves a process between SIGTERM and SIGKILL. */
const SHUTDOWN_MS = 500;

/**
 * One execution environment of a function: a process with AWS's own runtime client, and a Runtime API in front of it. As on Lambda it is frozen whenever nothing
 * runs in it, by SIGSTOP; and ended when an invocation times out. One that takes several invocations at once (`concurrency`) is neither frozen nor ended.
 */
export class ExecutionEnvironment {
  /**
   * A cold start. Resolves when the handler is loaded and every runtime in it waits for invocations.
   *
   * @throws FailedColdStartError
   */
  static async start(layout: OptLayout, options: ExecutionEnvironmentOptions): Promise<ExecutionEnvironment> {
    const environment = new ExecutionEnvironment(options);
    try {
      await environment.spawn(layout);
    } catch (error) {
      await environment.close();
      throw error;
    }
    return environment;
  }

  /** Lines that the process wrote, to its output and its error output. */
  readonly logs: string[] = [];
  private readonly name: string;
  private readonly functionArn: string;
  private readonly runtimes: number;
  private api: RuntimeApi | undefined;
  private child: ChildProcess | undefined;
  private closed: Promise<void> | undefined;
  private exited: Exit | undefined;
  private frozen = false;
  private ending = false;
  private startedAt = 0;
  private readyAt: number | undefined;
  private initError: InvocationError | undefined;
  private onReady: (() => void) | undefined;

  private constructor(private readonly options: ExecutionEnvironmentOptions) {
    this.name = options.name ?? 'function';
    this.functionArn = `arn:aws:lambda:us-east-1:111122223333:function:${this.name}`;
    this.runtimes = options.concurrency?.workers ?? 1;
  }

  /** What the cold start took: from the start of Node.js to the moment at which the runtime asked for its first invocation. */
  get initMs(): number {
    return (this.readyAt ?? Infinity) - this.startedAt;
  }

  /** Undefined: it lives. */
  get exit(): Exit | undefined {
    return this.exited;
  }

  get isFrozen(): boolean {
    return this.frozen;
  }

  /** Runs the function once, and thaws the environment for that. Never rejects for what the function does: an error is a result. */
  async invoke(event: unknown, { timeoutMs = this.options.timeoutMs ?? 3_000 }: InvokeOptions = {}): Promise<InvocationResult> {
    if (!this.api || this.exited || this.closed) throw new Error('This execution environment is gone: it cannot be invoked.');
    const result = this.api.invoke({ event, functionArn: this.functionArn, timeoutMs });
    this.thaw();
    return result;
  }

  /** Stops it, in whatever it is doing. Nothing of it runs until it is thawed; an invocation's time runs all the same. */
  freeze(): void {
    this.frozen = this.child?.kill('SIGSTOP') ?? false;
  }

  thaw(): void {
    if (this.frozen) this.child?.kill('SIGCONT');
    this.frozen = false;
  }

  /** Ends the process at once, as a crash of the machine does. What ran in it fails. */
  async kill(): Promise<Exit> {
    return this.end('SIGKILL');
  }

  /** Ends it as Lambda does when it needs an environment no longer: SIGTERM, and SIGKILL to what is still there after a while. */
  async shutDown(withinMs = SHUTDOWN_MS): Promise<Exit> {
    const killer = setTimeout(() => this.child?.kill('SIGKILL'), withinMs);
    try {
      return await this.end('SIGTERM');
    } finally {
      clearTimeout(killer);
    }
  }

  /** Ends the process and its Runtime API. */
  async close(): Promise<void> {
    this.closed ??= this.kill().then(async () => this.api?.stop());
    await this.closed;
  }

  /** Resolves when the process has ended by itself. */
  async ended(): Promise<Exit> {
    if (this.child && !this.exited) await once(this.child, 'close');
    return this.exited ?? { code: null, signal: null };
  }

  private async spawn(layout: OptLayout): Promise<void> {
    const { options, name } = this;
    const { node, handler, memoryMb = 128, concurrency } = options;
    const api = this.api = await RuntimeApi.start({
      onWaiting: runtimes => this.whenWaiting(runtimes),
      onInitError: error => { this.initError = error; },
      onTimeout: () => { if (!concurrency) this.child?.kill('SIGKILL'); },
    }, concurrency?.invocations);
    const { paths, command } = layout.launch(nodeOf(node), options);
    const identity: FunctionIdentity = { node, name, handler, memoryMb, concurrency };
    const hook = ['--import', `${paths.runtime}/${NODE_PATH_HOOK}`];
    const [program, ...args] = command([...nodeFlags(identity), ...hook, `${paths.runtime}/${RUNTIME_CLIENT}`]);
    this.startedAt = performance.now();
    const child = this.child = spawn(program, args, {
      env: { ...options.variables, ...lambdaVariables(identity, paths, api.address) },
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    });
    this.watch(child);
    await this.ready(child);
  }

  private watch(child: ChildProcess): void {
    const [, output, errors, started] = child.stdio as unknown as readonly [null, Readable, Readable, Readable];
    for (const stream of [output, errors]) createInterface(stream).on('line', line => this.logs.push(line));
    started.once('data', () => { this.startedAt = performance.now(); });
    child.on('close', (code, signal) => {
      this.exited = { code, signal };
      this.api?.abandon(`Runtime exited with error: ${signal === null ? `exit status ${code}` : `signal: ${signal === 'SIGKILL' ? 'killed' : signal}`}`);
    });
  }

  private async ready(child: ChildProcess): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.onReady = resolve;
      child.once('error', reject); // there is no such command
      child.once('close', () => reject(new FailedColdStartError(this.initError, this.logs)));
    });
  }

  private whenWaiting(runtimes: number): void {
    if (this.readyAt === undefined && runtimes === this.runtimes) {
      this.readyAt = performance.now();
      this.onReady?.();
    }
    const { concurrency, staysAwake = concurrency !== undefined } = this.options;
    if (!staysAwake && !this.ending && this.api?.isIdle) this.freeze();
  }

  private async end(signal: NodeJS.Signals): Promise<Exit> {
    if (this.child?.pid === undefined || this.exited) return this.exited ?? { code: null, signal: null };
    this.ending = true;
    const closed = this.ended();
    this.child.kill(signal);
    this.thaw(); // what is frozen takes no notice
    return closed;
  }
}

/** The function could not be loaded, or its process ended before it was. */
export class FailedColdStartError extends Error {
  override readonly name = 'FailedColdStartError';

  /** @param initError what the runtime client said, if it said anything */
  constructor(readonly initError: InvocationError | undefined, logs: readonly string[]) {
    const said = initError ? `${initError.errorType}: ${initError.errorMessage}` : 'The process ended.';
    super(`The function's environment did not start. ${said}\n${logs.slice(-20).join('\n')}`);
  }
}
