import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BEHIND } from './authorizations';
import { CONDITION_VALUES } from './condition-values';
import type { Principal, Verdict } from './iam';
import { type Column, COLUMNS } from './matrix';
import { REPOSITORY } from '../../support/command';

const PAGE = join(REPOSITORY, 'docs', 'policies.md');

/** With this variable set the page is written, not compared. */
const UPDATE = 'UPDATE_POLICIES_PAGE';

/** A part of the matrix. */
export interface MatrixSection {
  readonly title: string;
  readonly rows: readonly { readonly what: string; readonly cells: Readonly<Record<Column, Verdict>> }[];
}

/** Compares a part of docs/policies.md, between two comments, with what it should be. */
export function expectPage(name: string, expected: string): void {
  const page = readFileSync(PAGE, 'utf8');
  const [start, end] = [`<!-- ${name}: written by \`${UPDATE}=1 npx jest test/policies\` -->\n`, `\n<!-- end of ${name} -->`];
  const [before, rest = ''] = page.split(start) as [string, string?];
  const [part, after] = rest.split(end) as [string, string?];
  if (after === undefined) throw new Error(`docs/policies.md has no part ${name}.`);
  if (process.env[UPDATE]) writeFileSync(PAGE, [before, start, expected, end, after].join(''));
  else expect(part).toBe(expected);
}

type RowName = keyof typeof CONDITION_VALUES;

/** The matrix as tables of Markdown. A number stands for what it hangs on, where no document says so. */
export function matrixTable(sections: readonly MatrixSection[]): string {
  const open = new Set(sections.flatMap(({ rows }) => rows.flatMap(({ cells }) => Object.values(cells).flatMap(({ unless }) => unless))));
  const notes = (Object.keys(CONDITION_VALUES) as RowName[]).filter(row => open.has(row));
  const cell = ({ isAllowed, unless }: Verdict) => [...(isAllowed ? ['yes'] : unless.length > 0 ? ['no'] : []), ...unless.map(row => `<sup>${notes.indexOf(row) + 1}</sup>`)].join(' ');
  const isForNobody = ({ cells }: MatrixSection['rows'][number]) => COLUMNS.every(column => cell(cells[column]) === '');
  const parts = sections.map(({ title, rows }) => {
    const forSome = rows.filter(row => !isForNobody(row));
    const forNobody = rows.filter(isForNobody).map(({ what }) => what).join('; ');
    return [
      `### ${title}\n`,
      ...(forSome.length > 0 ? [
        `| | ${COLUMNS.join(' | ')} |`,
        `|---|${COLUMNS.map(() => '---|').join('')}`,
        ...forSome.map(({ what, cells }) => `| ${[what, ...COLUMNS.map(column => cell(cells[column]))].join(' | ')} |`),
      ] : []),
      ...(forNobody === '' ? [] : [`${forSome.length > 0 ? '\n' : ''}Nobody: ${forNobody}.`]),
    ].join('\n');
  });
  return [...parts, `### What hangs on what no document says\n\n${notes.map((row, i) => `${i + 1}. \`${CONDITION_VALUES[row].key}\`: ${CONDITION_VALUES[row].is}`).join('\n')}`].join('\n\n');
}

/** The statements of grants, as IAM gets them. */
export function grantsText(grants: Readonly<Record<string, Principal>>): string {
  return Object.entries(grants).map(([title, { statements }]) => `${title}\n\n\`\`\`json\n${oneLineLists(JSON.stringify(statements, null, 2))}\n\`\`\``).join('\n\n');
}

/** Lists of names take a line each, and not one for each name. */
function oneLineLists(json: string): string {
  return json.replace(/\[\s+("[^\]{}]*")\s+\]/g, (_, names: string) => `[${names.replace(/\s+/g, ' ')}]`);
}

/** What AWS fills a condition's keys with, and where that is said. */
export function conditionTable(): string {
  const behind = Object.values(BEHIND).map(({ actions, ...row }) => ({ key: actions.join('`, `'), ...row }));
  const rows = [...Object.values(CONDITION_VALUES), ...behind].map(({ key, is, source, documented, ...row }) => {
    const said = documented ? `[yes](${source})` : `[no](${source}): ${('cases' in row ? row.cases : []).map(name => `\`${name}\``).join(', ')}`;
    return `| \`${key}\` | ${is} | ${said} |`;
  });
  return ['| key | is | documented |', '|---|---|---|', ...rows].join('\n');
}
