import { createServer, type IncomingHttpHeaders, type IncomingMessage, type OutgoingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { TestingKitError } from './errors';

const LOOPBACK = '127.0.0.1';
/** Longer than any client keeps an idle connection, so that no request meets a connection which this side is just closing. */
const KEEP_ALIVE_MS = 65_000;

/** A request that has arrived as a whole. */
export interface HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface HttpReply {
  readonly status: number;
  readonly headers: OutgoingHttpHeaders;
  readonly body: Buffer;
}

/** A request and the ways to end it. */
export class HttpExchange {
  constructor(readonly request: HttpRequest, private readonly response: ServerResponse) {}

  send({ status, headers, body }: HttpReply): void {
    this.response.writeHead(status, headers);
    this.response.end(body);
  }

  /** Announces the whole reply, sends the first half of it and closes the connection. */
  sendHalf({ status, headers, body }: HttpReply): void {
    this.response.writeHead(status, { ...headers, 'content-length': body.length });
    this.response.write(body.subarray(0, Math.floor(body.length / 2)), () => this.drop());
  }

  /** Closes the connection without an answer. */
  drop(): void {
    this.response.destroy();
  }
}

/** Answers one exchange. A rejection becomes the reply of {@link LoopbackServer.listen}'s `onFailure`. */
export type HttpHandler = (exchange: HttpExchange) => Promise<void>;

/** An HTTP server on the loopback interface that survives every client: nothing a request does, or fails to do, ends the process. */
export class LoopbackServer {
  /**
   * @param port 0 for any that is free
   * @param onFailure what a client gets to see when `handle` rejects
   */
  static async listen(port: number, handle: HttpHandler, onFailure: (error: unknown) => HttpReply): Promise<LoopbackServer> {
    const server = createServer((request, response) => {
      // A client may reset at any moment: such errors are its own affair, and unheard they would end the process.
      request.on('error', () => undefined);
      response.on('error', () => undefined);
      void receive(request).then(async received => {
        if (!received) return; // it left before it had said everything
        const exchange = new HttpExchange(received, response);
        await handle(exchange).catch((error: unknown) => exchange.send(onFailure(error)));
      });
    });
    server.keepAliveTimeout = KEEP_ALIVE_MS;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, LOOPBACK, resolve); // throws where there cannot be such a port
    }).catch((cause: Error) => {
      throw new TestingKitError('PORT_UNAVAILABLE', `Cannot listen on ${LOOPBACK}:${port}: ${cause.message}`, cause);
    });
    return new LoopbackServer(server);
  }

  readonly url: string;

  private constructor(private readonly server: Server) {
    this.url = `http://${LOOPBACK}:${(server.address() as AddressInfo).port}`;
  }

  /** Closes every connection, answered or not, and waits until the port is free. */
  async close(): Promise<void> {
    if (!this.server.listening) return;
    const closed = new Promise(resolve => this.server.once('close', resolve));
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }
}

/** The request with its body, or nothing if the client went away in the middle. */
async function receive(request: IncomingMessage): Promise<HttpRequest | undefined> {
  const chunks: Buffer[] = [];
  return new Promise(resolve => {
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => resolve({
      method: request.method ?? 'GET',
      url: request.url ?? '/',
      headers: request.headers,
      body: Buffer.concat(chunks),
    }));
    request.on('close', () => resolve(undefined)); // without effect after 'end'
  });
}
