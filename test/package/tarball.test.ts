import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { outputOf, REPOSITORY, temporaryFolder } from '../support/command';

/*
 * The package as users get it: packed, installed into an empty app beside aws-cdk-lib, synthesized; and its types compiled by consumers of both module kinds.
 */
jest.setTimeout(300_000);
const app = temporaryFolder('app');
let packed: { readonly filename: string; readonly files: readonly { readonly path: string }[] };

beforeAll(async () => {
  if (!existsSync(join(REPOSITORY, 'lib', 'index.js'))) await outputOf('npx', ['projen', 'compile'], { cwd: REPOSITORY });
  const [result] = JSON.parse(await outputOf('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', app], { cwd: REPOSITORY })) as typeof packed[];
  if (result === undefined) throw new Error('npm packed nothing');
  packed = result;
  writeFileSync(join(app, 'package.json'), JSON.stringify({ name: 'empty-app', private: true }));
  await outputOf('npm', ['install', '--offline', '--legacy-peer-deps', '--ignore-scripts', join(app, packed.filename)], { cwd: app });
  for (const peer of ['aws-cdk-lib', 'constructs', '@types', '@aws-sdk', 'dynalite']) {
    symlinkSync(join(REPOSITORY, 'node_modules', peer), join(app, 'node_modules', peer));
  }
});

test('the tarball holds the library, the runtime, the layer and the testing kit, and nothing of the workshop', () => {
  const folders = new Set(packed.files.map(file => file.path.split('/')[0]));
  const workshop = [
    'src', 'lambda-runtime', 'local-aws', 'testing-kit', 'test', 'demo', 'examples', 'scripts', 'docs', 'node_modules', '.ci', '.github', 'projenrc', '.cache', 'toolchain',
    'bench',
  ];
  expect(workshop.filter(folder => folders.has(folder))).toEqual([]);
  const paths = packed.files.map(file => file.path);
  for (const file of [
    'lib/index.js', 'lib/index.d.ts', '.jsii', 'API.md', 'LICENSE', 'README.md',
    'runtime/index.js', 'runtime/index.mjs', 'runtime/module.mjs', 'runtime/index.d.ts', 'runtime/index.d.mts',
    'runtime/oauth/index.js', 'runtime/oauth/module.mjs', 'runtime/oauth/index.d.ts', 'runtime/oauth/THIRD-PARTY-LICENSES.txt', 'runtime/refresher/index.js', 'runtime/refresher/module.mjs', 'runtime/refresher/index.d.ts',
    'runtime/operator/index.js', 'runtime/operator/index.mjs', 'runtime/operator/module.mjs', 'runtime/operator/index.d.ts', 'runtime/operator/shared-token.js',
    'testing/index.js', 'testing/index.mjs', 'testing/index.d.ts',
    'assets/layer/nodejs/node_modules/cdk-shared-token-table/package.json',
    'assets/layer/nodejs/node_modules/cdk-shared-token-table/runtime/index.js',
    'assets/refresher/index.js', 'assets/refresher/THIRD-PARTY-LICENSES.txt',
  ]) expect(paths).toContain(file);
});

test('an empty app that installed the tarball synthesizes a table, an attached function and its layer', async () => {
  mkdirSync(join(app, 'handler'), { recursive: true });
  writeFileSync(join(app, 'handler', 'index.js'), 'exports.handler = async () => undefined;\n');
  writeFileSync(join(app, 'app.js'), `
    const { App, Stack } = require('aws-cdk-lib');
    const lambda = require('aws-cdk-lib/aws-lambda');
    const { SharedTokenTable } = require('cdk-shared-token-table');
    const app = new App({ outdir: 'cdk.out' });
    const stack = new Stack(app, 'Stack');
    const fn = new lambda.Function(stack, 'Fn', { runtime: lambda.Runtime.NODEJS_22_X, handler: 'index.handler', code: lambda.Code.fromAsset('handler') });
    new SharedTokenTable(stack, 'Tokens').attachTo(fn);
    const template = app.synth().getStackByName('Stack').template;
    console.log(JSON.stringify(Object.values(template.Resources).map(resource => resource.Type).sort()));
  `);
  const types = JSON.parse(await outputOf(process.execPath, ['app.js'], { cwd: app })) as string[];
  expect(types).toEqual(expect.arrayContaining(['AWS::DynamoDB::GlobalTable', 'AWS::Lambda::Function', 'AWS::Lambda::LayerVersion', 'AWS::IAM::Policy']));
  const assets = readdirSync(join(app, 'cdk.out'), { recursive: true, encoding: 'utf8' });
  expect(assets.filter(file => file.endsWith('node_modules/cdk-shared-token-table/runtime/index.js'))).toHaveLength(1);
});

test('npm links the command, which says what it takes', async () => {
  expect(await outputOf(join(app, 'node_modules', '.bin', 'shared-token'), ['--help'], { cwd: app })).toMatch(/^Usage: shared-token/);
});

test('the types of all entry points compile in CommonJS and in an ES module', async () => {
  const text = `
    import { SharedTokenTable } from 'cdk-shared-token-table';
    import { SharedToken, SharedTokenError, type SharedTokenErrorCode } from 'cdk-shared-token-table/runtime';
    import { clientCredentials } from 'cdk-shared-token-table/runtime/oauth';
    import { SharedTokenOperator, type SharedTokenState } from 'cdk-shared-token-table/runtime/operator';
    import { refresherHandler } from 'cdk-shared-token-table/runtime/refresher';
    import { startEmbeddedTable } from 'cdk-shared-token-table/testing';
    export const crm = new SharedToken('crm', { refresh: async ({ signal }) => ({ accessToken: String(signal.aborted), expiresIn: 60 }) });
    export const answer: Promise<number> = crm.use(async token => token.length);
    export const code = (error: SharedTokenError): SharedTokenErrorCode => error.code;
    export const handler = refresherHandler({ refresh: clientCredentials({ tokenUrl: 'https://auth.example.com/token', credentials: { secretArn: 'crm' } }) });
    export const state: Promise<SharedTokenState> = new SharedTokenOperator('crm', { table: 'Tokens' }).state();
    export const parts = [SharedTokenTable.name, startEmbeddedTable.name];
    // @ts-expect-error a token id is a string
    export const wrong = new SharedToken(7);
  `;
  const files = ['types.cts', 'types.mts'];
  files.forEach(file => writeFileSync(join(app, file), text));
  const tsc = join(REPOSITORY, 'node_modules', 'typescript', 'bin', 'tsc');
  await outputOf(process.execPath, [tsc, '--noEmit', '--strict', '--module', 'node16', '--target', 'es2022', '--skipLibCheck', '--types', 'node', ...files], { cwd: app });
});
