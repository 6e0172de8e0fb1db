import { addTo } from './campaign';
import type { Case, ProviderKind } from './case';
import { ChoiceTree } from './choice-tree';
import { settle, startItem } from './life';
import type { Carrier } from './network';
import { type Checks, noChecks, type Violation } from './observer';
import { Random } from './random';
import type { Fate, PortCall, Schedule } from './schedule';
import { type Subject, World } from './world';

/** A world small enough to see all of it. */
export interface SmallWorld {
  readonly instances: number;
  /** So many of the calls may meet a crash, an expiry or a lost answer. */
  readonly faults: number;
  readonly provider: ProviderKind;
  readonly start: 'empty' | 'usable';
}

/** What seeing all of it came to. */
export interface Exploration {
  readonly world: SmallWorld;
  /** Runs that differ in at least one choice. */
  readonly schedules: number;
  readonly checks: Checks;
  readonly violation: (Violation & { readonly path: string; readonly trace: readonly string[] }) | undefined;
}

/** One rotation each, for two and three instances. */
export const SMALL_WORLDS: readonly SmallWorld[] = [
  { instances: 2, faults: 2, provider: 'client-credentials', start: 'usable' },
  { instances: 2, faults: 2, provider: 'rotating', start: 'usable' },
  { instances: 2, faults: 2, provider: 'client-credentials', start: 'empty' },
  { instances: 3, faults: 1, provider: 'client-credentials', start: 'usable' },
];

/** The same, for a quick look. */
export const SMALLEST_WORLDS: readonly SmallWorld[] = [
  { instances: 2, faults: 1, provider: 'client-credentials', start: 'usable' },
  { instances: 2, faults: 1, provider: 'rotating', start: 'usable' },
  { instances: 2, faults: 1, provider: 'client-credentials', start: 'empty' },
];

const TABLE_FATES: readonly Fate[] = ['well', 'crash-before', 'crash-in-flight', 'crash-after', 'freeze-before', 'freeze-after', 'request-lost', 'reply-lost'];
const AUTH_FATES: readonly Fate[] = ['well', 'crash-before', 'crash-in-flight', 'crash-after', 'freeze-after', 'reply-lost', 'reply-vanishes', 'slow'];

/** In the middle of everything: the 16 seconds, for which environments then stand still, outlast any lease here. */
class Middling extends Random {
  override next(): number {
    return 0.5;
  }
}

/** Every fault at every call, as long as any may still happen. */
class EveryFault implements Schedule {
  private readonly middling = new Middling(0);

  constructor(private readonly tree: ChoiceTree, private left: number) {}

  fate(_instance: number, _nth: number, call: PortCall): Fate {
    if (call === 'sleep' || this.left === 0) return 'well';
    const fates = call === 'auth' ? AUTH_FATES : TABLE_FATES;
    const fate = fates[this.tree.choose(fates.length)] as Fate;
    if (fate !== 'well') this.left--;
    return fate;
  }

  random(): Random {
    return this.middling;
  }
}

/**
 * Requests wait until it is their turn, in any order; what concerns one process alone, replies above all, happens at once, since no other process can tell
 * when. Time passes only when nothing is under way: what comes too late does so by its fate.
 */
class AnyOrder {
  static carrier(order: () => AnyOrder): (scheduler: World['scheduler']) => Carrier {
    return scheduler => ({
      request: (ms, arrive) => {
        if (ms > 100) scheduler.after(ms, () => order().waiting.push(arrive));
        else order().waiting.push(arrive);
      },
      reply: (_ms, arrive) => scheduler.after(0, arrive),
    });
  }

  private readonly waiting: (() => void)[] = [];

  constructor(private readonly world: World, private readonly tree: ChoiceTree) {}

  step(): boolean {
    const { scheduler, isDisturbed } = this.world;
    if (this.waiting.length === 0 || scheduler.nextAt() <= scheduler.now) return this.world.step();
    const turn = isDisturbed && this.waiting.length > 1 ? this.tree.choose(this.waiting.length) : 0;
    const [arrive] = this.waiting.splice(turn, 1);
    arrive?.();
    return true;
  }

  isIdle(): boolean {
    return this.waiting.length === 0;
  }
}

/** Visits every schedule of a small world, until one breaks a promise. */
export async function explore(world: SmallWorld, subject: Subject): Promise<Exploration> {
  const tree = new ChoiceTree();
  const checks = noChecks();
  let schedules = 0;
  do {
    const { observer } = await runOnce(world, subject, tree, false);
    schedules++;
    addTo(checks, observer.checks);
    if (observer.violation !== undefined) {
      tree.rewind();
      const { trace } = await runOnce(world, subject, tree, true);
      return { world, schedules, checks, violation: { ...observer.violation, path: tree.toString(), trace: trace?.lines ?? [] } };
    }
  } while (tree.next());
  return { world, schedules, checks, violation: undefined };
}

async function runOnce(small: SmallWorld, subject: Subject, tree: ChoiceTree, traces: boolean): Promise<World> {
  let order: AnyOrder | undefined;
  const world = new World({
    settings: settingsOf(small), schedule: new EveryFault(tree, small.faults), subject, traces, carrier: AnyOrder.carrier(() => order as AnyOrder),
  });
  order = new AnyOrder(world, tree);
  startItem(world);
  world.isDisturbed = false;
  const members = Array.from({ length: small.instances }, () => world.join(
    { offsetMs: 0, rate: 1, standsStill: false, mayJump: false }, { mayRefresh: true, timeouts: [30_000] },
  ));
  // All have the token, if there is one; then it is revoked, and all notice at the same moment.
  if (small.start === 'usable') for (const member of members) void world.call(member, 'get', {}, 30_000);
  world.scheduler.after(10, () => {
    world.provider.revoke();
    world.isDisturbed = true;
    let open = members.length;
    const over = () => { if (--open === 0) world.scheduler.after(1, end); };
    for (const member of members) void world.call(member, 'use', {}, 30_000).then(over);
  });
  let isEnding = false;
  const end = () => {
    if (isEnding) return;
    isEnding = true;
    settle(world);
  };
  world.scheduler.after(60_000, end); // some never come back
  const { observer } = world;
  await world.run(() => {
    if (world.scheduler.isEmpty() && order?.isIdle()) return false;
    return (order as AnyOrder).step();
  });
  if (observer.violation !== undefined) world.trace?.note('observer', `** ${observer.violation.invariant} is violated: ${observer.violation.what}`);
  return world;
}

function settingsOf({ instances, provider, start }: SmallWorld): Case {
  return {
    seed: 1,
    instances,
    provider: { kind: provider, lifeS: 3_600, latencyMs: 100, graceMs: 60_000, errorRate: 0, apiLagMs: 0 },
    network: { latencyMs: 5, readsPerSecond: 3_000, writesPerSecond: 1_000 },
    faultRate: 0,
    clocks: 'exact',
    freezesBetweenInvocations: false,
    heedsSignal: false,
    start,
    durationMs: 60_000,
    invocations: 1,
    functionTimeouts: [30_000],
    revocations: 1,
    deletions: 0,
    operations: 0,
    idleDays: 0,
    hasRenewer: false,
    hasReaders: false,
    scheduledEvents: 0,
    hasLogIn: false,
    hasRefresher: false,
  };
}
