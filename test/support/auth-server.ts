import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { RefreshError } from '../../lambda-runtime';
import type { RefreshRequest, RefreshResult } from '../../lambda-runtime';

/** What an auth endpoint may do with a request instead of granting it. */
export type Misbehaviour =
  /** No answer. */
  | 'silent'
  /** Headers, and then nothing. */
  | 'headers only'
  /** Headers, half of the body, and then nothing. */
  | 'half a body'
  | { readonly status: number; readonly body: object; readonly headers?: Readonly<Record<string, string>> };

export interface AuthServerOptions {
  readonly latencyMs?: number;
  /** Seconds that a token lives. */
  readonly lifeS?: number;
  /** Refresh tokens are good for once; one that comes again ends the whole family. */
  readonly rotates?: boolean;
  /** Takes the place of the nth answer, counted from 1. */
  readonly misbehave?: (call: number) => Misbehaviour | undefined;
}

interface Credentials {
  readonly accessToken: string;
  readonly refreshToken: string | undefined;
}

/**
 * A third party over HTTP: its auth endpoint, and its API, which accepts the newest access token and no other.
 *
 * `refresh` and `callApi` are what an application writes to talk to it.
 */
export class AuthServer {
  static async start(options: AuthServerOptions = {}): Promise<AuthServer> {
    const http = createServer();
    http.listen(0, '127.0.0.1');
    await once(http, 'listening');
    return new AuthServer(http, options);
  }

  calls = 0;
  /** How many requests were open at the same moment. */
  mostAtOnce = 0;
  /** Answers that said no. */
  refusals = 0;
  /** Requests that the client gave up. */
  givenUp = 0;
  private atOnce = 0;
  private issued = 0;
  private live: Credentials | undefined;
  private readonly used = new Set<string>();

  private constructor(private readonly http: Server, private readonly options: AuthServerOptions) {
    http.on('request', (request: IncomingMessage, response: ServerResponse) => {
      request.resume();
      void (request.url === '/api' ? this.answerApi(request, response) : this.answerAuth(request, response));
    });
  }

  /** The credentials that a person's log-in brings. */
  logIn(): Credentials {
    const number = ++this.issued;
    this.live = { accessToken: `access-${number}`, refreshToken: this.options.rotates ? `refresh-${number}` : undefined };
    return this.live;
  }

  /** From now on the API refuses the token. */
  revoke(): void {
    this.live = this.live && { ...this.live, accessToken: '' };
  }

  /** What the newest answer said. */
  get newest(): Credentials | undefined {
    return this.live;
  }

  readonly refresh = async ({ signal, refreshToken }: RefreshRequest): Promise<RefreshResult> => {
    const headers: Record<string, string> = refreshToken === undefined ? {} : { 'x-refresh-token': refreshToken };
    const response = await fetch(`${this.url}/token`, { method: 'POST', headers, signal });
    const answer = await response.json() as { error?: string; access_token: string; expires_in: number; refresh_token?: string };
    if (!response.ok) throw new RefreshError(answer.error ?? String(response.status), { retryAfter: response.headers.get('retry-after') });
    return { accessToken: answer.access_token, expiresIn: answer.expires_in, refreshToken: answer.refresh_token };
  };

  readonly callApi = async (token: string): Promise<Response> => fetch(`${this.url}/api`, { headers: { authorization: `Bearer ${token}` } });

  async stop(): Promise<void> {
    this.http.closeAllConnections();
    this.http.close();
    await once(this.http, 'close');
  }

  private get url(): string {
    return `http://127.0.0.1:${(this.http.address() as AddressInfo).port}`;
  }

  private async answerAuth(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const call = ++this.calls;
    this.mostAtOnce = Math.max(this.mostAtOnce, ++this.atOnce);
    response.on('close', () => {
      this.atOnce--;
      if (!response.writableFinished) this.givenUp++;
    });
    await sleep(this.options.latencyMs ?? 20);
    const misbehaviour = this.options.misbehave?.(call);
    if (misbehaviour === undefined) return this.grant(request, response);
    if (typeof misbehaviour === 'object') return this.send(response, misbehaviour.status, misbehaviour.body, misbehaviour.headers);
    if (misbehaviour === 'silent') return;
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 });
    if (misbehaviour === 'headers only') response.flushHeaders();
    else response.write('{"access_token": "');
  }

  private grant(request: IncomingMessage, response: ServerResponse): void {
    if (this.options.rotates && !this.redeems(request.headers['x-refresh-token'])) return this.send(response, 400, { error: 'invalid_grant' });
    const { accessToken, refreshToken } = this.logIn();
    this.send(response, 200, { access_token: accessToken, expires_in: this.options.lifeS ?? 3_600, refresh_token: refreshToken });
  }

  private redeems(refreshToken: unknown): boolean {
    if (typeof refreshToken !== 'string' || refreshToken !== this.live?.refreshToken || this.used.has(refreshToken)) {
      this.live = undefined; // as if it were stolen
      return false;
    }
    this.used.add(refreshToken);
    return true;
  }

  private send(response: ServerResponse, status: number, body: object, headers: Readonly<Record<string, string>> = {}): void {
    if (status >= 400) this.refusals++;
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  }

  private async answerApi(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const isAccepted = this.live !== undefined && request.headers.authorization === `Bearer ${this.live.accessToken}`;
    response.writeHead(isAccepted ? 200 : 401).end();
  }
}
