import { relative } from 'node:path';
import { CleanUp } from './clean-up';
import { parseOptions, USAGE, type DemoOptions } from './options';
import { OutputFileError } from './output-file';
import { paintFor, Progress } from './progress';
import { jsonReport, tableReport } from './report';
import { runDemo, type DemoResult } from './run-demo';
import { TIMELINE_FILE } from './settings';
import { readOptions } from '../scripts/command-line';

const EXIT = { OK: 0, FAILED: 1, USAGE: 2 } as const;

async function main(args: readonly string[]): Promise<number> {
  const progress = new Progress();
  const cleanUp = new CleanUp();
  for (const stream of [process.stdout, process.stderr]) stream.on('error', error => endWithoutReader(error, cleanUp));
  const options = readOptions(args, parseOptions, USAGE);
  if (options === undefined) return EXIT.USAGE;
  if (options.help) {
    process.stdout.write(USAGE);
    return EXIT.OK;
  }
  for (const [signal, status] of [['SIGINT', 130], ['SIGTERM', 143], ['SIGHUP', 129]] as const) {
    // Not `once`: a terminal and tsx both pass Ctrl-C on, and the second one must not end the process in the middle of its cleaning up.
    process.on(signal, () => {
      progress.end();
      void cleanUp.run().finally(() => process.exit(status));
    });
  }
  try {
    return print(options, await runDemo(options, progress, cleanUp));
  } finally {
    progress.end();
    await cleanUp.run();
  }
}

/** Whoever read the output is gone (`npm run demo | head -1`), or it cannot be written: nobody is left to run for, and a gone reader is none to complain to. */
function endWithoutReader(error: NodeJS.ErrnoException, cleanUp: CleanUp): void {
  if (error.code !== 'EPIPE') process.stderr.write(`The output cannot be written: ${error.message}\n`);
  void cleanUp.run().finally(() => process.exit(EXIT.FAILED));
}

function print({ instances, json }: DemoOptions, result: DemoResult): number {
  const ok = result.brokenPromises.length === 0;
  const timeline = relative(process.cwd(), TIMELINE_FILE);
  if (json) process.stdout.write(`${JSON.stringify(jsonReport(instances, result.rotations, timeline, ok))}\n`);
  else process.stdout.write(textReport(result, timeline));
  if (!ok) process.stderr.write([...result.brokenPromises, ...(result.firstError ? [`First error: ${result.firstError}`] : [])].map(line => `${line}\n`).join(''));
  return ok ? EXIT.OK : EXIT.FAILED;
}

function textReport(result: DemoResult, timeline: string): string {
  const paint = paintFor(process.stdout);
  const killed = result.rotations.some(({ killedHolder }) => killedHolder);
  const verdict = result.brokenPromises.length === 0
    ? paint.good(`As promised: one auth call per rotation${killed ? ', at most two where its holder was killed' : ''}; no request failed for good.`)
    : paint.bad('Not as promised:');
  return `\n${tableReport(result.start, result.rotations, paint)}\n\nTimeline: ${timeline} (open it in a browser)\n${verdict}\n`;
}

function textOf(error: unknown): string {
  if (error instanceof OutputFileError) return error.message;
  return error instanceof Error ? error.stack ?? error.message : String(error);
}

main(process.argv.slice(2)).then(
  (status) => { process.exitCode = status; },
  (error: unknown) => {
    process.stderr.write(`${textOf(error)}\n`);
    process.exitCode = EXIT.FAILED;
  },
);
