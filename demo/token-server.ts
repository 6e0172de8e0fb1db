import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** The newest token, known by its `jti` alone: the demo keeps no token. */
export interface IssuedToken {
  readonly jti: string;
  /** When the auth request came in, which is where the token's life begins. */
  readonly issuedAt: number;
  readonly scope: string | undefined;
}

/** Who gets tokens. */
export interface OAuthClient {
  readonly id: string;
  readonly secret: string;
}

interface TokenServerOptions {
  readonly latencyMs: number;
  readonly tokenLifeMs: number;
  /**
   * The one client that gets tokens, if it authenticates by `client_secret_basic`.
   *
   * @default - everybody gets one
   */
  readonly client?: OAuthClient | undefined;
  /** How the server's library is loaded: jest cannot by itself. */
  readonly load?: typeof loadLibrary;
}

const loadLibrary = async () => import('oauth2-mock-server');

/**
 * The third party's auth endpoint: a real OAuth 2 server, made as unkind as the ones that this library is for. It is slow, it counts every call, and it
 * keeps one token alive: with each new token, the one before is dead.
 */
export class TokenServer {
  static async start(options: TokenServerOptions): Promise<TokenServer> {
    const { OAuth2Issuer, OAuth2Service, Events } = await (options.load ?? loadLibrary)();
    const issuer = new OAuth2Issuer();
    await issuer.keys.generate('RS256');
    const oauth = new OAuth2Service(issuer);
    const http = createServer();
    http.listen(0, '127.0.0.1');
    await once(http, 'listening');
    issuer.url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;

    const server = new TokenServer(http, issuer.url, options);
    oauth.on(Events.BeforeTokenSigning, ({ payload }: { payload: { readonly scope?: string } }, request: IncomingMessage) => {
      Object.assign(payload, server.issue(request, payload.scope));
    });
    oauth.on(Events.BeforeResponse, (response: { body: Record<string, unknown> }) => {
      response.body.expires_in = options.tokenLifeMs / 1_000;
    });
    http.on('request', (request: IncomingMessage, response: ServerResponse) => {
      void server.slowDown(request).then(() => {
        if (request.destroyed) return;
        if (server.isRefused(request)) refuse(response);
        else oauth.requestHandler(request, response);
      });
    });
    return server;
  }

  /** When each auth call came in, in milliseconds since the epoch. */
  readonly authCalls: number[] = [];

  private live: IssuedToken | undefined;
  private readonly receivedAt = new WeakMap<IncomingMessage, number>();
  private whileNextCallIsHeld: ((request: IncomingMessage) => Promise<void>) | undefined;

  private constructor(private readonly http: Server, readonly issuer: string, private readonly options: TokenServerOptions) {}

  get tokenLifeMs(): number {
    return this.options.tokenLifeMs;
  }

  get tokenUrl(): string {
    return `${this.issuer}/token`;
  }

  get jwksUrl(): string {
    return `${this.issuer}/jwks`;
  }

  /** The token that the API accepts, if any. */
  get liveToken(): IssuedToken | undefined {
    return this.live;
  }

  /** From now on the API refuses the token. */
  revoke(): void {
    this.live = undefined;
  }

  /** Leaves the next auth call without an answer until `action` is done. Its body may be still to come. */
  holdNextCall(action: (request: IncomingMessage) => Promise<void>): void {
    this.whileNextCallIsHeld = action;
  }

  async stop(): Promise<void> {
    this.http.closeAllConnections();
    this.http.close();
    await once(this.http, 'close');
  }

  private async slowDown(request: IncomingMessage): Promise<void> {
    if (!isAuthCall(request)) return;
    const receivedAt = Date.now();
    this.authCalls.push(receivedAt);
    this.receivedAt.set(request, receivedAt);
    const hold = this.whileNextCallIsHeld;
    this.whileNextCallIsHeld = undefined;
    await Promise.all([sleep(this.options.latencyMs), hold?.(request)]);
  }

  private isRefused(request: IncomingMessage): boolean {
    const { client } = this.options;
    return client !== undefined && isAuthCall(request) && request.headers.authorization !== basicAuthorization(client);
  }

  /** The claims that tell this token from every other one. */
  private issue(request: IncomingMessage, scope: string | undefined): { readonly jti: string; readonly exp: number } {
    const issuedAt = this.receivedAt.get(request) ?? Date.now();
    this.live = { jti: randomUUID(), issuedAt, scope };
    return { jti: this.live.jti, exp: (issuedAt + this.options.tokenLifeMs) / 1_000 };
  }
}

function isAuthCall({ method, url }: IncomingMessage): boolean {
  return method === 'POST' && url === '/token';
}

/** RFC 6749, section 2.3.1, for clients whose id and secret need no encoding. */
function basicAuthorization({ id, secret }: OAuthClient): string {
  return `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`;
}

function refuse(response: ServerResponse): void {
  response.writeHead(401, { 'content-type': 'application/json', 'www-authenticate': 'Basic' }).end(JSON.stringify({ error: 'invalid_client' }));
}
