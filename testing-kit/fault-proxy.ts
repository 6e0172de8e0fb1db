import { setMaxListeners } from 'node:events';
import { Agent, request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { TestingKitError } from './errors';
import { LoopbackServer, type HttpExchange, type HttpReply, type HttpRequest } from './loopback-server';
import { errorReply, readRequest, type DynamoDbRequest } from './wire';

/**
 * What may go wrong with one request. "Applied" means that the table has carried the request out.
 *
 * - `delayBefore`: reaches the table late; `delayAfter`: applied at once, answered late
 * - `dropBefore`: the connection breaks before the table sees it; `dropAfter`: applied, the answer is lost
 * - `stall`: applied, never answered, the connection stays open
 * - `error`: refused with this DynamoDB error (`ProvisionedThroughputExceededException`, say), not applied
 * - `failBefore`, `failAfter`: HTTP 500, not applied or applied
 * - `truncate`: applied, and the connection breaks in the middle of the answer
 */
export type Fault =
  | { readonly kind: 'delayBefore' | 'delayAfter'; readonly ms: number }
  | { readonly kind: 'dropBefore' | 'dropAfter' | 'stall' | 'failBefore' | 'failAfter' | 'truncate' }
  | { readonly kind: 'error'; readonly type: string; readonly message?: string };

export type FaultKind = Fault['kind'];

/** A request on its way through the proxy. */
export interface ProxiedRequest extends DynamoDbRequest {
  /** 1 for the first request that came, whatever it is. */
  readonly count: number;
  /** 1 for the first request of this operation. */
  readonly operationCount: number;
}

/** Says what happens to a request, at once or later; nothing means that it passes untouched. */
export type FaultDecision = (request: ProxiedRequest) => Fault | undefined | Promise<Fault | undefined>;

/**
 * A proxy before any endpoint that speaks DynamoDB's protocol over plain HTTP, which loses, delays and breaks what a network and a table may lose, delay and
 * break. Nothing is tried again by the proxy itself.
 *
 * @example
 * const proxy = await FaultProxy.start(table.endpoint, ({ operation, operationCount }) =>
 *   operation === 'UpdateItem' && operationCount === 1 ? { kind: 'dropAfter' } : undefined);
 * const client = new DynamoDBClient({ ...table.clientConfig, endpoint: proxy.endpoint });
 * await proxy.stop();
 */
export class FaultProxy {
  /**
   * @param target the endpoint, for example `http://127.0.0.1:8000`
   * @param decide asked once for each request, when it has arrived as a whole
   * @throws TestingKitError `TARGET_UNSUPPORTED`, `PORT_UNAVAILABLE`
   */
  static async start(target: string, decide: FaultDecision, options: { readonly port?: number } = {}): Promise<FaultProxy> {
    if (!URL.canParse(target) || new URL(target).protocol !== 'http:') {
      throw new TestingKitError('TARGET_UNSUPPORTED', `The fault proxy cannot stand before '${target}'. Expected an endpoint such as http://127.0.0.1:8000`);
    }
    const courier = new Courier(new URL(target), decide);
    const server = await LoopbackServer.listen(options.port ?? 0, async exchange => courier.deliver(exchange), failure);
    return new FaultProxy(courier, server);
  }

  readonly endpoint: string;

  private constructor(private readonly courier: Courier, private readonly server: LoopbackServer) {
    this.endpoint = server.url;
  }

  /** How many requests each kind of fault has met so far. */
  get counts(): Readonly<Record<FaultKind, number>> {
    return { ...this.courier.counts };
  }

  /** Breaks all connections. A request that waits in `delayBefore` will not reach the table any more. */
  async stop(): Promise<void> {
    this.courier.stop();
    await this.server.close();
  }
}

/** Carries requests to the target and answers back, each with its fault. */
class Courier {
  readonly counts: Record<FaultKind, number> = {
    delayBefore: 0, delayAfter: 0, dropBefore: 0, dropAfter: 0, stall: 0, error: 0, failBefore: 0, failAfter: 0, truncate: 0,
  };

  private readonly agent = new Agent({ keepAlive: true });
  private readonly stopped = new AbortController();
  private readonly operationCounts = new Map<string, number>();
  private count = 0;

  constructor(private readonly target: URL, private readonly decide: FaultDecision) {
    setMaxListeners(0, this.stopped.signal); // one per request under way
  }

  async deliver(exchange: HttpExchange): Promise<void> {
    const fault = await this.decide(this.counted(readRequest(exchange.request)));
    if (fault) this.counts[this.known(fault).kind] += 1;
    try {
      await this.deliverWith(fault, exchange);
    } catch {
      exchange.drop(); // the target is gone, or this proxy is being stopped: to the client a broken connection like any other
    }
  }

  stop(): void {
    this.stopped.abort();
    this.agent.destroy();
  }

  private counted(request: DynamoDbRequest): ProxiedRequest {
    this.count += 1;
    const operationCount = (this.operationCounts.get(request.operation) ?? 0) + 1;
    this.operationCounts.set(request.operation, operationCount);
    return { ...request, count: this.count, operationCount };
  }

  /** Tests in JavaScript can decide anything. */
  private known(fault: Fault): Fault {
    if (Object.hasOwn(this.counts, fault.kind ?? '')) return fault;
    throw new Error(`there is no fault ${JSON.stringify(fault)}. Expected nothing, or an object whose kind is one of ${Object.keys(this.counts).join(', ')}`);
  }

  private async deliverWith(fault: Fault | undefined, exchange: HttpExchange): Promise<void> {
    switch (fault?.kind) {
      case 'dropBefore': return exchange.drop();
      case 'error': return exchange.send(errorReply(400, fault.type, fault.message ?? 'Injected by the fault proxy'));
      case 'failBefore': return exchange.send(internalServerError());
      case 'delayBefore': await this.pause(fault.ms);
    }
    const reply = await this.forward(exchange.request);
    switch (fault?.kind) {
      case 'dropAfter': return exchange.drop();
      case 'stall': return;
      case 'failAfter': return exchange.send(internalServerError());
      case 'truncate': return exchange.sendHalf(reply);
      case 'delayAfter': await this.pause(fault.ms);
    }
    exchange.send(reply);
  }

  private async pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.stopped.signal });
  }

  private async forward({ method, url, headers, body }: HttpRequest): Promise<HttpReply> {
    const { hostname, port } = this.target;
    return new Promise((resolve, reject) => {
      const outgoing = httpRequest({ hostname, port, path: url, method, headers, agent: this.agent, signal: this.stopped.signal }, response => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => resolve({ status: response.statusCode ?? 502, headers: endToEnd(response.headers), body: Buffer.concat(chunks) }));
      });
      outgoing.on('error', reject);
      outgoing.end(body);
    });
  }
}

/** Without the headers that are about the connection to the target, not about the reply. */
function endToEnd({ 'connection': _, 'keep-alive': __, 'transfer-encoding': ___, ...headers }: IncomingHttpHeaders): IncomingHttpHeaders {
  return headers;
}

function internalServerError(): HttpReply {
  return errorReply(500, 'InternalServerError', 'Injected by the fault proxy');
}

/** `decide` threw. 400 is what no SDK tries again, so the message reaches whoever reads the test's output. */
function failure(error: unknown): HttpReply {
  return errorReply(400, 'FaultProxyFailure', `The fault proxy's decision failed: ${error instanceof Error ? error.message : String(error)}`);
}
