import type { RefreshAsk } from '../src/private/contract';

/** The port to the function that refreshes a token for those who only read it. It is told which token was refused, never the token. */
export interface RefresherPort {
  /** Loads what asking takes: while there is time for it. */
  prepare?(): void;
  /**
   * Asks for a refresh, and waits until it is done, or found not to be due. `ahead`: nobody needs the successor yet, so that it is handed in and not waited for.
   *
   * @throws SharedTokenError where asking again cannot help: ACCESS_DENIED, REFRESHER_FAILED
   * @throws RefresherTrouble where it may
   */
  ask(ask: RefreshAsk, how: 'now' | 'ahead', signal: AbortSignal): Promise<void>;
}

/** `failed`: it ran, and ended with an error of its own. `not asked`: it could not be reached, or has no capacity at the moment. */
export class RefresherTrouble extends Error {
  constructor(readonly how: 'failed' | 'not asked', what: string) {
    super(what);
  }
}
