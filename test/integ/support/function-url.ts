import { LoopbackServer, type HttpReply, type HttpRequest } from '../../../testing-kit/loopback-server';
import type { HttpAnswer, HttpEvent } from '../handlers/http-event';

/** What a function with a URL does. */
export type UrlHandler = (event: HttpEvent) => Promise<HttpAnswer>;

const noFunction: UrlHandler = async () => Promise.reject(new Error('There is no function yet.'));

/** The URL of a function: hands each request to it as Lambda does, in payload format 2.0. */
export class FunctionUrl {
  static async start(): Promise<FunctionUrl> {
    const server = await LoopbackServer.listen(
      0,
      async exchange => exchange.send(replyOf(await functionUrl.handle(eventOf(exchange.request)))),
      error => replyOf({ statusCode: 502, headers: {}, body: String(error) }),
    );
    const functionUrl = new FunctionUrl(server);
    return functionUrl;
  }

  /** The function, once there is one. */
  handle = noFunction;

  private constructor(private readonly server: LoopbackServer) {}

  /** With a slash at its end, as Lambda's have it. */
  get url(): string {
    return `${this.server.url}/`;
  }

  async stop(): Promise<void> {
    await this.server.close();
  }
}

/** Bodies come in base64, as those of forms do. */
function eventOf({ method, url, headers, body }: HttpRequest): HttpEvent {
  return {
    rawPath: url,
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)])),
    requestContext: { http: { method } },
    ...(body.length > 0 && { body: body.toString('base64'), isBase64Encoded: true }),
  };
}

function replyOf({ statusCode, headers, body }: HttpAnswer): HttpReply {
  return { status: statusCode, headers, body: Buffer.from(body) };
}
