import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** A request, as it came in. */
export interface WildRequest {
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** Writes an answer, or does not. */
export type Behaviour = (response: ServerResponse, request: WildRequest) => void;

/** An HTTP server that follows no rule but the test's. */
export class WildServer {
  static async start(behaviour: Behaviour, tls?: { readonly key: string; readonly cert: string }): Promise<WildServer> {
    const http = tls ? createTlsServer(tls) : createServer();
    http.listen(0, '127.0.0.1');
    await once(http, 'listening');
    return new WildServer(http, tls ? 'https' : 'http', behaviour);
  }

  readonly requests: WildRequest[] = [];
  /** Requests whose client left before they were answered in full. */
  givenUp = 0;

  private constructor(private readonly http: Server, private readonly protocol: string, public behaviour: Behaviour) {
    http.on('request', ((request, response) => {
      response.on('close', () => { if (!response.writableFinished) this.givenUp++; });
      void text(request).then(body => {
        const { method, url: path, headers } = request;
        const received = { method, path, headers, body };
        this.requests.push(received);
        this.behaviour(response, received);
      });
    }) satisfies RequestListener);
  }

  get origin(): string {
    return `${this.protocol}://127.0.0.1:${(this.http.address() as AddressInfo).port}`;
  }

  get url(): string {
    return `${this.origin}/token`;
  }

  /** The newest request. */
  get last(): WildRequest {
    const last = this.requests.at(-1);
    if (!last) throw new Error('The server was not asked');
    return last;
  }

  async stop(): Promise<void> {
    this.http.closeAllConnections();
    this.http.close();
    await once(this.http, 'close');
  }
}

/** Answers JSON. */
export function json(body: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Behaviour {
  return response => response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}
