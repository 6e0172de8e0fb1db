import type { Case } from './case';

/** A credential that the provider gave out. */
export interface Issued {
  /** 1, 2, 3 ... in the order of issue. */
  readonly number: number;
  readonly accessToken: string;
  readonly refreshToken: string | undefined;
  readonly expiresAt: number;
}

/** The provider's no, as an OAuth error code. */
export interface Refused { readonly error: string }

/** Every secret contains this, so that a leak can be seen. */
export const SENTINEL = 'SENTINEL';

/** The auth server as it is, without the network in front of it. */
export class Provider {
  private issuedCount = 0;
  private readonly expiries = new Map<string, number>();
  private readonly acceptedFrom = new Map<string, number>();
  private latest: Issued | undefined;
  private readonly used = new Map<string, { readonly until: number; readonly successor: Issued }>();
  private current: string | undefined;
  /** A stolen refresh token, as it seems: all that came of it is void, until a person logs in again. */
  familyRevoked = false;

  constructor(private readonly settings: Case['provider'], private readonly now: () => number) {}

  /** What a person's log-in brought: the first credential, before any function runs. */
  logIn(): Issued {
    return this.issue();
  }

  redeem(refreshToken: string | undefined): Issued | Refused {
    const { kind } = this.settings;
    if (kind === 'rotating') return this.rotate(refreshToken);
    if (kind === 'same-token' && this.latest !== undefined && this.isValid(this.latest.accessToken) && this.remaining() > this.window()) return this.latest;
    if (kind === 'one-live') this.revoke();
    return this.issue();
  }

  isValid(accessToken: string): boolean {
    return this.now() < (this.expiries.get(accessToken) ?? 0);
  }

  /** What the API says: some take a moment until they know a new token. */
  isAccepted(accessToken: string): boolean {
    return this.isValid(accessToken) && this.now() >= (this.acceptedFrom.get(accessToken) ?? 0);
  }

  /** Ends every access token; refresh tokens stay good. */
  revoke(): void {
    this.expiries.clear();
  }

  private rotate(refreshToken: string | undefined): Issued | Refused {
    if (this.familyRevoked || refreshToken === undefined) return { error: 'invalid_grant' };
    if (refreshToken === this.current) {
      const successor = this.issue();
      this.used.set(refreshToken, { until: this.now() + this.settings.graceMs, successor });
      return successor;
    }
    const used = this.used.get(refreshToken);
    if (used !== undefined && this.now() <= used.until && used.successor.refreshToken === this.current) return this.again(used.successor);
    this.familyRevoked = true;
    this.revoke();
    return { error: 'invalid_grant' };
  }

  /** Within the grace: the same refresh token again, and an access token that is alive: the same one, or a new one. */
  private again(issued: Issued): Issued {
    if (this.isValid(issued.accessToken) && issued.number % 2 === 0) return issued;
    const { number, accessToken, expiresAt } = this.issue();
    this.current = issued.refreshToken;
    return { number, accessToken, expiresAt, refreshToken: issued.refreshToken };
  }

  private issue(): Issued {
    const number = ++this.issuedCount;
    const lifeMs = this.settings.lifeS === undefined ? Infinity : this.settings.lifeS * 1_000;
    const issued: Issued = {
      number,
      accessToken: `${SENTINEL}-a${number}`,
      refreshToken: this.settings.kind === 'rotating' ? `${SENTINEL}-r${number}` : undefined,
      expiresAt: this.now() + lifeMs,
    };
    this.expiries.set(issued.accessToken, issued.expiresAt);
    this.acceptedFrom.set(issued.accessToken, this.now() + this.settings.apiLagMs);
    this.current = issued.refreshToken;
    this.latest = issued;
    return issued;
  }

  private remaining(): number {
    return (this.latest?.expiresAt ?? 0) - this.now();
  }

  private window(): number {
    return this.settings.lifeS === undefined ? 0 : this.settings.lifeS * 100;
  }
}
