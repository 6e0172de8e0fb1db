import type { CaseLimits } from './case';
import { withLightAbort } from './light-abort';
import { type Checks, INVARIANTS, noChecks, type Violation } from './observer';
import { type RunResult, runSeed } from './run';
import type { Subject } from './world';

/** Many seeds, one after the other. */
export interface Campaign {
  readonly firstSeed: number;
  readonly runs: number;
  readonly subject: Subject;
  readonly limits?: CaseLimits;
  /** Ends it early. */
  readonly until?: (result: RunResult) => boolean;
}

/** A seed that broke a promise. */
export interface FailedSeed {
  readonly seed: number;
  readonly violation: Violation;
}

/** What they came to. */
export interface CampaignResult {
  readonly runs: number;
  readonly failed: readonly FailedSeed[];
  readonly checks: Checks;
  /** What it took, in the time of one core. */
  readonly seconds: number;
}

/** Runs the seeds. */
export async function runSeeds({ firstSeed, runs, subject, limits, until }: Campaign): Promise<CampaignResult> {
  const start = performance.now();
  const checks = noChecks();
  const failed: FailedSeed[] = [];
  let done = 0;
  await withLightAbort(async () => {
    for (let isOver = false; done < runs && !isOver;) {
      const result = await runSeed({ seed: firstSeed + done++, subject, limits });
      addTo(checks, result.checks);
      if (result.violation === undefined) continue;
      failed.push({ seed: result.seed, violation: result.violation });
      isOver = until?.(result) ?? false;
    }
  });
  return { runs: done, failed, checks, seconds: (performance.now() - start) / 1_000 };
}

export function addTo(sum: Checks, checks: Checks): void {
  for (const invariant of INVARIANTS) sum[invariant] += checks[invariant];
}

/** Several campaigns as one. */
export function inAll(campaigns: readonly CampaignResult[]): CampaignResult {
  const checks = noChecks();
  for (const campaign of campaigns) addTo(checks, campaign.checks);
  return {
    runs: campaigns.reduce((sum, { runs }) => sum + runs, 0),
    failed: campaigns.flatMap(({ failed }) => failed).sort((one, other) => one.seed - other.seed),
    checks,
    seconds: campaigns.reduce((sum, { seconds }) => sum + seconds, 0),
  };
}
