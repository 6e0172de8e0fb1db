import type { SharedTokenError } from './errors';
import type { Tell } from './events';
import { type Deadline, type Host, LIMIT_REACHED, type TableClock, withLimit } from './host';
import { failureSince } from './lease-writes';
import { backOff, CLOCK_JUMP_MS, isTablesFault, stoodStill, TABLE_CALL_LIMIT_MS } from './timing';
import { tokenError } from './token-error';
import type { TokenItem } from './token-item';
import type { TokenMemory } from './token-memory';
import { type Claim, type Commit, type Release, type Renewal, TableTrouble, type TokenStore, type WriteReply } from './token-store';

/** For whom a request is made: how long to go on after trouble, and whom to tell. */
export interface Requester {
  readonly timeLeft: Deadline;
  readonly tell: Tell;
  /** Ends the pauses between attempts. */
  readonly stop?: AbortSignal | undefined;
  /** `throw`: throttling ends it at once, as a {@link TableTrouble}. */
  readonly throttled?: 'throw';
}

interface TableMeans {
  readonly tokenId: string;
  readonly host: Host;
  readonly clock: TableClock;
  readonly store: TokenStore;
  readonly memory: TokenMemory;
}

/**
 * One token's item as this process sees it: each request has its limit, is sent again after trouble until the deadline, and every reply lands in memory.
 *
 * Each throws SharedTokenError: TABLE_UNAVAILABLE where that was not enough, at once what trying again cannot cure (ACCESS_DENIED, TABLE_NOT_FOUND,
 * TABLE_REQUEST_REFUSED, INVALID_ITEM); and {@link TableTrouble} where the requester wants throttling thrown.
 */
export interface TokenTable {
  read(by: Requester): Promise<void>;
  claim(claim: Claim, by: Requester): Promise<WriteReply>;
  commit(commit: Commit, by: Requester): Promise<WriteReply>;
  renew(renewal: Renewal, by: Requester): Promise<WriteReply>;
  release(release: Release, by: Requester): Promise<WriteReply>;
  /** The error for a caller whose time ended while the table did not answer; nothing where the table is not to blame for that. */
  trouble(): SharedTokenError | undefined;
  /** Was it thrown where the deadline came in the middle of a request, and the table is not to blame? */
  wasCutShort(error: unknown): error is SharedTokenError;
}

export function tokenTable({ tokenId, host, clock, store, memory }: TableMeans): TokenTable {
  let lastTrouble: TableTrouble | undefined;
  const cutShort = new WeakSet<object>();
  /** What requests were given without an answer, since the last one. */
  let unansweredMs = 0;

  const attempt = async (send: (signal: AbortSignal) => Promise<WriteReply>, ms: number): Promise<WriteReply> => {
    const request = memory.requestStarts();
    const [wall, monotonic] = [host.now(), host.monotonic()];
    const reply = await withLimit({ host, ms }, send);
    if (reply === LIMIT_REACHED) throw new TableTrouble(false, new Error('No answer within the limit of one request'), store.waitsFor?.());
    // After a freeze, by a clock that jumped, or while the table's time is not known, nothing can be decided from it: it counts as lost, and the next answer
    // tells the time.
    const [took, tookByMonotonic] = [host.now() - wall, host.monotonic() - monotonic];
    const isLost = Math.max(took, tookByMonotonic) > ms + CLOCK_JUMP_MS || Math.abs(took - tookByMonotonic) > CLOCK_JUMP_MS || clock.isUnsure();
    if (isLost) throw new TableTrouble(false, new Error('A freeze, a clock that jumped, or a reply too slow to tell the time'));
    lastTrouble = undefined;
    unansweredMs = 0;
    memory.apply(reply.item, request);
    return reply;
  };

  const persist = async (send: (signal: AbortSignal) => Promise<WriteReply>, { timeLeft, stop, throttled }: Requester): Promise<WriteReply> => {
    let isInDoubt = false;
    lastTrouble = undefined;
    for (let attempts = 0; ; attempts++) {
      // A table that is slow rather than gone gets more time with each attempt.
      const ms = Math.min(TABLE_CALL_LIMIT_MS * 2 ** attempts, timeLeft());
      try {
        return await attempt(send, ms);
      } catch (error) {
        if (!(error instanceof TableTrouble)) throw error;
        const left = timeLeft();
        if (!stoodStill(left)) unansweredMs += ms;
        if (isTablesFault(left, unansweredMs)) lastTrouble = error;
        // An earlier attempt may have been applied: then only sending again tells.
        if (error.throttled && throttled && !isInDoubt) throw error;
        isInDoubt ||= !error.throttled;
        const pause = backOff(attempts, host.random());
        if (left <= pause) throw givenUp(error);
        await host.sleep(pause, stop);
        if (stop?.aborted) throw givenUp(error);
      }
    }
  };

  const givenUp = (trouble: TableTrouble): SharedTokenError => {
    const error = unavailable(trouble);
    if (!lastTrouble) cutShort.add(error);
    return error;
  };

  const unavailable = (cause: TableTrouble) => tokenError(tokenId, 'TABLE_UNAVAILABLE', cause.where === 'key'
    ? 'the key that encrypts the tokens could not be used until the deadline. Check the network (VPC endpoint of KMS, security group), and whether KMS throttles.'
    : cause.throttled ? 'the table throttled every request until the deadline.'
      : 'the table could not be reached until the deadline. Check the network (VPC endpoint, security group) and the region.', { cause });

  return {
    async read(by) {
      const { item } = await persist(async signal => ({ applied: true, item: await store.read(tokenId, signal) }), by);
      by.tell('read', { generation: item?.base?.generation });
    },
    claim: (claim, by) => persist(signal => store.claim(tokenId, claim, signal), by),
    async commit(commit, by) {
      const keepsFailure = 'base' in commit.onlyIf && failureSince(commit, memory.item) !== undefined;
      const reply = await persist(signal => store.commit(tokenId, { ...commit, keepsFailure }, signal), by);
      if (isTokenOf(reply.item, commit)) {
        memory.markTold();
        by.tell('committed', { generation: reply.item?.base?.generation });
      }
      // Stored; or refused even though late, so something newer is.
      const isSettled = reply.applied || isTokenOf(reply.item, commit) || 'base' in commit.onlyIf;
      if (isSettled && memory.unsaved?.token === commit.token) memory.unsaved = undefined;
      return reply;
    },
    renew: (renewal, by) => persist(signal => store.renew(tokenId, renewal, signal), by),
    release: (release, by) => persist(signal => store.release(tokenId, release, signal), by),
    trouble: () => lastTrouble && unavailable(lastTrouble),
    wasCutShort: (error): error is SharedTokenError => cutShort.has(Object(error) as object),
  };
}

/** Does the item hold the very token that a commit stores? So it does when an earlier attempt was applied and only its reply was lost. */
export function isTokenOf(item: TokenItem | undefined, { token }: Commit): boolean {
  return item?.token?.accessToken === token.accessToken && item.token.issuedAt === token.issuedAt;
}
