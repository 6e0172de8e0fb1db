import { type Host, TableClock } from './host';
import { TokenKeeper } from './token-keeper';
import type { TokenStore } from './token-store';

/** What a process shares among all its `SharedToken`s: tests and simulations make one per simulated process. */
export class TokenProcess {
  private readonly tables = new Map<string, { readonly clock: TableClock; readonly store: TokenStore; readonly keepers: Map<string, TokenKeeper> }>();

  constructor(readonly host: Host, private readonly createStore: (table: string, host: Host, clock: TableClock) => TokenStore) {}

  keeper(table: string, tokenId: string): TokenKeeper {
    let shared = this.tables.get(table);
    if (shared === undefined) {
      const clock = new TableClock(this.host);
      shared = { clock, store: this.createStore(table, this.host, clock), keepers: new Map() };
      this.tables.set(table, shared);
    }
    let keeper = shared.keepers.get(tokenId);
    if (keeper === undefined) {
      keeper = new TokenKeeper(tokenId, this.host, shared.clock, shared.store);
      shared.keepers.set(tokenId, keeper);
    }
    return keeper;
  }
}
