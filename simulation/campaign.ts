import type { CaseLimits } from './case';
import { withLightAbort } from './light-abort';
import { type Checks, INVARIANTS, noChecks } from './observer';
import { type RunResult, runSeed } from './run';
import type { Subject } from './world';

/** Many seeds, one after the other. */
export interface Campaign {
  readonly firstSeed: number;
  readonly runs: number;
  readonly subject: Subject;
  readonly limits?: CaseLimits;
  /** Called now and then. */
  readonly progress?: (done: number) => void;
  /** Ends it early. */
  readonly until?: (result: RunResult) => boolean;
}

/** What they came to. */
export interface CampaignResult {
  readonly runs: number;
  readonly violations: number;
  readonly firstFailed: RunResult | undefined;
  readonly checks: Checks;
  readonly seconds: number;
}

const RUNS_BETWEEN_BREAKS = 500;

/** Runs the seeds. Now and then it lets the process do something else. */
export async function runSeeds({ firstSeed, runs, subject, limits, progress, until }: Campaign): Promise<CampaignResult> {
  const start = performance.now();
  const checks = noChecks();
  let violations = 0;
  let firstFailed: RunResult | undefined;
  let done = 0;
  let isOver = false;
  const some = async () => {
    for (let count = 0; count < RUNS_BETWEEN_BREAKS && done < runs && !isOver; count++) {
      const result = await runSeed({ seed: firstSeed + done++, subject, limits });
      for (const invariant of INVARIANTS) checks[invariant] += result.checks[invariant];
      if (result.violation === undefined) continue;
      violations++;
      firstFailed ??= result;
      isOver = until?.(result) ?? false;
    }
  };
  while (done < runs && !isOver) {
    await withLightAbort(some);
    progress?.(done);
    await new Promise(resolve => { setImmediate(resolve); });
  }
  return { runs: done, violations, firstFailed, checks, seconds: (performance.now() - start) / 1_000 };
}
