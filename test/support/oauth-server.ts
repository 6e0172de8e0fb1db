import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
// @ts-expect-error TS1479: jest translates this ES module
import { Events, OAuth2Issuer, OAuth2Service } from 'oauth2-mock-server';

/** A token request, as it came in. */
export interface ReceivedTokenRequest {
  readonly headers: IncomingMessage['headers'];
  /** The form in its body. */
  readonly form: Readonly<Record<string, string>>;
}

/** What the token endpoint answers. */
export interface TokenAnswer {
  statusCode: number;
  body: Record<string, unknown>;
}

/** A real OAuth 2 server (oauth2-mock-server), which remembers what it was asked, and whose answers a test may change. */
export class OAuthServer {
  static async start(): Promise<OAuthServer> {
    const issuer = new OAuth2Issuer();
    await issuer.keys.generate('RS256');
    const service = new OAuth2Service(issuer);
    const http = createServer(service.requestHandler);
    http.listen(0, '127.0.0.1');
    await once(http, 'listening');
    issuer.url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
    return new OAuthServer(http, issuer.url, service);
  }

  readonly requests: ReceivedTokenRequest[] = [];
  /** Changes the answer before it is sent. */
  change: ((answer: TokenAnswer, request: ReceivedTokenRequest) => void) | undefined;
  /** Changes the claims of the token before it is signed. */
  claims: Record<string, unknown> = {};

  private constructor(private readonly http: Server, private readonly issuer: string, service: EventEmitter) {
    service.on(Events.BeforeTokenSigning, (token: { payload: Record<string, unknown> }) => Object.assign(token.payload, this.claims));
    service.on(Events.BeforeResponse, (answer: TokenAnswer, { headers, body }: IncomingMessage & { body: Record<string, string> }) => {
      const request = { headers, form: { ...body } };
      this.requests.push(request);
      this.change?.(answer, request);
    });
  }

  get tokenUrl(): string {
    return `${this.issuer}/token`;
  }

  /** The newest request. */
  get last(): ReceivedTokenRequest {
    const last = this.requests.at(-1);
    if (!last) throw new Error('The token endpoint was not asked');
    return last;
  }

  async stop(): Promise<void> {
    this.http.closeAllConnections();
    this.http.close();
    await once(this.http, 'close');
  }
}
