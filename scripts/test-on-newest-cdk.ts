/*
 * `npm run test:cdk`: the tests on the newest aws-cdk-lib that they are known to pass on, in a copy of this work tree; the development dependency is the oldest
 * that is supported. Further arguments go to jest: `npm run test:cdk -- test/construct`.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

const NEWEST = ['aws-cdk-lib@2.276.0', 'constructs@10.8.1'];

const root = resolve(__dirname, '..');
const copy = mkdtempSync(join(tmpdir(), 'newest-cdk-'));
try {
  for (const file of execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '-z'], { cwd: root, encoding: 'utf8' }).split('\0')) copyIn(file);
  execFileSync('git', ['init', '--quiet'], { cwd: copy }); // some tests list the repository's files
  process.stdout.write(`Installing ${NEWEST.join(' and ')} into a copy of this work tree, which takes a minute ...\n`);
  npm('ci');
  npm('install', '--no-save', ...NEWEST);
  npm('run', 'bundle');
  process.exitCode = spawnSync('npx', ['jest', ...process.argv.slice(2)], {
    cwd: copy,
    env: { ...process.env, JEST_JUNIT_OUTPUT_DIR: join(root, 'test-reports'), JEST_JUNIT_OUTPUT_NAME: 'newest-cdk.xml' },
    stdio: 'inherit',
  }).status ?? 1;
} finally {
  rmSync(copy, { recursive: true, force: true });
}

function copyIn(file: string): void {
  if (file === '' || !existsSync(join(root, file))) return; // one that was deleted is listed until that is committed
  mkdirSync(dirname(join(copy, file)), { recursive: true });
  copyFileSync(join(root, file), join(copy, file));
}

function npm(...args: string[]): void {
  execFileSync('npm', args, { cwd: copy, stdio: ['ignore', 'ignore', 'inherit'] });
}
