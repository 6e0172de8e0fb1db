import { type Host, tableClock, type TableClock } from './host';
import type { RefresherPort } from './refresher-port';
import { tokenKeeper, type TokenKeeper } from './token-keeper';
import type { TokenStore } from './token-store';

/** What a process shares among all its `SharedToken`s: tests and simulations make one per simulated process. */
export class TokenProcess {
  /** The one keeper of a token in a table. */
  readonly keeper: (table: string, tokenId: string) => TokenKeeper;

  constructor(
    readonly host: Host,
    createStore: (table: string, host: Host, clock: TableClock) => TokenStore,
    /** Absent: refreshers are not asked. */
    readonly createRefresher?: (tokenId: string, functionName: string) => RefresherPort,
  ) {
    const tableOf = once((table: string) => {
      const clock = tableClock(host);
      const shared = { clock, store: createStore(table, host, clock) };
      return once((tokenId: string) => tokenKeeper(tokenId, host, shared));
    });
    this.keeper = (table, tokenId) => tableOf(table)(tokenId);
  }
}

/** Makes a thing for each key when it is first asked for, and gives the same one ever after. */
function once<T>(make: (key: string) => T): (key: string) => T {
  const made = new Map<string, T>();
  return key => {
    if (!made.has(key)) made.set(key, make(key));
    return made.get(key) as T;
  };
}
