import type { OAuthClient } from '../../../demo/token-server';
import { startThirdParty, type ThirdParty } from '../../support/third-party';
import { OLD_ENOUGH_FOR_THE_SCHEDULE_MS, oldEnoughToRevokeMs } from '../../support/token-age';

/** So long that no machine is too slow for it: nothing is refreshed but what was revoked, or by the schedule. */
const TOKEN_LIFE_MS = 3_600_000;

/** The third party of one stack. It knows how old its token is, and how often one was revoked. */
export class StackThirdParty {
  /** @param client the one that gets tokens; none: everybody does */
  static async start(client?: OAuthClient): Promise<StackThirdParty> {
    return new StackThirdParty(await startThirdParty(client, TOKEN_LIFE_MS));
  }

  private revocations = 0;
  private stopped: Promise<unknown> | undefined;

  private constructor(private readonly parts: ThirdParty) {}

  get tokenUrl(): string {
    return this.parts.tokens.tokenUrl;
  }

  get apiUrl(): string {
    return this.parts.api.url;
  }

  /** How often it was asked for a token. */
  get authCalls(): number {
    return this.parts.tokens.authCalls.length;
  }

  private get tokenAgeMs(): number {
    return Date.now() - (this.parts.tokens.liveToken?.issuedAt ?? Date.now());
  }

  /** Whether a rejection of the newest token would be believed. */
  get isOldEnoughToRevoke(): boolean {
    return this.tokenAgeMs >= oldEnoughToRevokeMs(this.revocations);
  }

  get isOldEnoughForTheSchedule(): boolean {
    return this.tokenAgeMs >= OLD_ENOUGH_FOR_THE_SCHEDULE_MS;
  }

  /** The API refuses the token from now on. */
  revoke(): void {
    this.revocations++;
    this.parts.tokens.revoke();
  }

  /** The provider is gone. */
  async stop(): Promise<void> {
    this.stopped ??= Promise.all([this.parts.api.stop(), this.parts.tokens.stop()]);
    await this.stopped;
  }
}
