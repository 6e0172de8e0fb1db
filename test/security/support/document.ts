import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { REPOSITORY } from '../../support/command';

const page = readFileSync(join(REPOSITORY, 'docs', 'security-checks.md'), 'utf8');

/** The rows of the table below a heading of docs/security-checks.md. */
export function rowsBelow(heading: string): string[] {
  const [, section] = page.split(`\n## ${heading}\n`);
  if (section === undefined) throw new Error(`docs/security-checks.md has no section '${heading}'.`);
  return section.split('\n## ')[0].split('\n').filter(line => line.startsWith('| `'));
}
