import { soak } from './soak';
import { parseStrictly, UsageError, wholeNumber } from '../scripts/command-line';

const PROCESSES = { initial: 8, min: 1, max: 64 } as const;
const ROTATIONS = { initial: 200, min: 1, max: 100_000 } as const;

const USAGE = `Usage: npm run soak -- [options]

  --processes <n>   processes that use eight tokens: ${PROCESSES.min} to ${PROCESSES.max} (default ${PROCESSES.initial})
  --rotations <n>   revocations in all: ${ROTATIONS.min} to ${ROTATIONS.max} (default ${ROTATIONS.initial})
  --json            print the result as one JSON object, and nothing else, on the standard output
  --help            show this text

Exit status: 0 when nothing was lost, 1 when something was, 2 for options that do not exist.
`;

async function main(args: readonly string[]): Promise<number> {
  const values = parseStrictly(args, { processes: { type: 'string' }, rotations: { type: 'string' }, json: { type: 'boolean' }, help: { type: 'boolean' } });
  if (values.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  const options = {
    processes: wholeNumber('--processes', values.processes, PROCESSES),
    rotations: wholeNumber('--rotations', values.rotations, ROTATIONS),
  };
  const result = await soak(options, text => process.stderr.write(`${text}\n`));
  if (values.json) process.stdout.write(`${JSON.stringify(result)}\n`);
  else process.stdout.write(`${result.problems.length === 0 ? 'Nothing was lost.' : result.problems.join('\n')}\n${JSON.stringify({ ...result, problems: result.problems.length })}\n`);
  return result.problems.length === 0 ? 0 : 1;
}

main(process.argv.slice(2)).then(status => { process.exitCode = status; }, (error: unknown) => {
  process.stderr.write(error instanceof UsageError ? `${error.message}\n\n${USAGE}` : `${error instanceof Error ? error.stack : String(error)}\n`);
  process.exitCode = error instanceof UsageError ? 2 : 1;
});
