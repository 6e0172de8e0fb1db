import { decide, isUsable } from './decide';
import { SharedTokenError } from './errors';
import { type Host, type TableClock, timeLeft } from './host';
import { abortedError, type Caller, type FlightMeans, RefreshFlight, situationOf } from './refresh-flight';
import type { StoredToken } from './token-item';
import { TokenMemory } from './token-memory';
import type { TokenStore } from './token-store';
import { TokenTable } from './token-table';

/** Keeps one token of one table for one process: what is in memory is used without I/O; else all callers share one flight. */
export class TokenKeeper {
  private readonly memory: TokenMemory;
  private readonly means: FlightMeans;
  private flight: RefreshFlight | undefined;

  constructor(private readonly tokenId: string, host: Host, clock: TableClock, store: TokenStore) {
    this.memory = new TokenMemory(host);
    this.means = { tokenId, host, clock, memory: this.memory, table: new TokenTable(tokenId, host, store, this.memory) };
  }

  /**
   * A usable token.
   *
   * @throws SharedTokenError at the caller's deadline at the latest
   */
  async get(caller: Caller): Promise<StoredToken> {
    if (caller.signal?.aborted) throw abortedError(this.tokenId, caller.signal);
    const timeLeftMs = timeLeft(this.means.host, caller.deadline);
    this.memory.longestTimeLeftMs = Math.max(this.memory.longestTimeLeftMs, timeLeftMs);
    const decision = decide(situationOf(this.means, {
      fresh: false, looks: 0, triedAhead: false, lookingMs: 0, timeLeftMs, mayRefresh: caller.refresh !== undefined,
    }));
    if (decision.action !== 'use') return this.openFlight(caller).board(caller);

    const somethingToDo = decision.ahead !== 'no' || this.memory.unsaved !== undefined;
    if (!somethingToDo || this.flight?.isOpen()) return decision.token;
    return this.lookAhead(caller);
  }

  /** Notes that the API refused this exact token. See {@link TokenMemory.reject}. */
  reject(accessToken: string): boolean {
    return this.memory.reject(accessToken, this.means.clock.now());
  }

  generation(): number | undefined {
    return this.memory.item?.token?.generation;
  }

  private openFlight(caller: Caller): RefreshFlight {
    if (!this.flight?.isOpen()) this.flight = new RefreshFlight(this.means, caller);
    return this.flight;
  }

  /** The one caller that looks after the successor of a token which still works: no failure of that takes the token away. */
  private async lookAhead(caller: Caller): Promise<StoredToken> {
    try {
      return await this.openFlight(caller).board(caller);
    } catch (error) {
      const token = this.memory.item?.token;
      if (error instanceof SharedTokenError && error.code !== 'ABORTED' && isUsable(token, this.memory.rejection, this.means.clock.now())) return token;
      throw error;
    }
  }
}
