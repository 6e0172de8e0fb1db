import type { Random } from './random';
import type { Fate, PortCall, Schedule } from './schedule';
import type { Scheduler } from './scheduler';
import type { Trace } from './trace';
import type { Host } from '../lambda-runtime/host';
import type { RefreshAsk } from '../lambda-runtime/public-types';
import type { TokenItem } from '../lambda-runtime/token-item';

/** How an instance's clocks differ from true time. */
export interface Clocks {
  readonly offsetMs: number;
  /** 1.0001: gains 0.1 ms a second. */
  readonly rate: number;
  /** Does the monotonic clock stand still while the environment is frozen? */
  readonly standsStill: boolean;
  readonly mayJump: boolean;
}

/** What an instance is part of. */
export interface Surroundings {
  readonly scheduler: Scheduler;
  readonly schedule: Schedule;
  readonly trace: Trace | undefined;
  /** May anything still go wrong? */
  readonly isDisturbed: () => boolean;
}

/** One call of a port: what becomes of it, and the numbers behind that. */
export interface Fated {
  readonly fate: Fate;
  readonly random: Random;
}

/** A function's environment: a process that runs, stands still or is gone. */
export class Instance {
  readonly name: string;
  isAlive = true;
  readonly host: Host;
  /** Port calls so far. */
  portCalls = 0;
  /** Store and provider calls so far, without the timers. */
  requests = 0;
  /** When it last went on after standing still. */
  thawedAt = 0;
  /** Was the wall clock ever set? */
  hasJumped = false;

  // What an observer may know of its memory:
  known: TokenItem | undefined;
  /** Tokens that the API refused to it. Most of them are given up, the very young ones doubted. */
  readonly refused = new Set<string>();
  refreshingUnder = '';
  /** It is about a forced refresh, for an event at this moment of true time. */
  forcedSince: number | undefined;
  /** What a reader reported to it, while it looks whether that makes a refresh due. */
  asked: RefreshAsk | undefined;

  private readonly start: number;
  private frozenSince: number | undefined;
  private freezes = 0;
  private wallShift: number;
  private monotonicLost = 0;
  private uuids = 0;
  private parked: (() => void)[] = [];

  constructor(readonly id: number, private readonly surroundings: Surroundings, private readonly clocks: Clocks, random: Random) {
    this.name = `i${id}`;
    this.start = surroundings.scheduler.now;
    this.wallShift = clocks.offsetMs;
    this.host = {
      now: () => Math.floor(this.start + this.elapsed() + this.wallShift),
      monotonic: () => this.monotonic(),
      sleep: async (ms, signal) => this.sleep(ms, signal),
      random: () => random.next(),
      uuid: () => `lease-${this.name}x${++this.uuids}`,
    };
  }

  /** Asks what becomes of a call of a port. */
  fateOf(call: PortCall): Fated {
    const nth = this.portCalls++;
    const { schedule, trace, isDisturbed } = this.surroundings;
    const fate = isDisturbed() ? schedule.fate(this.id, nth, call) : 'well';
    if (fate !== 'well') trace?.note(this.name, `!! ${call} no. ${nth}: ${fate}`);
    return { fate, random: schedule.random(this.id, nth) };
  }

  /** May it still crash? */
  isDisturbed(): boolean {
    return this.surroundings.isDisturbed();
  }

  /** Lets the process notice something: at once, when it is thawed, or never. */
  deliver(notice: () => void): void {
    if (!this.isAlive) return;
    if (this.freezes > 0) this.parked.push(notice);
    else notice();
  }

  crash(): void {
    if (!this.isAlive) return;
    this.isAlive = false;
    this.parked = [];
    this.surroundings.trace?.note(this.name, '!! is gone');
  }

  freezeFor(ms: number): void {
    if (!this.isAlive) return;
    this.surroundings.trace?.note(this.name, `!! stands still for ${ms} ms${this.clocks.standsStill ? ', its monotonic clock too' : ''}`);
    this.freeze();
    this.surroundings.scheduler.after(ms, () => this.thaw());
  }

  freeze(): void {
    if (this.freezes++ === 0) this.frozenSince = this.surroundings.scheduler.now;
  }

  thaw(): void {
    if (this.freezes === 0 || --this.freezes > 0) return;
    const { scheduler } = this.surroundings;
    if (this.clocks.standsStill) this.monotonicLost += scheduler.now - (this.frozenSince ?? scheduler.now);
    this.frozenSince = undefined;
    this.thawedAt = scheduler.now;
    const { parked } = this;
    this.parked = [];
    for (const notice of parked) scheduler.after(0, () => this.deliver(notice));
  }

  /** Ends every freeze: the disturbances are over. */
  thawForGood(): void {
    this.freezes = Math.min(this.freezes, 1);
    this.thaw();
  }

  /** Somebody sets the wall clock. */
  jump(random: Random): void {
    if (!this.isAlive || !this.clocks.mayJump) return;
    const ms = random.pick([-1, 1]) * random.pick([500, 3_000, 30_000, 600_000]);
    this.wallShift += ms;
    this.hasJumped = true;
    this.surroundings.trace?.note(this.name, `!! its wall clock jumps by ${ms} ms`);
  }

  monotonic(): number {
    const still = this.clocks.standsStill && this.frozenSince !== undefined ? this.surroundings.scheduler.now - this.frozenSince : 0;
    return Math.floor(this.elapsed()) - this.monotonicLost - still;
  }

  private elapsed(): number {
    return (this.surroundings.scheduler.now - this.start) * this.clocks.rate;
  }

  private async sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise(resolve => {
      if (signal?.aborted) return resolve();
      const { scheduler } = this.surroundings;
      const { fate, random } = this.fateOf('sleep');
      const { rate } = this.clocks; // a timer goes by the own clock, too
      const until = this.monotonic() + ms;
      let isOver = false;
      const done = () => {
        if (isOver) return;
        isOver = true;
        signal?.removeEventListener('abort', done);
        resolve();
      };
      const look = () => {
        if (isOver) return;
        const left = until - this.monotonic();
        if (left > 0) scheduler.after(left / rate, wake); // it stood still meanwhile
        else done();
      };
      const wake = () => {
        if (!isOver) this.deliver(look);
      };
      signal?.addEventListener('abort', done, { once: true });
      if (fate !== 'well') scheduler.after(random.between(0, Math.min(ms, 60_000)), () => { if (!isOver) this.meet(fate, random); });
      scheduler.after(ms / rate, wake);
    });
  }

  private meet(fate: Fate, random: Random): void {
    if (!this.surroundings.isDisturbed()) return;
    if (fate === 'crash-after') this.crash();
    else if (fate === 'clock-jump') this.jump(random);
    else if (this.freezes === 0) this.freezeFor(freezeMs(random));
  }
}

/** How long an environment stands still: about a lease, and far longer. */
export function freezeMs(random: Random): number {
  return random.pick([400, 3_000, 9_000, 16_000, 60_000, 240_000]) + random.between(0, 2_000);
}
