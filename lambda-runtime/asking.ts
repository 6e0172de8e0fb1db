import type { AskingView } from './decide';
import { SharedTokenError } from './errors';
import type { Tell } from './events';
import { fingerprintOf } from './fingerprint';
import { LIMIT_REACHED, withLimit } from './host';
import { type RefresherPort, RefresherTrouble } from './refresher-port';
import { ASK_LIMIT_MS, SAVE_LIMIT_MS } from './timing';
import { tokenError } from './token-error';
import type { TokenMeans } from './token-keeper';
import type { RefreshAsk } from '../src/private/contract';

/** So often a refresher is asked in vain; what would keep it from helping is nothing that more invocations cure. */
const MOST_ASKS_IN_VAIN = 3;

/** A reader's requests to its refresher, in one flight. */
export interface Asking {
  view(): AskingView;
  /** The item was looked at. */
  looked(): void;
  /** A wait begins, after which it may ask. */
  prepare(): void;
  /** A lease or a cool-down is seen: somebody refreshes, or has tried. */
  seesNews(): void;
  /**
   * Asks, and does not wait for the answer: the item tells more, and sooner.
   *
   * @throws SharedTokenError where asking again cannot help
   */
  start(): void;
  /** Hands in that a successor will be needed soon. Never fails. */
  ahead(): Promise<void>;
  /** Aborted when an answer comes: then it is time to look. */
  answered(): AbortSignal | undefined;
  /** What came of it, in words; nothing where the refresher was not asked. */
  outcome(): string | undefined;
}

export function asking({ tokenId, host, memory }: TokenMeans, port: RefresherPort, tell: Tell, stop: AbortSignal): Asking {
  let looks = 0;
  let attempts = 0;
  let inVain = 0;
  let underWay: AbortController | undefined;
  let trouble: RefresherTrouble | undefined;
  let refusal = memory.refusalToAsk();

  const send = async (asked: RefreshAsk, how: 'now' | 'ahead', ms: number): Promise<void> => {
    tell('asked', { generation: asked.generation });
    try {
      const answer = await withLimit({ host, ms, signal: stop }, signal => port.ask(asked, how, signal));
      if (answer === LIMIT_REACHED) throw new RefresherTrouble('not asked', 'no answer in time');
    } catch (error) {
      if (!stop.aborted) tell('asked', { generation: asked.generation, code: error instanceof SharedTokenError ? error.code : 'REFRESHER_FAILED' });
      throw error;
    }
  };

  return {
    view: () => ({ looks, isUnderWay: underWay !== undefined, attempts, isHopeless: refusal !== undefined }),
    looked() {
      looks++;
    },
    prepare() {
      port.prepare?.();
    },
    seesNews() {
      looks = attempts = inVain = 0;
      refusal = undefined;
    },
    start() {
      if (refusal) throw refusal;
      attempts++;
      const answered = underWay = new AbortController();
      const done = (isInVain: boolean) => {
        if (isInVain && ++inVain >= MOST_ASKS_IN_VAIN) refusal ??= failedInVain(tokenId, trouble);
        if (refusal) memory.noteRefusalToAsk(refusal);
        underWay = undefined;
        looks = 0;
        answered.abort();
      };
      send(nameOf(memory.rejectedToken()), 'now', ASK_LIMIT_MS).then(() => {
        trouble = undefined;
        done(true); // unless something is seen to have happened
      }, (error: unknown) => {
        trouble = error instanceof RefresherTrouble ? error : undefined;
        if (error instanceof SharedTokenError) refusal = error;
        done(trouble?.how !== 'not asked');
      });
    },
    async ahead() {
      memory.pauseAhead();
      await send({}, 'ahead', SAVE_LIMIT_MS).catch(() => undefined);
    },
    answered: () => underWay?.signal,
    outcome() {
      if (trouble) return trouble.how === 'failed' ? `the refresher ${trouble.message}` : `the refresher could not be asked (${trouble.message})`;
      return attempts === 0 ? undefined : `the refresher was asked, and ${underWay ? 'has not answered yet' : 'has answered, but no new token is in the table'}`;
    },
  };
}

/** By its generation and a fingerprint: what is asked may end in a log or a queue. */
function nameOf(rejected: { readonly accessToken: string; readonly generation: number } | undefined): RefreshAsk {
  return rejected ? { generation: rejected.generation, fingerprint: fingerprintOf(rejected.accessToken) } : {};
}

function failedInVain(tokenId: string, trouble: RefresherTrouble | undefined): SharedTokenError {
  if (trouble) return tokenError(tokenId, 'REFRESHER_FAILED', `the refresher ${trouble.message}. It was asked ${MOST_ASKS_IN_VAIN} times, and noted no reason in the table.`);
  return tokenError(tokenId, 'NO_USABLE_TOKEN', `the refresher answered ${MOST_ASKS_IN_VAIN} times, and no new token is in the table: see whether it refreshes this token of this table.`);
}
