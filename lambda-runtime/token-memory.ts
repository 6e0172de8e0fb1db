import { isRejected, isTooYoungToReject, isUsable, type Rejection, type Situation } from './decide';
import type { SharedTokenError } from './errors';
import type { Host } from './host';
import { failureSince } from './lease-writes';
import { aheadPause, CLEARLY_OLDER_MS, rejectedEarly } from './timing';
import { isSameBase, type StoredToken, type TokenItem } from './token-item';
import type { Commit } from './token-store';

/** What this process knows about one token. */
export interface TokenMemory {
  readonly item: TokenItem | undefined;
  /** A token that the provider issued to this process and that could not be stored yet. */
  unsaved: Commit | undefined;
  /** Notes how much time a call has left after its first read: the most there was bounds what a refresh may need. */
  noteTimeLeft(ms: number): void;
  /** A call ended because its time was too short to claim: the next one with as much will, since there may be none with more. */
  lackedTime(ms: number): void;
  /** A number for a request that starts now; its reply is applied with it. */
  requestStarts(): number;
  /** Takes over what a reply says, unless a request that began later was answered already. */
  apply(item: TokenItem | undefined, request: number): void;
  /** Is the present token news to whoever observes? */
  isNews(): boolean;
  /** It was told. */
  markTold(): void;
  /** Is there a token to store, and the table not in trouble just now? */
  hasToSave(): boolean;
  /** Uses a token that is not stored yet as if it were, until something else is stored. */
  applyUnsaved(commit: Commit): void;
  /** A successor cannot be fetched or stored just now: while the present token works, nobody tries again before a pause. */
  pauseAhead(): void;
  isAheadPaused(): boolean;
  /** Asking the refresher cannot help, says this error: for a while nobody here asks again. */
  noteRefusalToAsk(error: SharedTokenError): void;
  refusalToAsk(): SharedTokenError | undefined;
  usableToken(now: number): StoredToken | undefined;
  /** The present token, if the API refused it. */
  rejectedToken(): StoredToken | undefined;
  /**
   * Notes that the API refused this exact token.
   *
   * @returns false where that is not believed: memory holds another token already, or this one is too young
   */
  reject(accessToken: string, now: number): boolean;
  /** The storm guard's count after a refresh of what memory holds now: one more if that was rejected before half its life, else none. */
  earlyRejections(): number;
  /** What a decision depends on: among it how long the present lease was seen unchanged, and this process' own moment to refresh ahead. */
  view(): Pick<Situation, 'item' | 'rejection' | 'leaseWatchedMs' | 'longestTimeLeftMs' | 'aheadJitter'>;
}

export function tokenMemory(host: Host): TokenMemory {
  let item: TokenItem | undefined;
  let rejection: Rejection | undefined;
  let requests = 0;
  let lastApplied = 0;
  let firstSeen = { accessToken: '', issuedAt: 0, at: 0, aheadJitter: 0, isTold: false };
  let watched = { id: '', until: 0, since: 0 };
  let aheadPausedUntil = -Infinity;
  let longestTimeLeftMs = 0;
  let hopeless: { readonly error: SharedTokenError; readonly until: number } | undefined;

  const take = (next: TokenItem | undefined): void => {
    item = next;
    const lease = item?.lease;
    if (lease && (lease.id !== watched.id || lease.until !== watched.until)) watched = { ...lease, since: host.monotonic() };
    const token = item?.token;
    if (token && (token.accessToken !== firstSeen.accessToken || token.issuedAt !== firstSeen.issuedAt)) {
      firstSeen = { ...token, at: host.monotonic(), aheadJitter: host.random(), isTold: false };
    }
  };

  /** What the table says, and over it the token that it does not hold yet, until another is stored. */
  const withUnsaved = (next: TokenItem | undefined): TokenItem | undefined => {
    const { unsaved } = memory;
    if (!unsaved) return next;
    const isClearlyOlder = (token: StoredToken) => token.issuedAt < unsaved.token.issuedAt - CLEARLY_OLDER_MS;
    if (next?.token && !isBase(next, unsaved.onlyIf) && !isClearlyOlder(next.token)) {
      memory.unsaved = undefined;
      return next;
    }
    return { ...next, token: { ...unsaved.token, generation: (next?.base?.generation ?? 0) + 1 } };
  };

  const memory: TokenMemory = {
    get item() { return item; },
    unsaved: undefined,
    noteTimeLeft(ms) {
      longestTimeLeftMs = Math.max(longestTimeLeftMs, ms);
    },
    lackedTime(ms) {
      longestTimeLeftMs = ms;
    },
    requestStarts: () => ++requests,
    apply(next, request) {
      if (request < lastApplied) return;
      lastApplied = request;
      take(withUnsaved(next));
    },
    isNews: () => !firstSeen.isTold,
    markTold() {
      firstSeen.isTold = true;
    },
    hasToSave: () => memory.unsaved !== undefined && !memory.isAheadPaused(),
    applyUnsaved(commit) {
      memory.unsaved = commit;
      const token = { ...commit.token, generation: (item?.base?.generation ?? 0) + 1 };
      take({ ...item, token, lease: undefined, failure: failureSince(commit, item) });
    },
    pauseAhead() {
      aheadPausedUntil = host.monotonic() + aheadPause(host.random());
    },
    isAheadPaused: () => host.monotonic() < aheadPausedUntil,
    noteRefusalToAsk(error) {
      if (memory.refusalToAsk() !== error) hopeless = { error, until: host.monotonic() + aheadPause(host.random()) };
    },
    refusalToAsk: () => hopeless && host.monotonic() < hopeless.until ? hopeless.error : undefined,
    usableToken: now => isUsable(item?.token, rejection, now) ? item?.token : undefined,
    rejectedToken: () => item?.token && isRejected(item.token, rejection) ? item.token : undefined,
    reject(accessToken, now) {
      const token = item?.token;
      if (!token || !item) {
        rejection = { accessToken, issuedAt: now, at: now };
        return true;
      }
      if (token.accessToken !== accessToken || isTooYoungToReject(token, item, now, host.monotonic() - firstSeen.at)) return false;
      if (!isRejected(token, rejection)) rejection = { accessToken, issuedAt: token.issuedAt, at: now };
      return true;
    },
    earlyRejections() {
      const token = item?.token;
      const isEarly = token && rejection && isRejected(token, rejection) && rejectedEarly(token, rejection.at);
      return isEarly ? (item?.meta?.earlyRejections ?? 0) + 1 : 0;
    },
    view: () => ({
      item,
      rejection,
      leaseWatchedMs: host.monotonic() - watched.since,
      longestTimeLeftMs,
      aheadJitter: firstSeen.aheadJitter,
    }),
  };
  return memory;
}

/** Does the item hold the token that a commit was to replace? */
function isBase({ base }: TokenItem, onlyIf: Commit['onlyIf']): boolean {
  return 'base' in onlyIf && isSameBase(base, onlyIf.base);
}
