import { parseStrictly, UsageError, wholeNumber } from '../scripts/command-line';

export { UsageError };

/**
 * Who refreshes. `reactive`: whichever instance notices first. `refresher`: a function of its own, which the instances ask; they hold no credentials.
 */
export type DemoMode = typeof MODES[number];

/** What the user asked for. */
export interface DemoOptions {
  readonly mode: DemoMode;
  readonly instances: number;
  readonly rotations: number;
  readonly killHolder: boolean;
  readonly json: boolean;
  readonly help: boolean;
}

const MODES = ['reactive', 'refresher'] as const;
const INSTANCES = { initial: 30, min: 1, max: 200 } as const;
const ROTATIONS = { initial: 3, min: 1, max: 50 } as const;

export const USAGE = `Usage: npm run demo -- [options]

  --mode <mode>       who refreshes: ${MODES[0]}, the instance that notices first (default), or ${MODES[1]}, a function of its own
                      that the others ask; then they hold no credentials
  --instances <n>     function environments, each a process of its own: ${INSTANCES.min} to ${INSTANCES.max} (default ${INSTANCES.initial})
  --rotations <n>     how often the token is revoked: ${ROTATIONS.min} to ${ROTATIONS.max} (default ${ROTATIONS.initial})
  --kill-holder       kill who refreshes, once, in the middle of its auth call (default)
  --no-kill-holder    kill nobody
  --json              print the result as one JSON object, and nothing else, on the standard output
                      (npm prints a heading of its own: use \`npm run --silent demo -- --json\`)
  --help              show this text

Exit status: 0 when all went well, 1 when it did not, 2 for options that do not exist.
`;

/** Reads the command line. @throws UsageError naming the option and what is allowed. */
export function parseOptions(args: readonly string[]): DemoOptions {
  const values = parseStrictly(args, {
    'mode': { type: 'string' },
    'instances': { type: 'string' },
    'rotations': { type: 'string' },
    'kill-holder': { type: 'boolean' },
    'no-kill-holder': { type: 'boolean' }, // parseArgs' own `allowNegative` is younger than the oldest Node supported here
    'json': { type: 'boolean' },
    'help': { type: 'boolean' },
  });
  if (values['kill-holder'] && values['no-kill-holder']) {
    throw new UsageError('--kill-holder and --no-kill-holder exclude each other: give one of them.');
  }
  return {
    mode: modeNamed(values.mode),
    instances: wholeNumber('--instances', values.instances, INSTANCES),
    rotations: wholeNumber('--rotations', values.rotations, ROTATIONS),
    killHolder: !values['no-kill-holder'],
    json: values.json ?? false,
    help: values.help ?? false,
  };
}

function modeNamed(text: string = MODES[0]): DemoMode {
  const mode = MODES.find(known => known === text);
  if (mode) return mode;
  throw new UsageError(`--mode must be ${MODES.join(' or ')}, not ${JSON.stringify(text)}.`);
}
