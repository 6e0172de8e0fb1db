import type { DemoMode } from './options';
import type { SharedTokenEvent } from '../lambda-runtime/public-types';

/** Stands for the refresher's function where an instance is meant: its environments take turns, and count as one. */
export const REFRESHER = 'refresher';

/** The number of an instance of the function that uses the token; or the refresher. */
export type Instance = number | typeof REFRESHER;

/** A step of the protocol, and the instance that reported it. */
export interface InstanceEvent extends SharedTokenEvent {
  readonly instance: Instance;
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
  readonly instance: Instance;
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
  /** When the refresher was invoked; undefined where there is none. */
  readonly refresherInvocations: number[] | undefined;

  constructor(mode: DemoMode = 'reactive') {
    this.refresherInvocations = mode === 'refresher' ? [] : undefined;
  }

  /** Takes the runtime's event from a line of a function's log, where it holds one. */
  noteLine(instance: Instance, line: string): SharedTokenEvent | undefined {
    const event = sharedTokenEventIn(line);
    if (event) this.events.push({ ...event, instance });
    return event;
  }

  /** Which instances got an answer with a token that they took up after `at`. */
  instancesServedSince(at: number): ReadonlySet<number> {
    return new Set(this.invocations.filter(({ startedAt, outcome }) => startedAt >= at && outcome === 'succeeded').map(({ instance }) => instance));
  }
}

/** The runtime's event in a line of the function's log, which is JSON with the key `sharedToken`; nothing for any other line. */
function sharedTokenEventIn(line: string): SharedTokenEvent | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    return (JSON.parse(line) as { sharedToken?: SharedTokenEvent }).sharedToken;
  } catch {
    return undefined;
  }
}
