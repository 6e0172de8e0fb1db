import {
  callLimitMs, checkCall, checkCallOptions, checkTokenId, checkTokenOptions, holderName, refresherOf, sinceOf, tableOf,
} from './config';
import { type Tell, teller } from './events';
import { deadlineIn, type Host } from './host';
import type { CallOptions, ForcedRefreshOptions, SharedTokenOptions, UseOptions } from './public-types';
import type { Caller } from './refresh-flight';
import type { RefresherPort } from './refresher-port';
import { isUnauthorized, type Outcome } from './rejection';
import { YOUNG_TOKEN_PAUSE_MS } from './timing';
import type { TokenKeeper } from './token-keeper';
import type { TokenProcess } from './token-process';

/**
 * The face of one token, for the process it is given.
 *
 * Its fields are private to the language, not only to the compiler: whoever logs or inspects it sees no token.
 */
export class TokenClient {
  readonly #host: Host;
  readonly #tell: Tell;
  readonly #keeper: () => TokenKeeper;
  readonly #caller: (call: CallOptions) => Caller;

  /** @internal */
  protected constructor(process: TokenProcess, readonly tokenId: string, options: SharedTokenOptions) {
    checkTokenId(tokenId);
    checkTokenOptions(tokenId, options);
    const { refresh, source, authLimitMs, onEvent } = options;
    const { host } = process;
    const tell = teller(host, tokenId, onEvent);
    /** Looked up once, by the first call: not to be had is an answer, too. */
    let known: { readonly refresher: RefresherPort | undefined } | undefined;
    const refresherPort = (): RefresherPort | undefined => {
      const name = refresherOf(tokenId, options);
      return name === undefined ? undefined : process.createRefresher?.(tokenId, name);
    };
    this.#host = host;
    this.#tell = tell;
    this.#keeper = () => process.keeper(tableOf(tokenId, options), tokenId);
    this.#caller = call => {
      checkCallOptions(tokenId, call);
      known ??= { refresher: refresherPort() };
      const { refresher } = known;
      const timeLeft = deadlineIn(host, callLimitMs(call));
      return { timeLeft, signal: call.signal, refresh, refresher, source, authLimitMs, holder: holderName(call), tell };
    };
    // A client of the table takes some milliseconds to make: better while a function is loaded than within its first call.
    try {
      this.#keeper();
    } catch {
      // Said by the first call, if there is one: the table is not known yet, or a test has replaced the SDK.
    }
  }

  /**
   * A usable token. While one is in memory this does no I/O.
   *
   * @throws SharedTokenError by the call's deadline at the latest: COOLING_DOWN, REFRESH_FAILED, REFRESH_TIMED_OUT, NO_USABLE_TOKEN,
   * REFRESHER_FAILED, DEADLINE_EXCEEDED, ABORTED, or one that says what to mend
   */
  async get(options: CallOptions = {}): Promise<string> {
    return this.#acquire(this.#caller(options));
  }

  /**
   * Calls the API with a token; if the API refuses it, gets a newer one and calls once more. A second refusal is returned or thrown as it came.
   *
   * A token that was issued seconds ago is not given up for one refusal: it is tried once more after a short pause.
   *
   * @throws SharedTokenError where no usable token can be had; and whatever `call` throws
   */
  async use<T>(call: (token: string) => Promise<T> | T, options: UseOptions<T> = {}): Promise<T> {
    const caller = this.#caller(options);
    checkCall(this.tokenId, call);
    const { isRejection = isUnauthorized } = options;
    const first = await this.#acquire(caller);
    const outcome = await settle(call, first);
    if (!isRejection(outcome)) return unwrap(outcome);

    this.reject(first);
    const second = await this.#successorOf(first, caller);
    const again = await settle(call, second);
    if (isRejection(again)) this.reject(second);
    return unwrap(again);
  }

  /**
   * Fetches a new token though the present one may still work: for a schedule, or after the credentials were changed.
   *
   * Nothing is asked of the provider where a token was issued since the event, or while another instance refreshes. A failure does not take away the
   * present token, nor keep anybody from a refresh that is needed.
   *
   * @returns was a new token fetched?
   * @throws SharedTokenError by the call's deadline at the latest: COOLING_DOWN, REFRESH_FAILED, REFRESH_TIMED_OUT, DEADLINE_EXCEEDED, TABLE_UNAVAILABLE,
   * ABORTED, INVALID_OPTION where this function only reads, or one that says what to mend
   */
  async refresh(options: ForcedRefreshOptions = {}): Promise<boolean> {
    const caller = this.#caller(options);
    return this.#keeper().refresh(caller, { since: sinceOf(options.since), asked: options.asked });
  }

  /**
   * Says that the API refused this exact token: the next `get` brings another. A refusal of a token that was replaced meanwhile changes nothing, nor does
   * that of one issued a moment ago (5 s; more where the API keeps refusing new tokens).
   *
   * @throws SharedTokenError TABLE_NOT_CONFIGURED
   */
  reject(token: string): void {
    this.#keeper().reject(token, this.#tell);
  }

  /** Another token; or the same one after a pause, where it is too young to be given up. */
  async #successorOf(first: string, caller: Caller): Promise<string> {
    const second = await this.#acquire(caller);
    if (second !== first) return second;
    await this.#host.sleep(Math.min(YOUNG_TOKEN_PAUSE_MS, Math.max(0, caller.timeLeft())), caller.signal);
    return this.#acquire({ ...caller, doubted: first });
  }

  async #acquire(caller: Caller): Promise<string> {
    return (await this.#keeper().get(caller)).accessToken;
  }
}

async function settle<T>(call: (token: string) => Promise<T> | T, token: string): Promise<Outcome<T>> {
  try {
    return { value: await call(token) };
  } catch (error) {
    return { error };
  }
}

function unwrap<T>(outcome: Outcome<T>): T {
  if ('error' in outcome) throw outcome.error;
  return outcome.value;
}
