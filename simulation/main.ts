import { measureBudget, measureRefresher, measureStrategies } from './budget/measurements';
import { missed } from './budget/targets';
import { budgetText, tableText } from './budget/text';
import { addTo, type CampaignResult, inAll } from './campaign';
import type { CaseLimits } from './case';
import { type Exploration, SMALL_WORLDS, type SmallWorld } from './exhaustive';
import { withLightAbort } from './light-abort';
import { type Checks, INVARIANTS, noChecks } from './observer';
import { parseOptions, type SimulationOptions, USAGE } from './options';
import { runSeed, shrink } from './run';
import { realRuntime } from './runtime';
import { inThreads, type Task } from './workers';
import { readOptions } from '../scripts/command-line';

const EXIT = { OK: 0, FAILED: 1, USAGE: 2 } as const;
const subject = { runtime: realRuntime };

async function main(args: readonly string[]): Promise<number> {
  const options = readOptions(args, parseOptions, USAGE);
  if (options === undefined) return EXIT.USAGE;
  if (options.help) {
    process.stdout.write(USAGE);
    return EXIT.OK;
  }
  if (options.exhaustive) return exhaustive(options);
  if (options.budget) return budget(options);
  if (options.seed !== undefined) return oneSeed(options, options.seed);
  return manySeeds(options);
}

// --- random schedules -------------------------------------------------------------------------------------------------------------------

/** A thread gets so many seeds at a time. */
const SEEDS_AT_A_TIME = 500;

async function manySeeds(options: SimulationOptions): Promise<number> {
  const { runs, firstSeed, instances } = options;
  const limits = { instances };
  const campaigns: CampaignResult[] = [];
  const start = performance.now();
  await inThreads(shares({ runs, firstSeed, limits }), campaign => {
    campaigns.push(campaign);
    progress(`${inAll(campaigns).runs} of ${runs} runs`);
  });
  endProgress();
  const result = inAll(campaigns);
  print(options, result, (performance.now() - start) / 1_000);
  const [first] = result.failed;
  if (first === undefined) return EXIT.OK;
  const run = { seed: first.seed, subject, limits };
  const failed = await withLightAbort(async () => options.trace ? runSeed({ ...run, traces: true }) : shrink(run, first.violation.invariant));
  const again = `npm run simulate -- --seed ${run.seed}${instances === undefined ? '' : ` --instances ${instances}`}`;
  process.stderr.write(`\nSeed ${run.seed}, ${options.trace ? 'as it was' : 'without the faults that do not matter'}:\n${failed.trace.join('\n')}\n\nThe whole of it: ${again}\n`);
  return EXIT.FAILED;
}

function* shares({ runs, firstSeed, limits }: { readonly runs: number; readonly firstSeed: number; readonly limits: CaseLimits }): Generator<Task & { kind: 'seeds' }> {
  for (let begun = 0; begun < runs; begun += SEEDS_AT_A_TIME) {
    yield { kind: 'seeds', firstSeed: firstSeed + begun, runs: Math.min(SEEDS_AT_A_TIME, runs - begun), limits };
  }
}

async function oneSeed(options: SimulationOptions, seed: number): Promise<number> {
  const run = { seed, subject, limits: { instances: options.instances }, traces: true };
  const { violation, checks, trace } = await withLightAbort(async () => runSeed(run));
  const failed = violation === undefined ? [] : [{ seed, violation }];
  if (options.json) print(options, { runs: 1, failed, checks, seconds: 0 });
  else process.stdout.write(`${trace.join('\n')}\n\n${violation === undefined ? 'Every promise held.' : `${violation.invariant}: ${violation.what}`}\n`);
  return violation === undefined ? EXIT.OK : EXIT.FAILED;
}

/** Of the failures so many are named. */
const NAMED_FAILURES = 20;

function print({ json, firstSeed }: SimulationOptions, { runs, failed, checks, seconds }: CampaignResult, tookSeconds = seconds): void {
  if (json) {
    process.stdout.write(`${JSON.stringify({ runs, violations: failed.length, firstSeed, lastSeed: firstSeed + runs - 1, checks })}\n`);
    return;
  }
  const outcome = failed.length === 0 ? 'every promise held' : `${failed.length} broke a promise`;
  const speed = `${tookSeconds.toFixed(1)} s, ${Math.round(runs / seconds)} runs a second and thread`;
  process.stdout.write(`${runs} runs, seeds ${firstSeed} to ${firstSeed + runs - 1} (${speed}): ${outcome}.\n${checkText(checks)}`);
  for (const { seed, violation } of failed.slice(0, NAMED_FAILURES)) process.stdout.write(`Seed ${seed}, ${violation.invariant}: ${violation.what}\n`);
}

// --- every schedule ---------------------------------------------------------------------------------------------------------------------

async function exhaustive(options: SimulationOptions): Promise<number> {
  const explorations: Exploration[] = [];
  await inThreads(SMALL_WORLDS.map(world => ({ kind: 'world' as const, world })), exploration => {
    explorations.push(exploration);
    const { world, schedules: count, violation } = exploration;
    if (!options.json) process.stdout.write(`${describe(world)}: ${count} schedules, ${violation === undefined ? 'all of them clean' : 'the last broke a promise'}\n`);
    if (violation !== undefined) process.stderr.write(`\n${violation.trace.join('\n')}\n`);
  });
  const schedules = explorations.reduce((sum, exploration) => sum + exploration.schedules, 0);
  const violations = explorations.filter(({ violation }) => violation !== undefined).length;
  const checks = noChecks();
  for (const exploration of explorations) addTo(checks, exploration.checks);
  if (options.json) {
    const worlds = explorations.map(({ world, schedules: count }) => ({ ...world, schedules: count }));
    process.stdout.write(`${JSON.stringify({ runs: schedules, violations, checks, worlds })}\n`);
  } else {
    process.stdout.write(`${schedules} schedules in all.\n${checkText(checks)}`);
  }
  return violations === 0 ? EXIT.OK : EXIT.FAILED;
}

function describe({ instances, faults, provider, start }: SmallWorld): string {
  return `${instances} instances, ${provider}, ${start === 'empty' ? 'cold start' : 'rotation'}, up to ${faults} fault${faults === 1 ? '' : 's'}`;
}

// --- what a rotation costs -------------------------------------------------------------------------------------------------------------

async function budget({ json, strategies, refresher }: SimulationOptions): Promise<number> {
  const rows = await (strategies ? measureStrategies(progress) : refresher ? measureRefresher(progress) : measureBudget(progress));
  endProgress();
  process.stdout.write(json ? `${JSON.stringify(rows)}\n` : strategies ? tableText(rows) : budgetText(rows));
  return missed(rows).length === 0 ? EXIT.OK : EXIT.FAILED;
}

// --- output -----------------------------------------------------------------------------------------------------------------------------

function checkText(checks: Checks): string {
  return `Checks: ${INVARIANTS.map(invariant => `${invariant} ${checks[invariant]}`).join(', ')}\n`;
}

function progress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
}

function endProgress(): void {
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');
}

main(process.argv.slice(2)).then(
  status => { process.exitCode = status; },
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.stack ?? error.message : String(error)}\n`);
    process.exitCode = EXIT.FAILED;
  },
);
