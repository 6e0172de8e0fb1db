import type { SharedTokenEvent } from '../lambda-runtime/public-types';

/** A step of the protocol, and the instance that reported it. */
export interface InstanceEvent extends SharedTokenEvent {
  readonly instance: number;
}

/** One finished invocation of one instance. */
export interface Invocation {
  readonly instance: number;
  readonly startedAt: number;
  readonly endedAt: number;
  /** `lost`: the instance was killed while it worked on it, as Lambda loses one. */
  readonly outcome: 'succeeded' | 'failed' | 'lost';
  readonly error?: string;
}

/** A moment in the life of one instance. */
export interface Moment {
  readonly instance: number;
  readonly at: number;
}

/**
 * Everything that happened, in milliseconds since the epoch. All figures and the picture are made from this afterwards, so that an event which arrives
 * late through a pipe is counted where it belongs.
 */
export class RunLog {
  /** When the load began. */
  startedAt = Date.now();
  readonly events: InstanceEvent[] = [];
  readonly invocations: Invocation[] = [];
  readonly revocations: number[] = [];
  readonly kills: Moment[] = [];
  readonly replacements: Moment[] = [];

  /** Which instances got an answer with a token that they took up after `at`. */
  instancesServedSince(at: number): ReadonlySet<number> {
    return new Set(this.invocations.filter(({ startedAt, outcome }) => startedAt >= at && outcome === 'succeeded').map(({ instance }) => instance));
  }
}
