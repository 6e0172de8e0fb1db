import { tokenMender, type TokenMender } from './token-mender';
import { isStateOf, type SharedTokenState } from './token-state';
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
 * A write looks at the item first, and changes nothing but what that showed; of a state that it is given, nothing but what stands in both.
 *
 * @example
 * const crm = new SharedTokenOperator('crm', { table: 'Tokens' });
 * const state = await crm.state();
 * console.log(state.summary);
 * await crm.expire(state);
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
   * @param seen what `state` returned: only the lease in it is ended. Default: whichever there is
   * @returns false where there is no lease, or another one than the one that was seen, or where none was seen: then nothing is asked
   * @throws SharedTokenError as `state` does, INVALID_OPTION for a state that is none of this token, and ITEM_CHANGED where the item changes faster than it can be looked at
   */
  async endLease(...seen: [seen?: SharedTokenState]): Promise<boolean> {
    return this.#mender.endLease(this.#checked(seen));
  }

  /**
   * Ends the cool-down after a failure that was cured: the next who needs a token may ask the provider at once.
   *
   * @param seen what `state` returned: only the failure in it is cleared. Default: whichever there is
   * @returns false where no failure is noted, or another one than the one that was seen, or where none was seen: then nothing is asked
   * @throws SharedTokenError as `endLease` does
   */
  async clearFailure(...seen: [seen?: SharedTokenState]): Promise<boolean> {
    return this.#mender.clearFailure(this.#checked(seen));
  }

  /**
   * Has the token expire now, for one that leaked or that the provider revoked: every instance fetches a new one, or waits for it, at its next look at the table. What an
   * instance has in memory it uses until then, or until the API refuses it.
   *
   * @param seen what `state` returned: no other token is touched. Default: whichever there is
   * @returns false where there is no token, where it has expired, or where another one has taken its place
   * @throws SharedTokenError as `endLease` does
   */
  async expire(...seen: [seen?: SharedTokenState]): Promise<boolean> {
    return this.#mender.expire(this.#checked(seen));
  }

  /** Nothing at all is whichever there is; a value that is missing where one was passed (`endLease(state.lease)`) must not be. */
  #checked(given: readonly [seen?: SharedTokenState]): SharedTokenState | undefined {
    const [seen] = given;
    if (given.length === 0 || isStateOf(this.tokenId, seen)) return seen;
    throw tokenError(this.tokenId, 'INVALID_OPTION', 'what was seen of it is what `await operator.state()` of this version returned, for this very token: pass that as a whole, or nothing.');
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
