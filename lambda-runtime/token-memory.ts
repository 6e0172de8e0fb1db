import { isRejected, isTooYoungToReject, type Rejection } from './decide';
import type { Host } from './host';
import { rejectedEarly } from './timing';
import type { StoredToken, TokenItem } from './token-item';
import type { Commit } from './token-store';

/** What this process knows about one token. */
export class TokenMemory {
  item: TokenItem | undefined;
  rejection: Rejection | undefined;
  /** A token that the provider issued to this process and that could not be stored yet. */
  unsaved: Commit | undefined;
  /** The most time left that any call began with. */
  longestTimeLeftMs = 0;

  private requests = 0;
  private lastApplied = 0;
  private firstSeen = { accessToken: '', issuedAt: 0, at: 0, aheadJitter: 0, isTold: false };
  private watched = { id: '', until: 0, since: 0 };

  constructor(private readonly host: Host) {}

  /** A number for a request that starts now; its reply is applied with it. */
  requestStarts(): number {
    return ++this.requests;
  }

  /** Takes over what a reply says, unless a request that began later was answered already. */
  apply(item: TokenItem | undefined, request: number): void {
    if (request < this.lastApplied) return;
    this.lastApplied = request;
    this.item = item;
    this.watch();
    if (item?.token !== undefined) this.see(item.token);
  }

  /** Is the present token news to whoever observes? True once for each. */
  isNews(): boolean {
    const { isTold } = this.firstSeen;
    this.firstSeen.isTold = true;
    return !isTold;
  }

  /** Uses a token that is not stored yet as if it were. */
  applyUnsaved(commit: Commit): void {
    const generation = (this.item?.base?.generation ?? 0) + 1;
    const token = { ...commit.token, generation };
    this.unsaved = commit;
    this.item = { ...this.item, base: token, token, lease: undefined, failure: undefined };
    this.see(token);
  }

  /**
   * Notes that the API refused this exact token.
   *
   * @returns false where that changes nothing: memory holds another token already, or this one is too young for its rejection to be believed
   */
  reject(accessToken: string, now: number): boolean {
    const token = this.item?.token;
    if (token === undefined || this.item === undefined) {
      this.rejection = { accessToken, issuedAt: now, at: now };
      return true;
    }
    if (token.accessToken !== accessToken) return false;
    if (isTooYoungToReject(token, this.item, now, this.host.monotonic() - this.firstSeen.at)) return false;
    if (this.rejection?.accessToken === accessToken && this.rejection.issuedAt >= token.issuedAt) return true;
    this.rejection = { accessToken, issuedAt: token.issuedAt, at: now };
    return true;
  }

  /** The storm guard's count after a refresh of what memory holds now: one more if that was rejected before half its life, else none. */
  earlyRejections(): number {
    const token = this.item?.token;
    const { rejection } = this;
    const isEarly = token !== undefined && rejection !== undefined && isRejected(token, rejection) && rejectedEarly(token, rejection.at);
    return isEarly ? (this.item?.meta?.earlyRejections ?? 0) + 1 : 0;
  }

  /** How long the present lease was seen unchanged. */
  leaseWatchedMs(): number {
    return this.host.monotonic() - this.watched.since;
  }

  /** This process' own moment within the refresh-ahead window of the present token. */
  aheadJitter(): number {
    return this.firstSeen.aheadJitter;
  }

  private watch(): void {
    const lease = this.item?.lease;
    if (lease === undefined || (lease.id === this.watched.id && lease.until === this.watched.until)) return;
    this.watched = { id: lease.id, until: lease.until, since: this.host.monotonic() };
  }

  private see({ accessToken, issuedAt }: StoredToken): void {
    if (accessToken === this.firstSeen.accessToken && issuedAt === this.firstSeen.issuedAt) return;
    this.firstSeen = { accessToken, issuedAt, at: this.host.monotonic(), aheadJitter: this.host.random(), isTold: false };
  }
}
