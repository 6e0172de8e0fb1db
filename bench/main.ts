import { measureColdStarts } from './cold-starts';
import { IMPORTS } from './functions';
import { comparisons, textOf } from './text';
import { NODES } from '../local-aws/lambda/environment-variables';
import { parseStrictly, readOptions, UsageError, wholeNumber } from '../scripts/command-line';
import { installTool, nodeOf, orUnavailable } from '../toolchain/tools';

const ROUNDS = { initial: 15, min: 1, max: 1_000 } as const;

const USAGE = `Usage: npm run bench -- [options]

What the shared token costs a function's cold start, on AWS's own runtime client and an embedded table.

  --node <n>     ${NODES.join(' or ')} (default: both)
  --imports      measure imports alone
  --rounds <n>   cold starts of each function: ${ROUNDS.min} to ${ROUNDS.max} (default ${ROUNDS.initial})
  --json         print one JSON object, and nothing else, on the standard output
  --help         show this text

Exit status: 2 for options that do not exist, 69 where this machine lacks what the runtime client needs.
`;

function parseOptions(args: readonly string[]) {
  const { node, rounds, imports = false, json = false, help = false } = parseStrictly(args, {
    node: { type: 'string' }, rounds: { type: 'string' }, imports: { type: 'boolean' }, json: { type: 'boolean' }, help: { type: 'boolean' },
  });
  const nodes = NODES.filter(known => node === undefined || String(known) === node);
  if (nodes.length === 0) throw new UsageError(`--node must be ${NODES.join(' or ')}, not ${JSON.stringify(node)}.`);
  return { nodes, rounds: wholeNumber('--rounds', rounds, ROUNDS), ...(imports && { variants: [IMPORTS] }), json, help };
}

async function main(args: readonly string[]): Promise<number> {
  const options = readOptions(args, parseOptions, USAGE);
  if (options === undefined) return 2;
  if (options.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  orUnavailable(() => installTool('lambda-runtime-client'));
  for (const node of options.nodes) orUnavailable(() => nodeOf(node));
  const measurements = await measureColdStarts({ ...options, onRound: round => process.stderr.write(round === 0 ? 'warmed up\n' : `round ${round} of ${options.rounds}\n`) });
  process.stdout.write(options.json ? `${JSON.stringify({ comparisons: comparisons(measurements), measurements })}\n` : textOf(measurements));
  return 0;
}

main(process.argv.slice(2)).then(status => { process.exitCode = status; }, (error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  process.exitCode = 1;
});
