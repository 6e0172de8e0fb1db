/*
 * `npm run test:node -- 24`: the runtime's tests on the Node.js of another of Lambda's runtimes (20, 22 or 24; see toolchain/). Further arguments go to jest.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { join, resolve } from 'node:path';
import { nodeOf, orUnavailable } from '../toolchain/tools';

const MAJORS = [20, 22, 24] as const;
const THE_RUNTIMES = ['runtime', 'encryption', 'oauth', 'refresher', 'operator', 'leaks', 'hostile', 'testing-kit'].map(folder => `test/${folder}/`);

const [asked = '', ...forJest] = process.argv.slice(2);
const major = MAJORS.find(known => String(known) === asked);
if (major === undefined) {
  process.stderr.write(`Usage: npm run test:node -- ${MAJORS.join('|')} [jest's arguments]\n`);
  process.exit(2);
}
const node = orUnavailable(() => nodeOf(major));
const root = resolve(__dirname, '..');
execFileSync('npm', ['run', '--silent', 'bundle'], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
process.stdout.write(`Node.js ${spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout}`);
const { status } = spawnSync(node, [join(root, 'node_modules', 'jest', 'bin', 'jest.js'), ...(forJest.length > 0 ? forJest : THE_RUNTIMES)], {
  cwd: root,
  env: { ...process.env, JEST_JUNIT_OUTPUT_NAME: `node-${major}.xml` },
  stdio: 'inherit',
});
process.exitCode = status ?? 1;
