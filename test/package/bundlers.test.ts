import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build, type BuildOptions } from 'esbuild';
import { InvokeApi } from '../../local-aws/invoke-api';
import { SecretsServer } from '../../local-aws/secrets-server';
import { SDK_MODULES } from '../../scripts/sdk-modules';
import type { StartedEmbeddedTable } from '../../testing-kit';
import { outputOf, REPOSITORY, temporaryFolder } from '../support/command';
import { startTokenTable } from '../support/embedded-table';

/*
 * Functions that bundle the runtime from npm, as CDK's NodejsFunction does it: with esbuild, which takes `module.mjs` (the condition `module`), whether the code
 * says `import` or `require`. Each bundle runs in a process of its own, in a folder where Lambda's SDK is and nothing else.
 */
const app = temporaryFolder('bundled');
let table: StartedEmbeddedTable;
let secrets: SecretsServer;
let lambda: InvokeApi;

/** What needs each of the SDK's clients once, and how it ends: `crm-refresher` does not exist, nor does the secret. */
const WHAT_IT_DOES = `
  const failure = async promise => { try { await promise; return 'none'; } catch (error) { return error; } };
  (async () => {
    const read = await failure(new SharedToken('read-only').get());
    const asked = await failure(new SharedToken('asking', { refresher: 'crm-refresher' }).get());
    const fetched = await failure(clientCredentials({ tokenUrl: 'https://auth.example.com', credentials: { secretArn: 'crm' } })({ signal: new AbortController().signal }));
    const handler = await failure(refresherHandler({ tokenId: process.env.TOKEN_ID, refresh: () => { throw fetched; } })({}, { getRemainingTimeInMillis: () => 60000 }));
    console.log(JSON.stringify([read.code, asked.code, asked.message.includes('does not exist'), fetched.code, fetched instanceof RefreshError, handler.code]));
  })();`;
const ENTRY_POINTS = [['runtime', 'RefreshError, SharedToken'], ['runtime/oauth', 'clientCredentials'], ['runtime/refresher', 'refresherHandler']] as const;
const CODE = {
  import: ENTRY_POINTS.map(([path, names]) => `import { ${names} } from 'cdk-shared-token-table/${path}';\n`).join('') + WHAT_IT_DOES,
  require: ENTRY_POINTS.map(([path, names]) => `const { ${names} } = require('cdk-shared-token-table/${path}');\n`).join('') + WHAT_IT_DOES,
};

beforeAll(async () => {
  [table, secrets, lambda] = await Promise.all([startTokenTable(), SecretsServer.start(), InvokeApi.start()]);
  const installed = join(app, 'source', 'node_modules', 'cdk-shared-token-table');
  for (const part of ['runtime', 'package.json']) cpSync(join(REPOSITORY, part), join(installed, part), { recursive: true });
  for (const folder of ['source', 'task']) {
    mkdirSync(join(app, folder, 'node_modules'), { recursive: true });
    symlinkSync(join(REPOSITORY, 'node_modules', '@aws-sdk'), join(app, folder, 'node_modules', '@aws-sdk'));
  }
  for (const [name, code] of Object.entries(CODE)) writeFileSync(join(app, 'source', `${name}.js`), code);
});

afterAll(async () => {
  await Promise.all([table.stop(), secrets.stop(), lambda.stop()]);
});

const LAMBDAS_SDK = { external: SDK_MODULES };
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

test.each(bundles)('%s: it reads, asks, fetches a secret; all share one class of errors', async (name, code, options) => {
  const file = join(app, 'task', `${name.replace(/\W+/g, '-')}.${options.format === 'esm' ? 'mjs' : 'cjs'}`);
  const { warnings } = await build({
    entryPoints: [join(app, 'source', `${code}.js`)], outfile: file, bundle: true, minify: true, platform: 'node', target: 'node20', logLevel: 'silent', ...options,
  });
  expect(warnings).toEqual([]);
  const env = { ...table.environment, ...secrets.environment, ...lambda.environment, TOKEN_ID: name.replace(/\W+/g, '-') };
  const printed = JSON.parse(await outputOf(process.execPath, [file], { cwd: join(app, 'task'), env })) as unknown;
  expect(printed).toEqual(['NO_USABLE_TOKEN', 'REFRESHER_FAILED', true, 'SECRET_NOT_FOUND', true, 'REFRESH_FAILED']);
});
