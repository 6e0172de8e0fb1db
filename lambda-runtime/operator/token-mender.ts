import { stateOf, type Seen, type SharedTokenState } from './token-state';
import { type Host, LIMIT_REACHED, type TableClock, withLimit } from '../host';
import { SharedTokenError } from '../index';
import { backOff } from '../timing';
import { type Failure, isSameBase, parseItem } from '../token-item';
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
  endLease(): Promise<boolean>;
  clearFailure(): Promise<boolean>;
  expire(): Promise<boolean>;
}

type Write = (table: string, tokenId: string) => OperatorRequest;

export function tokenMender({ tokenId, host, clock, store }: OperatorMeans): TokenMender {
  /** What the last `state()` showed: a write is about that. */
  let shown: Seen | undefined;

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

  const look = async (): Promise<Seen> => {
    const { reply } = await send(signal => store.look(tokenId, signal));
    return { item: parseItem(tokenId, reply), expiresAt: reply?.expiresAt as number | undefined, at: Math.round(clock.now()) };
  };

  /** @returns was there anything to do? */
  const mend = async (plan: (seen: Seen) => Write | undefined): Promise<boolean> => {
    let seen = shown;
    shown = undefined;
    /** An earlier request may have been applied though its reply was lost: then nothing is left to do because it was done. */
    let mayBeDone = false;
    for (let tries = 0; tries < TRIES; tries++) {
      const isFresh = seen === undefined;
      const write = plan(seen ?? await look());
      seen = undefined;
      if (write) {
        const { reply: applied, mayBeSecond } = await send(signal => store.mend(tokenId, write, signal));
        if (applied) return true;
        mayBeDone ||= mayBeSecond;
      } else if (isFresh) {
        return mayBeDone;
      }
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
    async state() {
      shown = await look();
      return stateOf(tokenId, shown);
    },
    async endLease() {
      let id: string | undefined;
      return mend(({ item }) => {
        const { lease } = item ?? {};
        // Renewed meanwhile, it is the same one; another holder's is not.
        if (!lease || (id ?? lease.id) !== lease.id) return undefined;
        id = lease.id;
        return (...where) => endLeaseRequest(...where, lease);
      });
    },
    async clearFailure() {
      let first: Failure | undefined;
      return mend(({ item }) => {
        const { failure } = item ?? {};
        // One that was recorded since was not cured by whoever saw the first.
        if (!failure || (first ?? failure).at !== failure.at || (first ?? failure).count !== failure.count) return undefined;
        first = failure;
        return (...where) => clearFailureRequest(...where, failure);
      });
    },
    async expire() {
      let first: Seen | undefined;
      return mend(seen => {
        const base = seen.item?.base;
        if (!base) return undefined;
        first ??= seen;
        // One that was fetched since is what the operator wants.
        const isSuccessor = !isSameBase(base, first.item?.base) && base.issuedAt >= first.at;
        const now = Math.round(clock.now());
        if (isSuccessor || (seen.expiresAt !== undefined && seen.expiresAt <= now)) return undefined;
        return (...where) => expireRequest(...where, base, now);
      });
    },
  };
}
