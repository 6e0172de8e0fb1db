import type { Row } from './budget-table';
import { missed } from './targets';

const COLUMNS: readonly (readonly [heading: string, text: (row: Row) => string])[] = [
  ['contender', ({ contender }) => contender],
  ['instances', ({ instances }) => whole(instances)],
  ['provider', ({ providerMs, providerCv }) => `${whole(providerMs)} ms${providerCv === 0 ? '' : ` ± ${providerCv * 100} %`}`],
  ['token', ({ tokenKb }) => `${tokenKb} KB`],
  ['auth calls', ({ authCalls }) => whole(authCalls)],
  ['invocations', ({ invocations }) => whole(invocations)],
  ['requests', ({ requestsPerInstance }) => requestsPerInstance.toFixed(2)],
  ['read units', ({ readUnits }) => readUnits.toFixed(2)],
  ['write units', ({ writeUnits }) => writeUnits.toFixed(2)],
  ['over p50', ({ overP50Ms }) => whole(overP50Ms)],
  ['p99', ({ overP99Ms }) => whole(overP99Ms)],
  ['max ms', ({ overMaxMs }) => whole(overMaxMs)],
  ['failed', ({ failed }) => whole(failed)],
];

const LEGEND = 'Requests and capacity units: per instance. Over: from the beginning of the wait until the new token is in hand, less the provider\'s latency.';

/** The rows as a Markdown table. */
export function tableText(rows: readonly Row[]): string {
  const lines = [COLUMNS.map(([heading]) => heading), ...rows.map(row => COLUMNS.map(([, text]) => text(row)))];
  const widths = COLUMNS.map((_, column) => Math.max(...lines.map(cells => cells[column]?.length ?? 0)));
  const lineOf = (cells: readonly string[]) => `| ${cells.map((cell, column) => column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)).join(' | ')} |`;
  const rule = `|${widths.map((width, column) => column === 0 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`).join('|')}|`;
  const [heading = [], ...body] = lines;
  return `${[lineOf(heading), rule, ...body.map(lineOf)].join('\n')}\n${LEGEND}\n`;
}

/** The table, and whether the targets are reached. */
export function budgetText(rows: readonly Row[]): string {
  const misses = missed(rows);
  return `${tableText(rows)}\n${misses.length === 0 ? 'The runtime meets every budget.' : `Missed by the runtime:\n${misses.join('\n')}`}\n`;
}

function whole(number: number): string {
  return number.toLocaleString('en');
}
