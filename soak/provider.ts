import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** A request to the auth endpoint. */
interface TokenRequest {
  readonly tokenId: string;
  readonly refreshToken?: string;
  readonly lease: string;
  readonly pid: number;
}

/** What the provider knows of one account. Only its newest token lives. */
interface Account {
  issued: number;
  issuedAt: number;
  current: string | undefined;
  /** Rotating: the refresh token that is valid, and the one before it, which is honoured for a while. */
  refreshToken: string | undefined;
  previous: { readonly token: string; readonly until: number } | undefined;
  inFlight: Map<string, number>;
}

const LATENCY_MS = [40, 160] as const;
/** Short, so that tokens are also refreshed ahead, and a revocation after 14 s comes after half their life (the storm guard). */
const TOKEN_LIFE_S = 24;
/** Providers grant a used refresh token a moment, for clients that never got the answer. */
const REPLAY_GRACE_MS = 60_000;

/** Is this account's credential a rotating refresh token? Every other one is. */
export const isRotating = (tokenId: string) => tokenId.endsWith('-rotating');

/** An auth endpoint and an API, on one port: only an account's newest token is accepted, and refresh tokens rotate with family revocation. */
export class SoakProvider {
  /**
   * @param hasStoredOne has the table ever held a refresh token for this id? Until then a request without one is a log-in.
   * @param onAuthRequest told of each auth request when it arrives
   */
  static async start(hasStoredOne: (tokenId: string) => boolean, onAuthRequest: (request: TokenRequest) => void): Promise<SoakProvider> {
    const provider = new SoakProvider(hasStoredOne, onAuthRequest);
    provider.server.keepAliveTimeout = 600_000; // a frozen process must not find its connection closed: that would be its own API call's trouble
    provider.server.listen(0, '127.0.0.1');
    await once(provider.server, 'listening');
    return provider;
  }

  readonly problems: string[] = [];
  authCalls = 0;
  private readonly accounts = new Map<string, Account>();
  private readonly server: Server;

  private constructor(private readonly hasStoredOne: (tokenId: string) => boolean, private readonly onAuthRequest: (request: TokenRequest) => void) {
    this.server = createServer((request, response) => void this.serve(request, response).catch(() => response.destroy()));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  account(tokenId: string): Account {
    let account = this.accounts.get(tokenId);
    if (account === undefined) {
      account = { issued: 0, issuedAt: 0, current: undefined, refreshToken: undefined, previous: undefined, inFlight: new Map() };
      this.accounts.set(tokenId, account);
    }
    return account;
  }

  revoke(tokenId: string): void {
    this.account(tokenId).current = undefined;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url === '/api') return this.serveApi(request, response);
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const asked = JSON.parse(body) as TokenRequest;
    this.authCalls++;
    const { inFlight } = this.account(asked.tokenId);
    inFlight.set(asked.lease, (inFlight.get(asked.lease) ?? 0) + 1);
    if ((inFlight.get(asked.lease) ?? 0) > 1) this.problems.push(`${asked.tokenId}: two auth calls in flight under lease ${asked.lease}`);
    let isGone = false;
    response.on('close', () => { isGone = true; });
    this.onAuthRequest(asked);
    await sleep(LATENCY_MS[0] + Math.random() * (LATENCY_MS[1] - LATENCY_MS[0]));
    inFlight.set(asked.lease, (inFlight.get(asked.lease) ?? 1) - 1);
    // Half of the answers to a holder that died were issued before it did: consumed, and lost.
    if (isGone && Math.random() < 0.5) return;
    this.answer(asked, response);
  }

  private answer({ tokenId, refreshToken }: TokenRequest, response: ServerResponse): void {
    const account = this.account(tokenId);
    const now = Date.now();
    const rotating = isRotating(tokenId);
    const isLogin = refreshToken === undefined && !this.hasStoredOne(tokenId);
    if (rotating && !isLogin && refreshToken !== account.refreshToken) {
      const isReplay = refreshToken !== undefined && refreshToken === account.previous?.token && now < account.previous.until;
      if (!isReplay) {
        this.problems.push(`${tokenId}: ${refreshToken ?? 'no refresh token'} was redeemed, the newest is ${account.refreshToken ?? 'none'}`);
        response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify({ error: 'invalid_grant' }));
        return;
      }
    } else if (rotating) {
      if (account.refreshToken !== undefined) account.previous = { token: account.refreshToken, until: now + REPLAY_GRACE_MS };
      account.refreshToken = `refresh-${tokenId}-${account.issued + 1}`;
    }
    account.issued++;
    account.issuedAt = now;
    account.current = `access-${tokenId}-${account.issued}`;
    response.writeHead(200, { 'content-type': 'application/json' });
    const rotated = rotating ? { refresh_token: account.refreshToken } : {};
    response.end(JSON.stringify({ access_token: account.current, expires_in: TOKEN_LIFE_S, ...rotated }));
  }

  private serveApi(request: IncomingMessage, response: ServerResponse): void {
    const { current, issued } = this.account(String(request.headers['x-token-id']));
    const isAccepted = current !== undefined && request.headers.authorization === `Bearer ${current}`;
    response.writeHead(isAccepted ? 200 : 401, { 'x-generation': String(issued) }).end();
  }
}
