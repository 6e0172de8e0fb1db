// @ts-expect-error TS1479: jest translates this ES module
import * as jose from 'jose';
// @ts-expect-error TS1479: jest translates this ES module
import * as oauth2MockServer from 'oauth2-mock-server';
import { ProtectedApi } from '../../../demo/protected-api';
import { TokenServer, type OAuthClient } from '../../../demo/token-server';

/** So long that no machine is too slow for it: nothing is refreshed but what was revoked, or by the schedule. */
const TOKEN_LIFE_MS = 3_600_000;

const LATENCY_MS = 200;

/** From 5 s on a rejection is believed; twice as late where the token before was rejected that early, too. */
const OLD_ENOUGH_TO_REVOKE_MS = 5_200;

/** A provider and its API, of the demo: a real OAuth server that keeps one token alive and counts its calls, and an API that takes that token alone. */
export class ThirdParty {
  /** @param client the one that gets tokens; none: everybody does */
  static async start(client?: OAuthClient): Promise<ThirdParty> {
    const tokens = await TokenServer.start({ latencyMs: LATENCY_MS, tokenLifeMs: TOKEN_LIFE_MS, client, load: async () => oauth2MockServer });
    return new ThirdParty(tokens, await ProtectedApi.start(tokens, async () => jose));
  }

  private constructor(private readonly tokens: TokenServer, private readonly api: ProtectedApi) {}

  get tokenUrl(): string {
    return this.tokens.tokenUrl;
  }

  get apiUrl(): string {
    return this.api.url;
  }

  /** How often it was asked for a token. */
  get authCalls(): number {
    return this.tokens.authCalls.length;
  }

  get tokenAgeMs(): number {
    return Date.now() - (this.tokens.liveToken?.issuedAt ?? Date.now());
  }

  /** Whether the newest token is old enough for a rejection of it to be believed. */
  get isOldEnoughToRevoke(): boolean {
    return this.tokenAgeMs >= OLD_ENOUGH_TO_REVOKE_MS;
  }

  revoke(): void {
    this.tokens.revoke();
  }

  async stop(): Promise<void> {
    await Promise.all([this.api.stop(), this.tokens.stop()]);
  }
}
