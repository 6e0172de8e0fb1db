import { type AskingView, decide } from './decide';
import type { Tell } from './events';
import { forcedRefresh, type Occasion } from './forced-refresh';
import type { Host, TableClock } from './host';
import { abortedError } from './no-token';
import { type Caller, refreshFlight, type RefreshFlight, situationOf } from './refresh-flight';
import type { StoredToken } from './token-item';
import { tokenMemory, type TokenMemory } from './token-memory';
import type { TokenStore } from './token-store';
import { tokenTable, type TokenTable } from './token-table';

/** What belongs to one token of one table in one process. */
export interface TokenMeans {
  readonly tokenId: string;
  readonly host: Host;
  readonly clock: TableClock;
  readonly table: TokenTable;
  readonly memory: TokenMemory;
}

/** Keeps one token of one table for one process: what is in memory is used without I/O; else all callers share one flight. */
export interface TokenKeeper {
  /**
   * A usable token.
   *
   * @throws SharedTokenError at the caller's deadline at the latest
   */
  get(caller: Caller): Promise<StoredToken>;
  /**
   * A new token, whether the present one works or not.
   *
   * @returns false where that is not needed: one was issued since, or is being fetched
   * @throws SharedTokenError at the caller's deadline at the latest
   */
  refresh(caller: Caller, occasion: Occasion): Promise<boolean>;
  /** Notes that the API refused this exact token; tells so where that is believed, or where only the token's age speaks against it. */
  reject(accessToken: string, tell: Tell): void;
}

/** No flight is under way, so nobody was asked. */
const NOT_ASKING: AskingView = { looks: 0, isUnderWay: false, attempts: 0 };

export function tokenKeeper(tokenId: string, host: Host, { clock, store }: { readonly clock: TableClock; readonly store: TokenStore }): TokenKeeper {
  const memory = tokenMemory(host);
  const means: TokenMeans = { tokenId, host, clock, memory, table: tokenTable({ tokenId, host, clock, store, memory }) };
  let flight: RefreshFlight | undefined;

  const fly = async (caller: Caller): Promise<StoredToken> => {
    if (!flight?.isOpen()) flight = refreshFlight(means, caller);
    return flight.board(caller);
  };

  const reject: TokenKeeper['reject'] = (accessToken, tell) => {
    const isBelieved = memory.reject(accessToken, clock.now());
    const { token } = memory.item ?? {};
    if (isBelieved || token?.accessToken === accessToken) tell('rejected', { generation: token?.generation, code: isBelieved ? undefined : 'TOO_YOUNG' });
  };

  return {
    async get(caller) {
      if (caller.signal?.aborted) throw abortedError(tokenId, caller.signal);
      const timeLeftMs = caller.timeLeft();
      const decision = decide(situationOf(means, {
        fresh: false,
        looks: 0,
        aheadBlocked: false,
        doubted: caller.doubted,
        lookingMs: 0,
        timeLeftMs,
        mayRefresh: caller.refresh !== undefined,
        asking: caller.refresher && NOT_ASKING,
      }));
      const isSettled = decision.action === 'use' && decision.ahead === 'no' && !memory.hasToSave();
      if (isSettled || (decision.action === 'use' && flight?.isOpen())) return decision.token;
      try {
        return await fly(caller);
      } catch (error) {
        // No failure to find a successor takes away a token that still works.
        const token = memory.usableToken(clock.now());
        if (token && !caller.signal?.aborted) return token;
        throw error;
      }
    },
    async refresh(caller, occasion) {
      if (caller.signal?.aborted) throw abortedError(tokenId, caller.signal);
      return forcedRefresh({ ...means, reject }, caller, occasion);
    },
    reject,
  };
}
