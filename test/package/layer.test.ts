import { cpSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { outputOf, REPOSITORY, temporaryFolder } from '../support/command';

/*
 * The layer as Lambda lays it out: its content under opt/, the function's code elsewhere, the SDK where Lambda's runtime keeps its own. Copied, since a
 * symbolic link would resolve into this repository and find everything in its node_modules.
 */
const root = temporaryFolder('layer');
const task = join(root, 'task');
const nodePath = [join(root, 'opt', 'nodejs', 'node_modules'), join(root, 'var-runtime', 'node_modules')].join(':');
const probe = 'console.log(JSON.stringify({ names: Object.keys(runtime).sort(), code: codeOf(() => new runtime.SharedToken("")) }));\n' +
  'function codeOf(make) { try { make(); } catch (error) { return error.code; } }\n';

beforeAll(() => {
  cpSync(join(REPOSITORY, 'assets', 'layer'), join(root, 'opt'), { recursive: true });
  mkdirSync(join(root, 'var-runtime', 'node_modules'), { recursive: true });
  symlinkSync(join(REPOSITORY, 'node_modules', '@aws-sdk'), join(root, 'var-runtime', 'node_modules', '@aws-sdk'));
  mkdirSync(task);
  writeFileSync(join(task, 'index.cjs'), `const runtime = require('cdk-shared-token-table/runtime');\n${probe}`);
  writeFileSync(join(task, 'index.mjs'), `import * as all from 'cdk-shared-token-table/runtime';\nconst runtime = { ...all };\n${probe}`);
  writeFileSync(join(task, 'both.mjs'), "import { createRequire } from 'node:module';\nimport { SharedToken } from 'cdk-shared-token-table/runtime';\n" +
    "console.log(SharedToken === createRequire(import.meta.url)('cdk-shared-token-table/runtime').SharedToken);\n");
});

const lambdaEsm = ['--import', pathToFileURL(join(REPOSITORY, 'test', 'support', 'lambda-node-path.mjs')).href];
const node = async (...args: string[]) => outputOf(process.execPath, [...args], { cwd: task, env: { NODE_PATH: nodePath } });

test.each([
  ['a CommonJS function', ['index.cjs']],
  ['an ES module function', [...lambdaEsm, 'index.mjs']],
])('%s finds the runtime in the layer', async (_, args) => {
  expect(JSON.parse(await node(...args))).toEqual({ names: ['RefreshError', 'SharedToken', 'SharedTokenError'], code: 'INVALID_TOKEN_ID' });
});

test('what stands below the runtime shares its classes: an error of a source is an error of the runtime', async () => {
  writeFileSync(join(task, 'below.cjs'), `const { RefreshError, SharedTokenError } = require('cdk-shared-token-table/runtime');
    const { clientCredentials } = require('cdk-shared-token-table/runtime/oauth');
    const { refresherHandler } = require('cdk-shared-token-table/runtime/refresher');
    const of = make => { try { make(); } catch (error) { return error.constructor; } };
    const source = of(() => clientCredentials({ tokenUrl: 'http://elsewhere.example', credentials: {} }));
    console.log([RefreshError, SharedTokenError].includes(source), of(() => refresherHandler({})) === SharedTokenError);`);
  expect((await node('below.cjs')).trim()).toBe('true true');
});

test('import and require give the same module: one memory and one flight per process', async () => {
  expect((await node(...lambdaEsm, 'both.mjs')).trim()).toBe('true');
});

test('the layer carries the runtime alone, without the SDK, and no version that would change its hash with every release', () => {
  const layer = join(REPOSITORY, 'assets', 'layer');
  const files = readdirSync(layer, { recursive: true, encoding: 'utf8' }).filter(file => statSync(join(layer, file)).isFile()).sort();
  const home = 'nodejs/node_modules/cdk-shared-token-table';
  const runtime = ['index.js', 'index.mjs', 'oauth/THIRD-PARTY-LICENSES.txt', 'oauth/index.js', 'oauth/index.mjs', 'refresher/index.js', 'refresher/index.mjs'];
  expect(files).toEqual([`${home}/package.json`, ...runtime.map(file => `${home}/runtime/${file}`)]);
  expect(JSON.parse(readFileSync(join(layer, home, 'package.json'), 'utf8'))).not.toHaveProperty('version');
});

test('the runtime\'s own code stays small: it is loaded at every cold start', () => {
  const bytes = statSync(join(REPOSITORY, 'runtime', 'index.js')).size;
  expect(bytes).toBeGreaterThan(10_000); // the whole of it, with the SDK outside
  expect(bytes).toBeLessThan(47_000);
});
