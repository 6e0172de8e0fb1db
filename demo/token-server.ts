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
}

interface TokenServerOptions {
  readonly latencyMs: number;
  readonly tokenLifeMs: number;
}

/**
 * The third party's auth endpoint: a real OAuth 2 server, made as unkind as the ones that this library is for. It is slow, it counts every call, and it
 * keeps one token alive: with each new token, the one before is dead.
 */
export class TokenServer {
  static async start(options: TokenServerOptions): Promise<TokenServer> {
    const { OAuth2Issuer, OAuth2Service, Events } = await import('oauth2-mock-server');
    const issuer = new OAuth2Issuer();
    await issuer.keys.generate('RS256');
    const oauth = new OAuth2Service(issuer);
    const http = createServer();
    http.listen(0, '127.0.0.1');
    await once(http, 'listening');
    issuer.url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;

    const server = new TokenServer(http, issuer.url, options);
    oauth.on(Events.BeforeTokenSigning, (token: { payload: Record<string, unknown> }, request: IncomingMessage) => {
      Object.assign(token.payload, server.issue(request));
    });
    oauth.on(Events.BeforeResponse, (response: { body: Record<string, unknown> }) => {
      response.body.expires_in = options.tokenLifeMs / 1_000;
    });
    http.on('request', (request: IncomingMessage, response: ServerResponse) => {
      void server.slowDown(request).then(() => {
        if (!request.destroyed) oauth.requestHandler(request, response);
      });
    });
    return server;
  }

  /** When each auth call came in, in milliseconds since the epoch. */
  readonly authCalls: number[] = [];

  private live: IssuedToken | undefined;
  private readonly receivedAt = new WeakMap<IncomingMessage, number>();
  private whileNextCallIsHeld: (() => Promise<void>) | undefined;

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

  /** Leaves the next auth call without an answer until `action` is done. */
  holdNextCall(action: () => Promise<void>): void {
    this.whileNextCallIsHeld = action;
  }

  async stop(): Promise<void> {
    this.http.closeAllConnections();
    this.http.close();
    await once(this.http, 'close');
  }

  private async slowDown(request: IncomingMessage): Promise<void> {
    if (request.method !== 'POST' || request.url !== '/token') return;
    const receivedAt = Date.now();
    this.authCalls.push(receivedAt);
    this.receivedAt.set(request, receivedAt);
    const hold = this.whileNextCallIsHeld;
    this.whileNextCallIsHeld = undefined;
    await Promise.all([sleep(this.options.latencyMs), hold?.()]);
  }

  /** The claims that tell this token from every other one. */
  private issue(request: IncomingMessage): { readonly jti: string; readonly exp: number } {
    const issuedAt = this.receivedAt.get(request) ?? Date.now();
    this.live = { jti: randomUUID(), issuedAt };
    return { jti: this.live.jti, exp: (issuedAt + this.options.tokenLifeMs) / 1_000 };
  }
}
