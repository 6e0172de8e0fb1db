import { stateOf, type SharedTokenState } from './token-state';
import { type Host, LIMIT_REACHED, type TableClock, withLimit } from '../host';
import { SharedTokenError } from '../index';
import { backOff } from '../timing';
import { type Base, isSameBase, parseItem } from '../token-item';
import type { OperatorStore } from './operator-store';
import { clearFailureRequest, endLeaseRequest, expireRequest, type OperatorRequest } from '../dynamodb-requests';
import { tokenError } from '../token-error';
import { TableTrouble } from '../token-store';

/** Whose credentials have to be found first, over the network maybe, gets more time than an instance in Lambda. */
const REQUEST_LIMIT_MS = 5_000;
const ATTEMPTS = 4;
/** Of writes that found the item changed since the look before. */
const TRIES = 5;

/** What an operator needs of the world. */
export interface OperatorMeans {
  readonly tokenId: string;
  readonly host: Host;
  readonly clock: TableClock;
  readonly store: OperatorStore;
}

/** Looks at one token's item, and mends it: each write says what was seen, and where that has changed it is looked at again. */
export interface TokenMender {
  state(): Promise<SharedTokenState>;
  endLease(seen: SharedTokenState | undefined): Promise<boolean>;
  clearFailure(seen: SharedTokenState | undefined): Promise<boolean>;
  expire(seen: SharedTokenState | undefined): Promise<boolean>;
}

type Write = (table: string, tokenId: string) => OperatorRequest;

export function tokenMender({ tokenId, host, clock, store }: OperatorMeans): TokenMender {
  const send = async <T>(request: (signal: AbortSignal) => Promise<T>): Promise<{ readonly reply: T; readonly mayBeSecond: boolean }> => {
    let mayBeSecond = false;
    for (let attempts = 1; ; attempts++) {
      try {
        const reply = await withLimit({ host, ms: REQUEST_LIMIT_MS }, request);
        if (reply === LIMIT_REACHED) throw new TableTrouble(false, new Error('No answer within the limit of one request'));
        // A reply that was too slow to tell the time: the next one, over a connection that is there, tells it.
        if (!clock.isUnsure() || attempts === ATTEMPTS) return { reply, mayBeSecond };
        mayBeSecond = true;
      } catch (error) {
        if (!(error instanceof TableTrouble)) throw forOperators(error);
        if (attempts === ATTEMPTS) {
          throw tokenError(tokenId, 'TABLE_UNAVAILABLE', error.throttled
            ? 'the table throttled every request.'
            : 'the table could not be reached. Check the network and the region.', { cause: error });
        }
        mayBeSecond ||= !error.throttled;
        await host.sleep(backOff(attempts, host.random()));
      }
    }
  };

  const look = async (): Promise<SharedTokenState> => {
    const { reply } = await send(signal => store.look(tokenId, signal));
    return stateOf(tokenId, { item: parseItem(tokenId, reply), expiresAt: reply?.expiresAt as number | undefined, at: Math.round(clock.now()) });
  };

  /** @returns was there anything to do? */
  const mend = async (plan: (state: SharedTokenState) => Write | undefined): Promise<boolean> => {
    /** An earlier request may have been applied though its reply was lost: then nothing is left to do because it was done. */
    let mayBeDone = false;
    for (let tries = 0; tries < TRIES; tries++) {
      const write = plan(await look()); // which also tells the table's time
      if (!write) return mayBeDone;
      const { reply: applied, mayBeSecond } = await send(signal => store.mend(tokenId, write, signal));
      if (applied) return true;
      mayBeDone ||= mayBeSecond;
    }
    throw tokenError(tokenId, 'ITEM_CHANGED', `the item was changed between each look and the write after it, ${TRIES} times. Look at it, and try again.`);
  };

  const forOperators = (error: unknown): unknown => {
    const isPolicys = error instanceof SharedTokenError && error.code === 'ACCESS_DENIED' && (error.cause as Error | undefined)?.name === 'AccessDeniedException';
    if (!isPolicys) return error;
    return tokenError(tokenId, error.code, 'the table refuses these AWS credentials: grant them this token id and the table\'s key (`tokens.grantOperate(role, tokenId)`).', {
      cause: error.original(),
    });
  };

  return {
    state: look,
    async endLease(seen) {
      let first = seen?.lease;
      if (seen && !first) return false;
      return mend(({ lease }) => {
        // Renewed meanwhile, it is the same one; another holder's is not.
        if (!lease || (first ??= lease).id !== lease.id) return undefined;
        return (...where) => endLeaseRequest(...where, lease);
      });
    },
    async clearFailure(seen) {
      let first = seen?.failure;
      if (seen && !first) return false;
      return mend(({ failure }) => {
        // One that was recorded since was not cured by whoever saw the first.
        if (!failure || (first ??= failure).at !== failure.at || first.count !== failure.count) return undefined;
        return (...where) => clearFailureRequest(...where, failure);
      });
    },
    async expire(seen) {
      let first = seen;
      return mend(state => {
        const base = baseOf(state);
        if (!base) return undefined;
        first ??= state;
        // Another one is not what was seen; where nothing was, one that was fetched since the first look is what the operator wants.
        const isOther = !isSameBase(base, baseOf(first)) && (seen !== undefined || base.issuedAt >= first.at);
        const now = Math.round(clock.now());
        if (isOther || (state.expiresAt !== undefined && state.expiresAt <= now)) return undefined;
        return (...where) => expireRequest(...where, base, now);
      });
    },
  };
}

function baseOf({ generation, issuedAt }: SharedTokenState): Base {
  return generation === undefined || issuedAt === undefined ? undefined : { generation, issuedAt };
}
