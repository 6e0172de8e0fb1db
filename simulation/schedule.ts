import { Random } from './random';

/** A call of the runtime out of its own code: each is a moment at which something may go wrong. */
export type PortCall = 'read' | 'claim' | 'commit' | 'renew' | 'release' | 'sleep' | 'auth' | 'ask';

/** What becomes of one call of a port. */
export type Fate =
  | 'well'
  /** It never arrives; the caller is told at once, or never. */
  | 'request-lost' | 'request-vanishes'
  /** It takes effect; the caller is told of trouble at once, or never. */
  | 'reply-lost' | 'reply-vanishes'
  /** It takes effect long after the caller has given up. */
  | 'slow'
  /** Not applied, says the other side. */
  | 'refused'
  | 'crash-before' | 'crash-in-flight' | 'crash-after'
  /** The environment stands still for a while: before the call goes out, or before its answer is noticed. */
  | 'freeze-before' | 'freeze-after'
  /** The wall clock is set. */
  | 'clock-jump';

/** Decides what goes wrong. Each call of a port asks once. */
export interface Schedule {
  /** What becomes of the `nth` call of that instance. */
  fate(instance: number, nth: number, call: PortCall): Fate;
  /** The numbers behind that call: delays, durations. */
  random(instance: number, nth: number): Random;
}

const TABLE_FATES: readonly [Fate, ...Fate[]] = [
  'request-lost', 'request-vanishes', 'reply-lost', 'reply-vanishes', 'slow', 'refused', 'crash-before', 'crash-in-flight', 'crash-after',
  'freeze-before', 'freeze-after', 'freeze-after', 'clock-jump',
];
/** Nothing can help a request that was decided on and then held up on its way out: that is not the runtime's to prevent. */
const AUTH_FATES: readonly [Fate, ...Fate[]] = [
  'request-lost', 'request-vanishes', 'reply-lost', 'reply-vanishes', 'reply-vanishes', 'slow', 'slow', 'refused', 'crash-before', 'crash-in-flight',
  'crash-after', 'freeze-after', 'freeze-after', 'clock-jump',
];
const SLEEP_FATES: readonly [Fate, ...Fate[]] = ['well', 'well', 'crash-after', 'freeze-after', 'clock-jump'];

/** Names one fault of a run, so that it can be left out when the run is played again. */
export type FaultId = `${number}.${number}`;

/** A fault that a run met. */
export interface Fault {
  readonly id: FaultId;
  readonly instance: number;
  readonly call: PortCall;
  readonly fate: Fate;
}

/**
 * Faults at random. Each call of a port has numbers of its own, made from the seed, the instance and the count of its calls: so leaving one fault out
 * changes nothing else but what follows from it.
 */
export class RandomSchedule implements Schedule {
  readonly faults: Fault[] = [];

  constructor(private readonly seed: number, private readonly rate: number, private readonly leaveOut: ReadonlySet<FaultId> = new Set()) {}

  fate(instance: number, nth: number, call: PortCall): Fate {
    if (this.rate === 0) return 'well';
    const random = new Random(this.seed, 3, instance, nth);
    if (!random.chance(this.rate)) return 'well';
    const fate = random.pick(call === 'sleep' ? SLEEP_FATES : call === 'auth' ? AUTH_FATES : TABLE_FATES);
    const id: FaultId = `${instance}.${nth}`;
    if (fate === 'well' || this.leaveOut.has(id)) return 'well';
    this.faults.push({ id, instance, call, fate });
    return fate;
  }

  random(instance: number, nth: number): Random {
    return new Random(this.seed, 4, instance, nth);
  }
}
