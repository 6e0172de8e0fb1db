import { parseStrictly, UsageError, wholeNumber } from '../scripts/command-line';

export { UsageError };

/** What the user asked for. */
export interface SimulationOptions {
  readonly runs: number;
  readonly firstSeed: number;
  /** This one alone, with its trace. */
  readonly seed: number | undefined;
  readonly instances: number | undefined;
  readonly exhaustive: boolean;
  readonly budget: boolean;
  /** Of the budget: compare ways to wait instead. */
  readonly strategies: boolean;
  /** Of the budget: readers that ask a refresher instead. */
  readonly refresher: boolean;
  readonly json: boolean;
  readonly trace: boolean;
  readonly help: boolean;
}

const LARGEST_SEED = 2 ** 31 - 1;
const RUNS = { initial: 20_000, min: 1, max: 100_000_000 } as const;
const SEED = { initial: undefined, min: 1, max: LARGEST_SEED } as const;
const INSTANCES = { initial: undefined, min: 1, max: 50 } as const;

export const USAGE = `Usage: npm run simulate -- [options]

  --runs <n>          random schedules: ${RUNS.min} to ${RUNS.max} (default ${RUNS.initial})
  --first-seed <n>    the seed of the first one, the next has the next: ${SEED.min} to ${SEED.max} (default 1)
  --seed <n>          this one alone, with a trace of all that happens
  --instances <n>     as many instances in each run: ${INSTANCES.min} to ${INSTANCES.max} (default: 1 to 50, mostly few)
  --exhaustive        instead of random schedules, every schedule of a small world: two and three instances, one rotation, a crash or an expiry at any step
  --budget            instead of random schedules, what one rotation costs and how long it takes, beside the reference algorithm
  --strategies        with --budget: the runtime beside copies of it that wait otherwise
  --refresher         with --budget: readers that ask a refresher, warm and cold, and how often it is invoked
  --trace             print the trace of the first failing run as it was, not shrunk to what it takes
  --json              print the result as one JSON object (--budget: an array of rows), and nothing else, on the standard output
                      (npm prints a heading of its own: use \`npm run --silent simulate -- --json\`)
  --help              show this text

Exit status: 0 when every promise of docs/protocol.md held and every budget was met, 1 when not, 2 for options that do not exist.
`;

/** Reads the command line. @throws UsageError naming the option and what is allowed. */
export function parseOptions(args: readonly string[]): SimulationOptions {
  const values = parseStrictly(args, {
    'runs': { type: 'string' },
    'first-seed': { type: 'string' },
    'seed': { type: 'string' },
    'instances': { type: 'string' },
    'exhaustive': { type: 'boolean' },
    'budget': { type: 'boolean' },
    'strategies': { type: 'boolean' },
    'refresher': { type: 'boolean' },
    'trace': { type: 'boolean' },
    'json': { type: 'boolean' },
    'help': { type: 'boolean' },
  });
  const seed = wholeNumber('--seed', values.seed, SEED);
  for (const mode of ['exhaustive', 'budget'] as const) {
    for (const ofSchedules of ['seed', 'runs', 'first-seed', 'instances'] as const) {
      excludeEachOther([[`--${mode}`, values[mode]], [`--${ofSchedules}`, values[ofSchedules]]]);
    }
  }
  excludeEachOther([['--exhaustive', values.exhaustive], ['--budget', values.budget]]);
  for (const ofBudget of ['strategies', 'refresher'] as const) {
    if (values[ofBudget] && !values.budget) throw new UsageError(`--${ofBudget} is an option of --budget: give both.`);
  }
  excludeEachOther([['--strategies', values.strategies], ['--refresher', values.refresher]]);
  excludeEachOther([['--seed', values.seed], ['--runs', values.runs]]);
  excludeEachOther([['--seed', values.seed], ['--first-seed', values['first-seed']]]);
  const runs = wholeNumber('--runs', values.runs, { ...RUNS, initial: seed === undefined ? RUNS.initial : 1 });
  const firstSeed = wholeNumber('--first-seed', values['first-seed'], { ...SEED, initial: seed ?? 1 });
  if (firstSeed + runs - 1 > LARGEST_SEED) throw new UsageError(`--first-seed and --runs lead beyond the last seed, ${LARGEST_SEED}.`);
  return {
    runs,
    firstSeed,
    seed,
    instances: wholeNumber('--instances', values.instances, INSTANCES),
    exhaustive: values.exhaustive ?? false,
    budget: values.budget ?? false,
    strategies: values.strategies ?? false,
    refresher: values.refresher ?? false,
    json: values.json ?? false,
    trace: values.trace ?? false,
    help: values.help ?? false,
  };
}

function excludeEachOther(options: readonly (readonly [string, unknown])[]): void {
  if (options.every(([, value]) => value !== undefined)) {
    throw new UsageError(`${options.map(([name]) => name).join(' and ')} exclude each other: give one of them.`);
  }
}
