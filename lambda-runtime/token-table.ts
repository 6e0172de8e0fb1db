import { SharedTokenError } from './errors';
import type { Tell } from './events';
import { type Deadline, type Host, LIMIT_REACHED, timeLeft, withLimit } from './host';
import { backOff, TABLE_CALL_LIMIT_MS } from './timing';
import type { TokenItem } from './token-item';
import type { TokenMemory } from './token-memory';
import { type Claim, type Commit, type Release, TableTrouble, type TokenStore, type WriteReply } from './token-store';

/** How long to go on after trouble. */
export interface Patience {
  readonly deadline: () => Deadline;
  /** Ends the pauses between attempts. */
  readonly stop?: AbortSignal | undefined;
  /** `throw`: throttling ends it at once, as a {@link TableTrouble}. */
  readonly throttled?: 'retry' | 'throw';
}

/** One token's item as this process sees it: each request has its limit and its patience, and every reply lands in memory. */
export class TokenTable {
  constructor(
    private readonly tokenId: string,
    private readonly host: Host,
    private readonly store: TokenStore,
    private readonly memory: TokenMemory,
  ) {}

  async read(tell: Tell, patience: Patience): Promise<void> {
    const item = await this.persist(signal => this.store.read(this.tokenId, signal), patience, (reply, request) => this.memory.apply(reply, request));
    tell('read', { generation: item?.base?.generation });
  }

  async claim(claim: Claim, patience: Patience): Promise<WriteReply> {
    return this.write(signal => this.store.claim(this.tokenId, claim, signal), patience);
  }

  async commit(commit: Commit, tell: Tell, patience: Patience): Promise<WriteReply> {
    const reply = await this.write(signal => this.store.commit(this.tokenId, commit, signal), patience);
    if (isTokenOf(reply.item, commit)) {
      this.memory.isNews(); // told by this event
      tell('committed', { generation: reply.item?.base?.generation });
    }
    return reply;
  }

  async release(release: Release, patience: Patience): Promise<WriteReply> {
    return this.write(signal => this.store.release(this.tokenId, release, signal), patience);
  }

  private async write(send: (signal: AbortSignal) => Promise<WriteReply>, patience: Patience): Promise<WriteReply> {
    return this.persist(send, patience, (reply, request) => this.memory.apply(reply.item, request));
  }

  /**
   * Sends a request, and sends it again after trouble until the deadline.
   *
   * @throws SharedTokenError TABLE_UNAVAILABLE
   */
  private async persist<T>(send: (signal: AbortSignal) => Promise<T>, patience: Patience, apply: (reply: T, request: number) => void): Promise<T> {
    for (let attempt = 0; ; attempt++) {
      const request = this.memory.requestStarts();
      try {
        const ms = Math.min(TABLE_CALL_LIMIT_MS, timeLeft(this.host, patience.deadline()));
        const reply = await withLimit({ host: this.host, ms }, send);
        if (reply === LIMIT_REACHED) throw new TableTrouble(false, new Error('No answer within the limit of one request'));
        apply(reply, request);
        return reply;
      } catch (error) {
        if (!(error instanceof TableTrouble) || (error.throttled && patience.throttled === 'throw')) throw error;
        const pause = backOff(attempt, this.host.random());
        if (patience.stop?.aborted || timeLeft(this.host, patience.deadline()) <= pause) throw this.unavailable(error);
        await this.host.sleep(pause, patience.stop);
      }
    }
  }

  private unavailable(trouble: TableTrouble): SharedTokenError {
    const what = trouble.throttled
      ? 'the table throttled every request until the deadline'
      : 'the table could not be reached until the deadline. Check the network (VPC endpoint, security group) and the region';
    return new SharedTokenError('TABLE_UNAVAILABLE', `Token "${this.tokenId}": ${what}.`, { tokenId: this.tokenId, cause: trouble });
  }
}

/** Does the item hold the very token that a commit stores? So it does when an earlier attempt was applied and only its reply was lost. */
export function isTokenOf(item: TokenItem | undefined, { token }: Commit): boolean {
  return item?.token?.accessToken === token.accessToken && item.token.issuedAt === token.issuedAt;
}
