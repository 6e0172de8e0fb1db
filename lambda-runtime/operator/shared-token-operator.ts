import { tokenMender, type TokenMender } from './token-mender';
import type { SharedTokenState } from './token-state';
import { checkTokenId, tableOf } from '../config';
import { createOperatorStore } from '../dynamodb-token-store';
import { systemHost, tableClock } from '../host';
import { tokenError } from '../token-error';

/** Options of a {@link SharedTokenOperator}. */
export interface SharedTokenOperatorOptions {
  /**
   * The name or ARN of the table.
   *
   * @default - the variable `SHARED_TOKEN_TABLE`
   */
  readonly table?: string | undefined;
}

/**
 * Looks at one shared token and mends it: for people and tools on call. It never sees the token. What it needs is `table.grantOperate`.
 *
 * A write is about what the last `state()` showed, or about what it looks up itself: it changes nothing that was not seen. Where the item has changed since, it is looked at again.
 *
 * @example
 * const crm = new SharedTokenOperator('crm', { table: 'Tokens' });
 * console.log((await crm.state()).summary);
 * await crm.expire();
 */
export class SharedTokenOperator {
  readonly #mender: TokenMender;

  /**
   * @param tokenId names the token: 1 to 2,048 bytes of UTF-8
   * @throws SharedTokenError INVALID_TOKEN_ID, INVALID_OPTION, or TABLE_NOT_CONFIGURED where no table is known
   */
  constructor(readonly tokenId: string, options: SharedTokenOperatorOptions = {}) {
    checkTokenId(tokenId);
    const clock = tableClock(systemHost);
    this.#mender = tokenMender({ tokenId, host: systemHost, clock, store: createOperatorStore(tableIn(tokenId, options), systemHost, clock) });
  }

  /**
   * How the token fares: which generation it is and when it ends, who is refreshing it, what went wrong.
   *
   * @throws SharedTokenError TABLE_UNAVAILABLE within half a minute, or one that says what to mend: ACCESS_DENIED, TABLE_NOT_FOUND, TABLE_REQUEST_REFUSED, INVALID_ITEM
   */
  async state(): Promise<SharedTokenState> {
    return this.#mender.state();
  }

  /**
   * Ends the lease of a holder that hangs or is dead, so that somebody else refreshes at once. A lease that is over needs no end: it is taken over.
   *
   * Not while its holder may live: it may be asking the provider, and a second request then goes out beside its own. Where refresh tokens rotate, a provider may take that for
   * theft and revoke them all.
   *
   * @returns false where there is no lease, or another one than the one that was seen
   * @throws SharedTokenError as `state` does, and ITEM_CHANGED where the item changes faster than it can be looked at
   */
  async endLease(): Promise<boolean> {
    return this.#mender.endLease();
  }

  /**
   * Ends the cool-down after a failure that was cured: the next who needs a token may ask the provider at once.
   *
   * @returns false where no failure is noted, or another one than the one that was seen
   * @throws SharedTokenError as `state` does, and ITEM_CHANGED where the item changes faster than it can be looked at
   */
  async clearFailure(): Promise<boolean> {
    return this.#mender.clearFailure();
  }

  /**
   * Has the token expire now, for one that leaked or that the provider revoked: every instance fetches a new one, or waits for it, at its next look at the table. What an
   * instance has in memory it uses until then, or until the API refuses it.
   *
   * @returns false where there is no token, where it has expired, or where a new one was fetched since it was seen
   * @throws SharedTokenError as `state` does, and ITEM_CHANGED where the item changes faster than it can be looked at
   */
  async expire(): Promise<boolean> {
    return this.#mender.expire();
  }
}

function tableIn(tokenId: string, options: SharedTokenOperatorOptions): string {
  const invalid = (what: string) => tokenError(tokenId, 'INVALID_OPTION', what);
  if (typeof options !== 'object' || options === null) throw invalid('the options are not an object.');
  const unknown = Object.keys(options).find(name => name !== 'table');
  if (unknown !== undefined) throw invalid(`there is no option "${unknown}". Known: table.`);
  const { table } = options;
  if (table !== undefined && (typeof table !== 'string' || table === '')) throw invalid('the option "table" must be the name or ARN of a table.');
  return tableOf(tokenId, { table });
}
