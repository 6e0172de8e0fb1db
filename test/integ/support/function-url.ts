import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { HttpAnswer, HttpEvent } from '../handlers/http-event';

/** What a function with a URL does. */
export type UrlHandler = (event: HttpEvent) => Promise<HttpAnswer>;

/** The URL of a function: hands each request to it as Lambda does, in payload format 2.0. */
export class FunctionUrl {
  static async start(): Promise<FunctionUrl> {
    const http = createServer();
    http.listen(0, '127.0.0.1');
    await once(http, 'listening');
    return new FunctionUrl(http);
  }

  /** The function, once there is one. */
  handle: UrlHandler;

  private constructor(private readonly http: Server) {
    this.handle = async () => Promise.reject(new Error('There is no function yet.'));
    http.on('request', (request: IncomingMessage, response: ServerResponse) => void this.answer(request, response));
  }

  /** With a slash at its end, as Lambda's have it. */
  get url(): string {
    return `http://127.0.0.1:${(this.http.address() as AddressInfo).port}/`;
  }

  async stop(): Promise<void> {
    this.http.closeAllConnections();
    this.http.close();
    await once(this.http, 'close');
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const { statusCode, headers, body } = await this.handle(await eventOf(request));
      response.writeHead(statusCode, headers).end(body);
    } catch (error) {
      response.writeHead(502).end(String(error));
    }
  }
}

/** Bodies come in base64, as those of forms do. */
async function eventOf(request: IncomingMessage): Promise<HttpEvent> {
  const body = await text(request);
  return {
    rawPath: request.url ?? '/',
    headers: Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)])),
    requestContext: { http: { method: request.method ?? '' } },
    ...(body && { body: Buffer.from(body).toString('base64'), isBase64Encoded: true }),
  };
}
