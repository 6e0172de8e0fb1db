import { ENV, type RefresherEvent, SCHEDULE_ALIAS } from '../../src/private/contract';
import { type InvocationContext, RefreshError, SharedToken, SharedTokenError, type SharedTokenOptions } from '../index';

/** Options of a refresher: those of a `SharedToken`, whose `refresh` is needed. */
export interface RefresherOptions extends Omit<SharedTokenOptions, 'refresher'> {
  readonly refresh: NonNullable<SharedTokenOptions['refresh']>;
  /**
   * The token that it refreshes, and no other.
   *
   * @default - the variable `SHARED_TOKEN_ID`, which a stack's `TokenSource.fromFunction` sets
   */
  readonly tokenId?: string | undefined;
}

/** What a refresher answers. Never the token: who asked finds it in the table. */
export interface RefresherAnswer {
  /** Was a new token fetched? Else none was due, or another invocation is about to fetch it. */
  readonly refreshed: boolean;
}

/** The part of a Lambda context that is used. */
export interface RefresherContext extends InvocationContext {
  /** Tells the schedule, which invokes an alias of its own, from all others. */
  readonly invokedFunctionArn?: string | undefined;
}

/** A Lambda handler. */
export type RefresherHandler = (event: unknown, context?: RefresherContext) => Promise<RefresherAnswer>;

/**
 * Makes a Lambda function the refresher of one token: invoked by a schedule, by readers whose token was refused, and at deployment. However often and by
 * however many it is invoked, it asks the provider only when a refresh is due, and one invocation at a time.
 *
 * A token that works is replaced only for the schedule, which invokes the alias `scheduled`; who may invoke the function without a qualifier can have replaced
 * what is due, and no more.
 *
 * It throws a `SharedTokenError` where a refresh failed, so that the function's failure destination gets the event; its message holds no token and no credential,
 * and it has no cause. A reader that asks during a cool-down is no failure: it finds the cool-down in the table. Nor is an event for another token, or one that makes
 * no sense: then nothing is due.
 *
 * @example
 * export const handler = refresherHandler({ refresh: async ({ signal }) => { ... return { accessToken, expiresIn }; } });
 *
 * @throws SharedTokenError INVALID_TOKEN_ID or INVALID_OPTION
 */
export function refresherHandler({ tokenId = process.env[ENV.TOKEN_ID] ?? '', refresh, ...options }: RefresherOptions): RefresherHandler {
  if (typeof refresh !== 'function') throw new SharedTokenError('INVALID_OPTION', 'A refresher needs the option "refresh", a function.');
  if (!tokenId) {
    throw new SharedTokenError('INVALID_TOKEN_ID', `A refresher is told its token by the variable ${ENV.TOKEN_ID}, which addRefresher sets, or by the option "tokenId".`);
  }
  let fetched = 0;
  /** Of the last refresh that failed here: a cool-down alone does not say what to mend. */
  let remedy = '';
  const token = new SharedToken(tokenId, {
    ...options,
    refresh: async request => {
      const answer = await refresh(request);
      fetched++;
      return answer;
    },
  });

  /** Was a new token fetched? */
  const doWhatIsAsked = async (event: RefresherEvent, context: RefresherContext | undefined): Promise<boolean> => {
    if (isScheduled(context)) return token.refresh({ since: event.since, context });
    if (event.asked !== undefined) return token.refresh({ asked: event.asked, context });
    // At deployment a token of another source is due; and one that nobody has yet is waited for, whoever fetches it.
    if (await token.refresh({ since: LONG_AGO, context })) return true;
    const before = fetched;
    await token.get({ context });
    return fetched > before;
  };

  return async (event, context) => {
    const fields = fieldsOf(event);
    if (fields.tokenId !== undefined && fields.tokenId !== tokenId) return { refreshed: false };
    try {
      return { refreshed: await doWhatIsAsked(fields, context) };
    } catch (error) {
      if (!(error instanceof SharedTokenError)) throw error;
      // Readers find a cool-down in the table; and what makes no sense is nobody's failure but theirs.
      const isReaders = fields.asked !== undefined && !isScheduled(context);
      if (isReaders && ['COOLING_DOWN', 'INVALID_OPTION'].includes(error.code)) return { refreshed: false };
      if (error.code !== 'COOLING_DOWN') remedy = remedyIn(error);
      throw withoutCause(error, remedy);
    }
  };
}

/** Before any token was issued. */
const LONG_AGO = new Date('2000-01-01');

/** An event may be anything: at deployment there is none at all. */
function fieldsOf(event: unknown): RefresherEvent {
  return (typeof event === 'object' && event !== null ? event : {}) as RefresherEvent;
}

function isScheduled({ invokedFunctionArn = '' }: Partial<RefresherContext> = {}): boolean {
  // A function may have the name of the alias.
  return invokedFunctionArn.split(':')[7] === SCHEDULE_ALIAS;
}

/** What our own sources say is made to be read. */
function remedyIn(error: SharedTokenError): string {
  const thrown = error.original();
  return thrown instanceof RefreshError ? ` ${thrown.message}` : '';
}

/** Lambda logs an error with all that hangs on it, and what `refresh` threw may hold a request. */
function withoutCause({ code, message, tokenId, retryAt }: SharedTokenError, remedy: string): SharedTokenError {
  return new SharedTokenError(code, message.replace(': see the cause.', '.') + remedy, { tokenId, retryAt });
}
