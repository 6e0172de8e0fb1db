import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as ts from 'typescript';
import { REPOSITORY } from '../support/command';

/*
 * docs/scenarios.md names the test that holds each scenario. A name that no test has is a scenario that nothing holds.
 */
const page = readFileSync(join(REPOSITORY, 'docs', 'scenarios.md'), 'utf8');
const rows = page.split('\n').filter(line => line.startsWith('| ')).map(line => line.split('|').map(cell => cell.trim()).slice(1, -1))
  .filter(([first]) => first !== 'what happened');

/** `[folder/file](../test/folder/file.test.ts) group › name` */
const REFERENCE = /^\[([\w/-]+)\]\(\.\.\/(test\/\1\.test\.ts)\) (.+)$/;
const references = rows.flatMap(([, tests = '']) => tests.split('<br>')).map(text => REFERENCE.exec(text) ?? [text, '', '', '']);

test('every row says what happened, and names a test', () => {
  expect(rows.length).toBeGreaterThan(40);
  expect(rows.filter(row => row.length !== 2 || row.includes(''))).toEqual([]);
  expect(references.filter(([, file]) => file === '').map(([text]) => text)).toEqual([]);
});

test('every test that is named exists', () => {
  const missing = references.filter(([, , path = '', name = '']) => !namesIn(path).has(name)).map(([text]) => text);
  expect(missing).toEqual([]);
});

const known = new Map<string, ReadonlySet<string>>();

/** The tests of a file, with the groups in which they stand. */
function namesIn(path: string): ReadonlySet<string> {
  const names = known.get(path) ?? new Set([...testsOf(path), ...(path.endsWith('protocol-vectors.test.ts') ? vectorNames() : [])]);
  known.set(path, names);
  return names;
}

function testsOf(path: string): string[] {
  const source = ts.createSourceFile(path, readFileSync(join(REPOSITORY, path), 'utf8'), ts.ScriptTarget.Latest);
  const visit = (node: ts.Node, groups: readonly string[]): string[] => {
    const call = ts.isCallExpression(node) ? node : undefined;
    const title = call?.arguments[0];
    const kind = call && /^(test|describe)(\.each\b|$)/.exec(call.expression.getText(source))?.[1];
    if (kind === undefined || title === undefined || !ts.isStringLiteralLike(title)) return childrenOf(node).flatMap(child => visit(child, groups));
    const own = [...groups, title.text];
    return kind === 'test' ? [own.join(' › ')] : childrenOf(node).flatMap(child => visit(child, own));
  };
  return visit(source, []);
}

function childrenOf(node: ts.Node): ts.Node[] {
  const children: ts.Node[] = [];
  node.forEachChild(child => { children.push(child); });
  return children;
}

/** Vectors are tests, too, named in their file. */
function vectorNames(): string[] {
  const vectors = JSON.parse(readFileSync(join(REPOSITORY, 'docs', 'protocol-vectors.json'), 'utf8')) as Readonly<Record<string, unknown>>;
  return Object.entries(vectors).flatMap(([section, list]) => Array.isArray(list) ? list.map(({ name }: { name: string }) => `${section} › ${name}`) : []);
}
