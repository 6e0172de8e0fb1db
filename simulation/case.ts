import { Random } from './random';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** How a provider hands out tokens. */
export type ProviderKind =
  /** Each request brings a token of its own, the older ones stay valid. */
  | 'client-credentials'
  /** Each request needs the latest refresh token, and brings another; a used one that comes again late kills the family. */
  | 'rotating'
  /** Each new token kills the one before. */
  | 'one-live'
  /** Within a window the same token again. */
  | 'same-token';

/** What one run is like, as far as it is settled beforehand; what goes wrong in it is decided by its schedule. */
export interface Case {
  readonly seed: number;
  readonly instances: number;
  readonly provider: {
    readonly kind: ProviderKind;
    /** Seconds; undefined: it gives none. */
    readonly lifeS: number | undefined;
    readonly latencyMs: number;
    /** How long a used refresh token may be sent again. */
    readonly graceMs: number;
    readonly errorRate: number;
    /** For so long the API refuses a new token. */
    readonly apiLagMs: number;
  };
  readonly network: { readonly latencyMs: number; readonly readsPerSecond: number; readonly writesPerSecond: number };
  /** Share of port calls at which something goes wrong. */
  readonly faultRate: number;
  readonly clocks: 'exact' | 'off';
  /** Are environments frozen between invocations? */
  readonly freezesBetweenInvocations: boolean;
  readonly heedsSignal: boolean;
  /** A token of which age the table holds at the start. */
  readonly start: 'empty' | 'usable' | 'expired' | 'dead-lease' | 'failed';
  readonly durationMs: number;
  readonly invocations: number;
  readonly functionTimeouts: readonly number[];
  /** How often the provider revokes its tokens. */
  readonly revocations: number;
  /** How often somebody deletes the item. */
  readonly deletions: number;
  /** How often somebody on call ends a lease, clears a failure or has the token expire. */
  readonly operations: number;
  /** Idle days in the middle, so that the time to live comes to pass. */
  readonly idleDays: number;
  /** A holder of a later version, which renews its lease. */
  readonly hasRenewer: boolean;
  readonly hasReaders: boolean;
  /** How often a schedule asks for a new token; now and then twice for one event. */
  readonly scheduledEvents: number;
  /** A person who logs in: an auth limit of an hour, above the longest lease, and an answer after ten minutes or twenty. */
  readonly hasLogIn: boolean;
  /** Most instances only read, and ask a function that refreshes. */
  readonly hasRefresher: boolean;
}

/** What a user may fix for all runs. */
export interface CaseLimits {
  readonly instances?: number | undefined;
}

/** The case of a seed. Most are small: two or three instances find most defects, and quickly. */
export function caseOf(seed: number, limits: CaseLimits = {}): Case {
  const random = new Random(seed, 1);
  const kind = random.pick<ProviderKind>(['client-credentials', 'client-credentials', 'rotating', 'rotating', 'one-live', 'same-token']);
  const size = random.next();
  const instances = size < 0.93 ? random.between(1, 3) : size < 0.998 ? random.between(5, 10) : random.between(11, 50);
  const throttles = random.chance(0.05);
  const longFunctions = random.chance(0.15);
  return {
    seed,
    instances: limits.instances ?? instances,
    provider: {
      kind,
      lifeS: random.pick([undefined, 20, 60, 600, 3_600, 3_600]),
      latencyMs: random.pick([30, 100, 300, 1_000]),
      graceMs: random.pick([0, 10 * SECOND, MINUTE]),
      errorRate: random.pick([0, 0, 0, 0.2, 0.6]),
      apiLagMs: random.chance(0.1) ? random.between(200, 3_000) : 0,
    },
    network: {
      latencyMs: random.pick([2, 5, 20]),
      readsPerSecond: throttles ? random.between(5, 40) : 3_000,
      writesPerSecond: throttles ? random.between(3, 20) : 1_000,
    },
    faultRate: random.pick([0, 0.03, 0.1, 0.1, 0.25]),
    clocks: random.chance(0.5) ? 'exact' : 'off',
    freezesBetweenInvocations: random.chance(0.4),
    heedsSignal: random.chance(0.5),
    start: kind === 'rotating' ? random.pick(['usable', 'expired', 'dead-lease']) : random.pick(['empty', 'usable', 'usable', 'expired', 'dead-lease', 'failed']),
    durationMs: random.pick([5 * SECOND, 15 * SECOND, 30 * SECOND, 90 * SECOND]),
    invocations: random.between(1, 3),
    functionTimeouts: longFunctions ? [15 * MINUTE, 30 * SECOND] : random.chance(0.5) ? [3 * SECOND] : [3 * SECOND, 10 * SECOND, 30 * SECOND],
    revocations: random.between(0, 2),
    deletions: kind !== 'rotating' && random.chance(0.25) ? random.between(1, 3) : 0,
    idleDays: random.chance(0.04) ? random.between(8, 12) : 0,
    hasRenewer: random.chance(0.1),
    hasReaders: random.chance(0.15),
    scheduledEvents: random.chance(0.2) ? random.between(1, 3) : 0,
    hasLogIn: random.chance(0.004),
    hasRefresher: random.chance(0.15),
    operations: random.chance(0.15) ? random.between(1, 4) : 0,
  };
}
