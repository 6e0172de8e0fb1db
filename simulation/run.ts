import { type Case, caseOf, type CaseLimits } from './case';
import { liveIn } from './life';
import type { Checks, Invariant, Violation } from './observer';
import { type Fault, type FaultId, RandomSchedule } from './schedule';
import { type Subject, World } from './world';

/** How one run went. */
export interface RunResult {
  readonly seed: number;
  readonly violation: Violation | undefined;
  readonly checks: Checks;
  readonly faults: readonly Fault[];
  readonly trace: readonly string[];
}

/** What to run. */
export interface RunOptions {
  readonly seed: number;
  readonly subject: Subject;
  readonly limits?: CaseLimits | undefined;
  readonly traces?: boolean;
  /** Faults that are left out of this run. */
  readonly leaveOut?: ReadonlySet<FaultId>;
  /** Takes the place of the seed's case. */
  readonly settings?: Case;
}

/** One seed: the same seed gives the same run, to the letter. */
export async function runSeed({ seed, subject, limits, traces = false, leaveOut, settings = caseOf(seed, limits) }: RunOptions): Promise<RunResult> {
  const schedule = new RandomSchedule(seed, settings.faultRate, leaveOut);
  const world = new World({ settings, schedule, subject, traces });
  liveIn(world);
  await world.run();
  const { observer: { violation, checks }, trace } = world;
  if (violation !== undefined) trace?.note('observer', `** ${violation.invariant} is violated: ${violation.what}`);
  return { seed, violation, checks, faults: schedule.faults, trace: trace?.lines ?? [] };
}

/**
 * Leaves out fault after fault as long as the same invariant is still violated: what is left is what it takes.
 *
 * @returns the last run that still failed, with its trace
 */
export async function shrink(options: RunOptions, failing: Invariant): Promise<RunResult> {
  let leaveOut = new Set<FaultId>(options.leaveOut);
  const tryWithout = async (ids: readonly FaultId[]): Promise<boolean> => {
    const without = new Set([...leaveOut, ...ids]);
    const { violation } = await runSeed({ ...options, leaveOut: without });
    if (violation?.invariant !== failing) return false;
    leaveOut = without;
    return true;
  };
  // The second time round, one that was needed may be needed no more.
  for (let round = 0; round < 2; round++) {
    const { faults } = await runSeed({ ...options, leaveOut });
    for (const { id } of faults) await tryWithout([id]);
  }
  return runSeed({ ...options, leaveOut, traces: true });
}
