/*
 * `tsx scripts/test-summary.ts 1`: the figures of all suites that left a report in test-reports/, one line each, and their sum in the one form that is read by
 * every CI. A command that failed (here: one) is a failure in that, also where its report has none or was never written.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

interface Figures {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

const folder = resolve(__dirname, '..', 'test-reports');
const suites = readdirSync(folder).filter(file => file.endsWith('.xml')).sort().map(file => ({ name: file.replace('.xml', ''), ...figuresOf(join(folder, file)) }));
for (const { name, passed, failed, skipped } of suites) process.stdout.write(`  ${name}: ${passed} tests passed, ${failed} failed, ${skipped} skipped\n`);
const sum = (of: keyof Figures) => suites.reduce((total, suite) => total + suite[of], 0);
const allFailed = Math.max(sum('failed'), Number(process.argv[2] ?? 0));
process.stdout.write(`${sum('passed')} passed, ${allFailed} failed, ${sum('skipped')} skipped\n`);

function figuresOf(file: string): Figures {
  const report = readFileSync(file, 'utf8');
  const head = /<testsuites [^>]*>/.exec(report)?.[0];
  if (head === undefined) throw new Error(`${file} is no report: it was not written to its end.`);
  const number = (name: string) => Number(new RegExp(` ${name}="(\\d+)"`).exec(head)?.[1] ?? 0);
  const skipped = report.match(/<skipped\/>/g)?.length ?? 0;
  const failed = number('failures') + number('errors');
  return { passed: number('tests') - failed - skipped, failed, skipped };
}
