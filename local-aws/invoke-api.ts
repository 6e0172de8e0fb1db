import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { startLoopback, stopLoopback, urlOf } from './loopback';

/** One request to invoke a function. */
export interface InvocationRequest {
  /** Name of the function, also where the caller gave an ARN. */
  readonly functionName: string;
  readonly qualifier: string | undefined;
  readonly type: 'RequestResponse' | 'Event';
  readonly payload: unknown;
}

/** How an invocation ended. */
export interface InvocationOutcome {
  readonly payload: unknown;
  /** `Unhandled`: the handler threw, or the function timed out. */
  readonly functionError?: string | undefined;
}

/** An error of Lambda's own, in place of an invocation. */
export class InvokeApiError extends Error {
  constructor(readonly status: number, override readonly name: string, message: string) {
    super(message);
  }
}

/** What a function does with an invocation. */
export type Function = (request: InvocationRequest) => Promise<InvocationOutcome>;

const PATH = /^\/2015-03-31\/functions\/([^/]+)\/invocations(?:\?Qualifier=(.+))?$/;

/** Lambda's `Invoke` as the SDK speaks it, for functions that run on this machine. */
export class InvokeApi {
  static async start(): Promise<InvokeApi> {
    return new InvokeApi(await startLoopback());
  }

  readonly requests: InvocationRequest[] = [];
  private readonly functions = new Map<string, Function>();

  private constructor(private readonly http: Server) {
    http.on('request', (request: IncomingMessage, response: ServerResponse) => {
      this.answer(request, response).catch((error: unknown) => this.refuse(response, error));
    });
  }

  /** For the environment of those who invoke. */
  get environment(): Readonly<Record<string, string>> {
    return { AWS_ENDPOINT_URL_LAMBDA: urlOf(this.http) };
  }

  define(functionName: string, run: Function): void {
    this.functions.set(functionName, run);
  }

  /** Hands an event in, as other services than a function do: by the same protocol. */
  async send(functionArn: string, payload: string | undefined): Promise<void> {
    const url = `${this.environment.AWS_ENDPOINT_URL_LAMBDA}/2015-03-31/functions/${encodeURIComponent(functionArn)}/invocations`;
    const { status } = await fetch(url, { method: 'POST', headers: { 'x-amz-invocation-type': 'Event' }, body: payload });
    if (status !== 202) throw new Error(`${functionArn} cannot be invoked: ${status}`);
  }

  async stop(): Promise<void> {
    await stopLoopback(this.http);
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, name = '', qualifierInQuery] = PATH.exec(request.url ?? '') ?? [];
    const { functionName, qualifier = qualifierInQuery && decodeURIComponent(qualifierInQuery) } = functionIn(decodeURIComponent(name));
    const type = request.headers['x-amz-invocation-type'] === 'Event' ? 'Event' : 'RequestResponse';
    const invocation: InvocationRequest = { functionName, qualifier, type, payload: JSON.parse(await bodyOf(request) || 'null') };
    this.requests.push(invocation);
    const run = this.functions.get(functionName);
    if (!run) throw new InvokeApiError(404, 'ResourceNotFoundException', `Function not found: ${functionName}`);
    const outcome = run(invocation);
    if (type === 'Event') {
      outcome.catch(() => undefined);
      response.writeHead(202).end();
      return;
    }
    const { payload, functionError } = await outcome;
    response.writeHead(200, { 'content-type': 'application/json', ...(functionError && { 'x-amz-function-error': functionError }) }).end(JSON.stringify(payload));
  }

  private refuse(response: ServerResponse, error: unknown): void {
    const { status, name, message } = error instanceof InvokeApiError ? error : new InvokeApiError(500, 'ServiceException', String(error));
    response.writeHead(status, { 'content-type': 'application/json', 'x-amzn-errortype': name }).end(JSON.stringify({ Type: 'User', Message: message }));
  }
}

/** An ARN may hold the qualifier. */
function functionIn(nameOrArn: string): { readonly functionName: string; readonly qualifier: string | undefined } {
  const [, functionName = nameOrArn, qualifier] = /:function:([^:]+)(?::([^:]+))?$/.exec(nameOrArn) ?? [];
  return { functionName, qualifier };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
