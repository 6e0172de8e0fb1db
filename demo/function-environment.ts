import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { BootstrapMessage, InvokeMessage } from './lambda-bootstrap/messages';

/** What one environment is started with. */
export interface FunctionEnvironmentOptions {
  /** The file that the process runs: Lambda's bootstrap. */
  readonly bootstrap: string;
  /** The folder with the function's code. */
  readonly taskRoot: string;
  readonly functionArn: string;
  /** All of the process's environment variables: nothing else is inherited. */
  readonly variables: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** Told each line that the function writes to its log. */
  readonly onLogLine: (line: string) => void;
}

/** The same, before it is known where the log goes. */
export type FunctionSettings = Omit<FunctionEnvironmentOptions, 'onLogLine'>;

/** How an invocation ended. `lost`: the environment was killed while it ran. */
export type InvocationResult =
  | { readonly outcome: 'returned'; readonly value: unknown }
  | { readonly outcome: 'failed'; readonly errorType: string; readonly errorMessage: string }
  | { readonly outcome: 'lost' };

interface RunningInvocation {
  readonly requestId: string;
  readonly finish: (result: InvocationResult) => void;
}

/** One function environment: a process of its own that, as in Lambda, runs one invocation at a time. */
export class FunctionEnvironment {
  /** Resolves when the handler is loaded. */
  static async start(options: FunctionEnvironmentOptions): Promise<FunctionEnvironment> {
    const child = spawn(process.execPath, [options.bootstrap], {
      cwd: options.taskRoot,
      env: { ...options.variables },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    const environment = new FunctionEnvironment(child, options);
    await environment.loaded;
    return environment;
  }

  private readonly loaded: Promise<void>;
  private running: RunningInvocation | undefined;
  private killed = false;
  private timedOut = false;
  private exited: string | undefined;

  private constructor(private readonly child: ChildProcess, private readonly options: FunctionEnvironmentOptions) {
    let complaint = '';
    if (child.stdout) createInterface(child.stdout).on('line', options.onLogLine);
    if (child.stderr) {
      createInterface(child.stderr).on('line', (line) => {
        complaint = `${complaint}${line}\n`.slice(-2_000);
        options.onLogLine(line);
      });
    }
    this.loaded = new Promise((resolve, reject) => {
      child.on('message', (message: BootstrapMessage) => message.type === 'ready' ? resolve() : this.receive(message));
      child.on('error', reject);
      child.on('close', (code, signal) => {
        this.exited = `The function environment exited with ${signal ?? code}. ${complaint}`.trim();
        reject(new Error(this.exited)); // of no effect once it is ready
        this.running?.finish(this.killed ? { outcome: 'lost' } : crashed(this.exited));
      });
    });
  }

  /** Can it be invoked again? */
  get isAlive(): boolean {
    return !this.killed && !this.timedOut && this.exited === undefined;
  }

  /** Runs the handler once. Never rejects: an error is a result. */
  async invoke(event: unknown, qualifier?: string): Promise<InvocationResult> {
    if (this.killed) return { outcome: 'lost' };
    if (this.exited !== undefined) return crashed(this.exited);
    if (this.running) throw new Error('A function environment runs one invocation at a time.');
    const { functionArn, timeoutMs } = this.options;
    const invocation: InvokeMessage = {
      requestId: randomUUID(), event, timeoutMs, functionArn: qualifier === undefined ? functionArn : `${functionArn}:${qualifier}`,
    };
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.timedOut = true;
        this.running?.finish({ outcome: 'failed', errorType: 'Sandbox.Timedout', errorMessage: `Task timed out after ${timeoutMs / 1_000} seconds` });
        this.child.kill('SIGKILL'); // as Lambda does
      }, timeoutMs);
      this.running = {
        requestId: invocation.requestId,
        finish: (result) => {
          clearTimeout(timer);
          this.running = undefined;
          resolve(result);
        },
      };
      this.child.send(invocation, (error) => {
        if (error) this.running?.finish(this.killed ? { outcome: 'lost' } : crashed(error.message));
      });
    });
  }

  /** Ends the process at once, in whatever it is doing. */
  async kill(): Promise<void> {
    this.killed = true;
    if (this.exited !== undefined) return;
    const closed = once(this.child, 'close');
    this.child.kill('SIGKILL');
    await closed;
  }

  private receive(message: Exclude<BootstrapMessage, { type: 'ready' }>): void {
    if (this.running?.requestId !== message.requestId) return;
    if (message.type === 'returned') {
      this.running.finish({ outcome: 'returned', value: message.value });
      return;
    }
    const { errorType, errorMessage } = message;
    this.running.finish({ outcome: 'failed', errorType, errorMessage });
  }
}

function crashed(errorMessage: string): InvocationResult {
  return { outcome: 'failed', errorType: 'Runtime.ExitError', errorMessage };
}
