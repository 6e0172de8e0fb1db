import { CLEARLY_OLDER_MS, minimumAge } from '../../lambda-runtime/timing';

/** A moment more than a rule asks for. */
const MARGIN_MS = 200;

/**
 * How old a token must be for its rejection to be believed (the storm guard).
 *
 * @param earlyRejections how many in a row were rejected before half their lives, and not replaced by a schedule
 */
export function oldEnoughToRevokeMs(earlyRejections = 0): number {
  return minimumAge(earlyRejections) + MARGIN_MS;
}

/** How old a token must be for a scheduled run to replace it: more than two clocks may differ before the run's time, which is in whole seconds. */
export const OLD_ENOUGH_FOR_THE_SCHEDULE_MS = CLEARLY_OLDER_MS + 1_000 + MARGIN_MS;
