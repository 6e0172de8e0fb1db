import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** Why an invocation, or the start of an environment, failed: as the runtime client words it, or Lambda itself. */
export interface InvocationError {
  readonly errorType: string;
  readonly errorMessage: string;
  readonly trace?: readonly string[];
}

/** How an invocation ended. */
export type InvocationResult = { readonly value: unknown } | { readonly error: InvocationError };

/** What one invocation is made of. */
export interface Invocation {
  readonly event: unknown;
  /** With the qualifier, if it was invoked by one. */
  readonly functionArn: string;
  /** From the moment at which a runtime takes it; then it has timed out. */
  readonly timeoutMs: number;
}

/** What a runtime client does that concerns its environment. */
export interface RuntimeObserver {
  /** A runtime asks for the next invocation, and there is none: so many do by now. */
  readonly onWaiting: (runtimes: number) => void;
  /** The function could not be loaded. */
  readonly onInitError: (error: InvocationError) => void;
  /** An invocation took longer than it may. Its result is known already. */
  readonly onTimeout: () => void;
}

interface AcceptedInvocation extends Invocation {
  readonly requestId: string;
  readonly finish: (result: InvocationResult) => void;
}

interface RunningInvocation extends AcceptedInvocation {
  readonly timer: NodeJS.Timeout;
}

const PATH = /^\/2018-06-01\/runtime\/(?:(init)\/error|invocation\/(?:(next)|([^/]+)\/(response|error)))$/;

/**
 * Lambda's Runtime API, for the runtime clients of one execution environment: they ask for the next invocation, and post what became of it. Several may ask at once,
 * and each for several (Lambda's multi-concurrency); each invocation goes to the one that has waited longest.
 */
export class RuntimeApi {
  /** @param atOnce how many invocations may run at the same time */
  static async start(observer: RuntimeObserver, atOnce = 1): Promise<RuntimeApi> {
    const http = createServer({ keepAliveTimeout: 0, requestTimeout: 0 });
    http.listen(0, '127.0.0.1');
    await once(http, 'listening');
    return new RuntimeApi(http, observer, atOnce);
  }

  private readonly waiting: ServerResponse[] = [];
  private readonly queue: AcceptedInvocation[] = [];
  private readonly running = new Map<string, RunningInvocation>();

  private constructor(private readonly http: Server, private readonly observer: RuntimeObserver, private readonly atOnce: number) {
    http.on('request', (request: IncomingMessage, response: ServerResponse) => void this.answer(request, response));
  }

  /** What `AWS_LAMBDA_RUNTIME_API` says. */
  get address(): string {
    return `127.0.0.1:${(this.http.address() as AddressInfo).port}`;
  }

  /** Is nothing running, and nothing waiting to? */
  get isIdle(): boolean {
    return this.running.size === 0 && this.queue.length === 0;
  }

  /** Runs the function once, as soon as a runtime is free. Never rejects: an error is a result. */
  async invoke(invocation: Invocation): Promise<InvocationResult> {
    return new Promise(finish => {
      this.queue.push({ ...invocation, requestId: randomUUID(), finish });
      this.handOut();
    });
  }

  /** The environment is gone: nothing that was begun will be answered. */
  abandon(errorMessage: string): void {
    const ids = [...this.running.keys()];
    for (const requestId of ids) this.finish(requestId, { error: exitError(requestId, errorMessage) });
    for (const { requestId, finish } of this.queue.splice(0)) finish({ error: exitError(requestId, errorMessage) });
  }

  async stop(): Promise<void> {
    this.http.closeAllConnections();
    this.http.close();
    await once(this.http, 'close');
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path, init, next, requestId, outcome] = PATH.exec(request.url ?? '') ?? [];
    if (next) return this.wait(response);
    const body = await text(request).catch(() => undefined);
    if (body === undefined) return; // the process ended in the middle of it
    if (path === undefined) return accept(response, 404);
    if (init) this.observer.onInitError(JSON.parse(body) as InvocationError);
    else if (outcome === 'response') this.finish(requestId, { value: JSON.parse(body) });
    else this.finish(requestId, { error: JSON.parse(body) as InvocationError });
    accept(response, 202);
  }

  private wait(runtime: ServerResponse): void {
    this.waiting.push(runtime);
    runtime.on('close', () => {
      const index = this.waiting.indexOf(runtime);
      if (index >= 0) this.waiting.splice(index, 1);
    });
    this.handOut();
    if (this.waiting.includes(runtime)) this.observer.onWaiting(this.waiting.length);
  }

  private handOut(): void {
    while (this.queue.length > 0 && this.running.size < this.atOnce) {
      const runtime = this.waiting.shift();
      if (!runtime) return;
      this.run(runtime, this.queue.shift() as AcceptedInvocation);
    }
  }

  private run(runtime: ServerResponse, invocation: AcceptedInvocation): void {
    const { requestId, functionArn, event, timeoutMs } = invocation;
    const timer = setTimeout(() => {
      const errorMessage = `RequestId: ${requestId} Error: Task timed out after ${(timeoutMs / 1_000).toFixed(2)} seconds`;
      this.finish(requestId, { error: { errorType: 'Sandbox.Timedout', errorMessage } });
      this.observer.onTimeout();
    }, timeoutMs);
    this.running.set(requestId, { ...invocation, timer });
    runtime.writeHead(200, {
      'content-type': 'application/json',
      'lambda-runtime-aws-request-id': requestId,
      'lambda-runtime-deadline-ms': String(Date.now() + timeoutMs),
      'lambda-runtime-invoked-function-arn': functionArn,
      'lambda-runtime-trace-id': 'Root=1-5bef4de7-ad49b0e87f6ef6c87fc2e700;Parent=9a9197af755a6419;Sampled=0',
    }).end(JSON.stringify(event ?? null));
  }

  /** Of what is over already, because it timed out, nothing more is heard. */
  private finish(requestId: string | undefined, result: InvocationResult): void {
    const invocation = this.running.get(requestId ?? '');
    if (!invocation) return;
    clearTimeout(invocation.timer);
    this.running.delete(invocation.requestId);
    invocation.finish(result);
    this.handOut();
  }
}

function accept(response: ServerResponse, status: number): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end('{"status":"OK"}');
}

function exitError(requestId: string, how: string): InvocationError {
  return { errorType: 'Runtime.ExitError', errorMessage: `RequestId: ${requestId} Error: ${how}` };
}
