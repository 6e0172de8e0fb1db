import { type CampaignResult, runSeeds } from './campaign';
import { type Exploration, explore, SMALL_WORLDS, type SmallWorld } from './exhaustive';
import { withLightAbort } from './light-abort';
import { type Checks, INVARIANTS, noChecks } from './observer';
import { parseOptions, type SimulationOptions, USAGE } from './options';
import { runSeed, shrink } from './run';
import { realRuntime } from './runtime';
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
  if (options.seed !== undefined) return oneSeed(options, options.seed);
  return manySeeds(options);
}

// --- random schedules -------------------------------------------------------------------------------------------------------------------

async function manySeeds(options: SimulationOptions): Promise<number> {
  const { runs, firstSeed, instances } = options;
  const result = await runSeeds({ runs, firstSeed, subject, limits: { instances }, progress: done => progress(`${done} of ${runs} runs`) });
  endProgress();
  print(options, result);
  if (result.firstFailed === undefined) return EXIT.OK;
  const run = { seed: result.firstFailed.seed, subject, limits: { instances } };
  const failed = await withLightAbort(async () => options.trace || result.firstFailed === undefined
    ? runSeed({ ...run, traces: true }) : shrink(run, result.firstFailed));
  const again = `npm run simulate -- --seed ${run.seed}${instances === undefined ? '' : ` --instances ${instances}`}`;
  process.stderr.write(`\nSeed ${run.seed}, ${options.trace ? 'as it was' : 'without the faults that do not matter'}:\n${failed.trace.join('\n')}\n\nThe whole of it: ${again}\n`);
  return EXIT.FAILED;
}

async function oneSeed(options: SimulationOptions, seed: number): Promise<number> {
  const result = await withLightAbort(async () => runSeed({ seed, subject, limits: { instances: options.instances }, traces: true }));
  const violations = result.violation === undefined ? 0 : 1;
  if (options.json) print(options, { runs: 1, violations, firstFailed: undefined, checks: result.checks, seconds: 0 });
  else process.stdout.write(`${result.trace.join('\n')}\n\n${violations === 0 ? 'Every promise held.' : `${result.violation?.invariant}: ${result.violation?.what}`}\n`);
  return violations === 0 ? EXIT.OK : EXIT.FAILED;
}

function print({ json, firstSeed }: SimulationOptions, { runs, violations, checks, seconds }: CampaignResult): void {
  if (json) {
    process.stdout.write(`${JSON.stringify({ runs, violations, firstSeed, lastSeed: firstSeed + runs - 1, checks })}\n`);
    return;
  }
  const speed = `${seconds.toFixed(1)} s, ${Math.round(runs / seconds)} runs/s`;
  process.stdout.write(`${runs} runs from seed ${firstSeed} on (${speed}): ${violations === 0 ? 'every promise held' : `${violations} broke a promise`}.\n${checkText(checks)}`);
}

// --- every schedule ---------------------------------------------------------------------------------------------------------------------

async function exhaustive(options: SimulationOptions): Promise<number> {
  const explorations: Exploration[] = [];
  for (const world of SMALL_WORLDS) {
    const exploration = await withLightAbort(async () => explore(world, subject, schedules => progress(`${describe(world)}: ${schedules} schedules`)));
    endProgress();
    explorations.push(exploration);
    if (!options.json) process.stdout.write(`${describe(world)}: ${exploration.schedules} schedules, ${exploration.violation === undefined ? 'all of them clean' : 'the last broke a promise'}\n`);
    if (exploration.violation !== undefined) {
      process.stderr.write(`\n${exploration.violation.trace.join('\n')}\n`);
      break;
    }
  }
  const schedules = explorations.reduce((sum, exploration) => sum + exploration.schedules, 0);
  const violations = explorations.filter(({ violation }) => violation !== undefined).length;
  const checks = noChecks();
  for (const exploration of explorations) for (const invariant of INVARIANTS) checks[invariant] += exploration.checks[invariant];
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
