import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build, type BuildOptions } from 'esbuild';
import { InvokeApi } from '../../local-aws/invoke-api';
import { KmsServer } from '../../local-aws/kms-server';
import { SecretsServer } from '../../local-aws/secrets-server';
import { SDK_MODULES } from '../../scripts/sdk-modules';
import type { StartedEmbeddedTable } from '../../testing-kit';
import { outputOf, REPOSITORY, temporaryFolder, type CommandOptions } from '../support/command';
import { startTokenTable } from '../support/embedded-table';

/*
 * Functions that bundle the runtime from npm, as CDK's NodejsFunction does it: with esbuild, which takes `module.mjs` (the condition `module`), whether the code
 * says `import` or `require`. Each bundle runs in a process of its own, in a folder where Lambda's SDK is and nothing else.
 */
const app = temporaryFolder('bundled');
let table: StartedEmbeddedTable;
let secrets: SecretsServer;
let lambda: InvokeApi;
let kms: KmsServer;
let keyArn: string;

/** What needs each of the SDK's clients once, and how it ends: `crm-refresher` does not exist, nor does the secret. */
const WHAT_IT_DOES = `
  const failure = async promise => { try { await promise; return 'none'; } catch (error) { return error; } };
  (async () => {
    const read = await failure(new SharedToken('read-only').get());
    const asked = await failure(new SharedToken('asking', { refresher: 'crm-refresher' }).get());
    const fetched = await failure(clientCredentials({ tokenUrl: 'https://auth.example.com', credentials: { secretArn: 'crm' } })({ signal: new AbortController().signal }));
    const handler = await failure(refresherHandler({ tokenId: process.env.TOKEN_ID, refresh: () => { throw fetched; } })({}, { getRemainingTimeInMillis: () => 60000 }));
    const table = process.env.SHARED_TOKEN_TABLE + '#' + process.env.KEY_ARN;
    const encrypted = await new SharedToken('encrypted', { table, refresh: async () => ({ accessToken: 'a token', expiresIn: 60 }) }).get();
    console.log(JSON.stringify([encrypted, read.code, asked.code, asked.message.includes('does not exist'), fetched.code, fetched instanceof RefreshError, handler.code]));
  })();`;
const ENTRY_POINTS = [['runtime', 'RefreshError, SharedToken'], ['runtime/oauth', 'clientCredentials'], ['runtime/refresher', 'refresherHandler']] as const;
const CODE = {
  import: ENTRY_POINTS.map(([path, names]) => `import { ${names} } from 'cdk-shared-token-table/${path}';\n`).join('') + WHAT_IT_DOES,
  require: ENTRY_POINTS.map(([path, names]) => `const { ${names} } = require('cdk-shared-token-table/${path}');\n`).join('') + WHAT_IT_DOES,
};

beforeAll(async () => {
  [table, secrets, lambda, kms] = await Promise.all([startTokenTable(), SecretsServer.start(), InvokeApi.start(), KmsServer.start()]);
  keyArn = kms.createKey();
  const installed = join(app, 'source', 'node_modules', 'cdk-shared-token-table');
  for (const part of ['runtime', 'package.json']) cpSync(join(REPOSITORY, part), join(installed, part), { recursive: true });
  for (const folder of ['source', 'task']) {
    mkdirSync(join(app, folder, 'node_modules'), { recursive: true });
    symlinkSync(join(REPOSITORY, 'node_modules', '@aws-sdk'), join(app, folder, 'node_modules', '@aws-sdk'));
  }
  for (const [name, code] of Object.entries(CODE)) writeFileSync(join(app, 'source', `${name}.js`), code);
});

afterAll(async () => {
  await Promise.all([table.stop(), secrets.stop(), lambda.stop(), kms.stop()]);
});

const LAMBDAS_SDK = { external: SDK_MODULES };
/** Somewhere else than `task`: the SDK is found by NODE_PATH alone, as on Lambda. */
const elsewhere = join(app, 'elsewhere');
const bundles: readonly (readonly [string, 'import' | 'require', BuildOptions])[] = [
  ['an ES module, with the SDK of Lambda', 'import', { format: 'esm', ...LAMBDAS_SDK }],
  ['CommonJS, with the SDK of Lambda', 'import', { format: 'cjs', ...LAMBDAS_SDK }],
  ['CommonJS of CommonJS, with the SDK of Lambda', 'require', { format: 'cjs', ...LAMBDAS_SDK }],
  ['CommonJS with all in it', 'import', { format: 'cjs' }],
  ['CommonJS with all in it, of the packages\' ES modules', 'import', { format: 'cjs', mainFields: ['module', 'main'] }],
  ['an ES module with all in it, of the packages\' ES modules', 'import', {
    format: 'esm', mainFields: ['module', 'main'], banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
  }],
];

const WHAT_IT_MUST_PRINT = ['a token', 'NO_USABLE_TOKEN', 'REFRESHER_FAILED', true, 'SECRET_NOT_FOUND', true, 'REFRESH_FAILED'];

async function bundled(code: 'import' | 'require', file: string, options: BuildOptions): Promise<void> {
  const { warnings } = await build({
    entryPoints: [join(app, 'source', `${code}.js`)],
    outfile: file,
    bundle: true,
    minify: true,
    platform: 'node',
    target: 'node20',
    logLevel: 'silent',
    ...options,
  });
  expect(warnings).toEqual([]);
}

/** @param tokenId of its own: failures are remembered in the table */
async function printedBy(tokenId: string, args: readonly string[], { cwd, env }: CommandOptions): Promise<unknown> {
  const services = { ...table.environment, ...secrets.environment, ...lambda.environment, ...kms.environment };
  const parts = { ...services, SHARED_TOKEN_TABLE: table.tableName, TOKEN_ID: tokenId, KEY_ARN: keyArn, ...env };
  return JSON.parse(await outputOf(process.execPath, args, { cwd, env: parts }));
}

test.each(bundles)('%s: it reads, asks, fetches a secret; all share one class of errors', async (name, code, options) => {
  const id = name.replace(/\W+/g, '-');
  const file = join(app, 'task', `${id}.${options.format === 'esm' ? 'mjs' : 'cjs'}`);
  await bundled(code, file, options);
  expect(await printedBy(id, [file], { cwd: join(app, 'task') })).toEqual(WHAT_IT_MUST_PRINT);
});

test('CommonJS, with an SDK that only NODE_PATH names, which no `import()` of Node\'s own searches', async () => {
  mkdirSync(elsewhere);
  const file = join(elsewhere, 'index.cjs');
  await bundled('import', file, { format: 'cjs', ...LAMBDAS_SDK });
  const env = { NODE_PATH: join(app, 'task', 'node_modules') };
  expect(await printedBy('by-node-path', [file], { cwd: elsewhere, env })).toEqual(WHAT_IT_MUST_PRINT);
});

test('CommonJS, where there is no `import()` at all, as in jest', async () => {
  const file = join(app, 'task', 'without-import.cjs');
  await bundled('import', file, { format: 'cjs', ...LAMBDAS_SDK });
  const run = `
    const { createRequire, wrap } = require('node:module');
    const code = require('node:fs').readFileSync(process.argv[1], 'utf8');
    require('node:vm').runInThisContext(wrap(code))({}, createRequire(process.argv[1]), {}, process.argv[1]);`;
  expect(await printedBy('without-import', ['-e', run, file], { cwd: join(app, 'task') })).toEqual(WHAT_IT_MUST_PRINT);
});
