import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TokenServer } from './token-server';

const loadLibrary = async () => import('jose');

/** The third party's API. It answers 200 to the one live token, after checking its signature and expiry, and 401 to everything else. */
export class ProtectedApi {
  /** @param load how the library is loaded that verifies tokens: jest cannot by itself */
  static async start(tokens: TokenServer, load = loadLibrary): Promise<ProtectedApi> {
    const { createRemoteJWKSet, jwtVerify } = await load();
    const keys = createRemoteJWKSet(new URL(tokens.jwksUrl));
    const isAccepted = async (token: string): Promise<boolean> => {
      try {
        const { payload } = await jwtVerify(token, keys, { issuer: tokens.issuer, algorithms: ['RS256'] });
        return payload.jti !== undefined && payload.jti === tokens.liveToken?.jti;
      } catch {
        return false;
      }
    };
    const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1];
      const accepted = token !== undefined && await isAccepted(token);
      request.resume();
      response.writeHead(accepted ? 200 : 401, { 'content-type': 'application/json' });
      response.end(JSON.stringify(accepted ? { status: 'sent' } : { error: 'invalid_token' }));
    };
    const http = createServer((request, response) => void answer(request, response));
    http.keepAliveTimeout = 60_000; // longer than the pauses of the load: a connection that closes just as it is used again is another story
    http.listen(0, '127.0.0.1');
    await once(http, 'listening');
    return new ProtectedApi(http);
  }

  private constructor(private readonly http: Server) {}

  get url(): string {
    return `http://127.0.0.1:${(this.http.address() as AddressInfo).port}/messages`;
  }

  async stop(): Promise<void> {
    this.http.closeAllConnections();
    this.http.close();
    await once(this.http, 'close');
  }
}
