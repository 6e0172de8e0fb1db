import { join, resolve } from 'node:path';

/*
 * The times of the demo, and why they are what they are. Everything happens on one machine and in under a minute, so tokens live for seconds
 * where they live for an hour elsewhere; the proportions are those that the protocol asks for.
 */

/** The repository's root. */
export const REPOSITORY = resolve(__dirname, '..');

/** Where the picture goes; ignored by git. */
export const TIMELINE_FILE = join(REPOSITORY, 'demo-output', 'timeline.svg');

/** What the token server takes to answer: about what a real one takes. */
export const AUTH_LATENCY_MS = 300;

/**
 * How long a token lives. Half of it is longer than 5 s, the age below which the runtime takes a rejection for the API's mistake. Longer for large fleets:
 * a rotation must be over before the new token itself grows old, and two cores take a while to let a hundred processes have their turn.
 */
export function tokenLifeMs(instances: number): number {
  return instances <= 40 ? 12_000 : 18_000;
}

/**
 * When the demo revokes a token, as a share of its life: after half of it, since tokens rejected earlier make the runtime suspicious of the API,
 * and well before the last 30 %, in which instances begin to refresh ahead of the expiry (that would be an auth call that no revocation caused).
 */
export const REVOKE_AT_SHARE_OF_LIFE = 0.55;

/** A token older than this share of its life is left alone: its successor is fetched ahead soon, and the revocation waits for that one. */
export const TOO_OLD_TO_REVOKE_AT_SHARE_OF_LIFE = 0.62;

/** From this share of a token's life on, instances fetch the next one ahead. */
export const REFRESH_AHEAD_FROM_SHARE_OF_LIFE = 0.7;

/** The longest auth request. A killed holder's lease lasts about this long, and the others wait for its end. */
export const AUTH_LIMIT_MS = 3_000;

/** Generous, so that a request which waits for a killed holder's lease to end is served and not cut off. */
export const CONSUMER_TIMEOUT_S = 30;

/**
 * How many instances may be in their first invocation, which loads the AWS SDK and takes a hundred times what a later one does. All at once is what
 * Lambda does and what the default demo shows; hundreds at once on two cores would show how slow two cores are.
 */
export const PARALLEL_COLD_INVOCATIONS = 30;

/** How long the demo waits for the last instance to get its new token before it gives up. */
export const ROTATION_LIMIT_MS = 45_000;

/** How long the load goes on after the last rotation, so that an auth call too many would be seen there as well. */
export const SETTLE_MS = 1_000;

/** How many processes start at the same time. More would only make each of them slower. */
export const PARALLEL_STARTS = 8;

/**
 * How many environments of the refresher start at the same time. Lambda would start as many as are asked for, each on a machine of its own; here they would keep
 * each other, and everybody else, from getting anywhere.
 */
export const PARALLEL_COLD_STARTS = 2;

/** The mean pause of one instance between two invocations: longer for large fleets, so that two cores carry the load. */
export function meanPauseMs(instances: number): number {
  return Math.max(100, 3 * instances);
}
