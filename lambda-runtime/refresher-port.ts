import type { RefreshAsk } from '../src/private/contract';

/** The port to the function that refreshes a token for those who only read it. It is told which token was refused, never the token. */
export interface RefresherPort {
  /**
   * Asks for a refresh, and waits until it is done, or found not to be due. `ahead`: nobody needs the successor yet, so that it is handed in and not waited for.
   *
   * @throws SharedTokenError where asking again cannot help: ACCESS_DENIED, REFRESHER_FAILED
   * @throws RefresherTrouble where it may
   */
  ask(ask: RefreshAsk, how: 'now' | 'ahead', signal: AbortSignal): Promise<void>;
}

/** The refresher could not be reached, has no capacity at the moment, or failed. */
export class RefresherTrouble extends Error {
  constructor(
    /** Did it run, and end with an error of its own? Else it was not asked at all, as far as is known. */
    readonly hasFailed: boolean,
    what: string,
  ) {
    super(what);
  }
}
