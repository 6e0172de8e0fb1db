// @ts-expect-error TS1479: jest translates this ES module
import * as jose from 'jose';
// @ts-expect-error TS1479: jest translates this ES module
import * as oauth2MockServer from 'oauth2-mock-server';
import { ProtectedApi } from '../../../demo/protected-api';
import { TokenServer, type OAuthClient } from '../../../demo/token-server';

/** So long that no machine is too slow for it: nothing is refreshed but what was revoked, or by the schedule. */
const TOKEN_LIFE_MS = 3_600_000;

const LATENCY_MS = 200;

/** From 5 s on a rejection is believed; twice as late with each token in a row that was rejected before half its life. */
const OLD_ENOUGH_TO_REVOKE_MS = 5_200;

/** A scheduled run takes a token for one of its own that was issued in the two seconds before it; and its time is in whole seconds. */
const OLD_ENOUGH_FOR_THE_SCHEDULE_MS = 3_100;

/** A provider and its API, of the demo: a real OAuth server that keeps one token alive and counts its calls, and an API that takes that token alone. */
export class ThirdParty {
  /** @param client the one that gets tokens; none: everybody does */
  static async start(client?: OAuthClient): Promise<ThirdParty> {
    const tokens = await TokenServer.start({ latencyMs: LATENCY_MS, tokenLifeMs: TOKEN_LIFE_MS, client, load: async () => oauth2MockServer });
    return new ThirdParty(tokens, await ProtectedApi.start(tokens, async () => jose));
  }

  private revocations = 0;
  private stopped: Promise<void> | undefined;

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

  private get tokenAgeMs(): number {
    return Date.now() - (this.tokens.liveToken?.issuedAt ?? Date.now());
  }

  /** Whether a rejection of the newest token would be believed. */
  get isOldEnoughToRevoke(): boolean {
    return this.tokenAgeMs >= OLD_ENOUGH_TO_REVOKE_MS * 2 ** this.revocations;
  }

  get isOldEnoughForTheSchedule(): boolean {
    return this.tokenAgeMs >= OLD_ENOUGH_FOR_THE_SCHEDULE_MS;
  }

  /** The API refuses the token from now on. */
  revoke(): void {
    this.revocations++;
    this.tokens.revoke();
  }

  /** The provider is gone. */
  async stop(): Promise<void> {
    this.stopped ??= this.stopBoth();
    return this.stopped;
  }

  private async stopBoth(): Promise<void> {
    await Promise.all([this.api.stop(), this.tokens.stop()]);
  }
}
