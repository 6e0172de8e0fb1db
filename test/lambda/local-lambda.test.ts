import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { NODES, type NodeMajor } from '../../local-aws/lambda/environment-variables';
import type { ExecutionEnvironmentOptions } from '../../local-aws/lambda/execution-environment';
import { LocalLambda } from '../../local-aws/lambda/local-lambda';
import { possibleLayout, type OptLayoutKind } from '../../local-aws/lambda/opt-layout';
import { REPOSITORY } from '../support/command';

/* What the other files rely on: that functions run here as they do on Lambda, in whichever way this machine allows to lay them out. */
const LAYER = join(REPOSITORY, 'assets', 'layer');
const MODULES = ['cdk-shared-token-table/runtime', '@aws-sdk/client-dynamodb', '@aws-sdk/lib-dynamodb', '@aws-sdk/client-lambda'];
const here = possibleLayout();
/** Everywhere what this machine uses; and where that is a mount namespace, what others would use instead. */
const kinds: readonly OptLayoutKind[] = here === 'mounted' ? ['mounted', 'copied'] : ['copied'];
const files = {
  'commonjs/index.js': 'exports.where = async () => modules.map(name => require.resolve(name));',
  'es-module/index.mjs': `import 'cdk-shared-token-table/runtime';
    export const where = async () => modules.map(name => import.meta.resolve(name).replace('file://', ''));`,
  'index.js': `exports.environment = async (event, { memoryLimitInMB, functionName }) =>
      ({ node: process.version.split('.')[0], requiresModules: process.features.require_module, cwd: process.cwd(), memoryLimitInMB, functionName, keys: Object.keys(process.env) });
    exports.exit = async () => process.exit(3);
    exports.hang = () => new Promise(resolve => setTimeout(resolve, 600_000));`,
  'absent/index.mjs': "import 'no-such-package'; export const handler = async () => 'never';",
};

/** What Lambda sets, or the shell that starts Node.js, whatever this process has by these names. */
const NOT_INHERITED = ['LANG', 'NODE_PATH', 'PATH', 'TZ', 'OLDPWD', 'PWD'];

describe.each(kinds)(`laid out as "%s" (this machine: "${here}")`, kind => {
  let lambda: LocalLambda;
  let code: string;
  const start = async (node: NodeMajor, handler: string, more: Partial<ExecutionEnvironmentOptions> = {}) =>
    lambda.start({ node, code, layer: LAYER, handler, variables: { OF_ITS_OWN: 'yes' }, ...more });
  const paths = () => kind === 'mounted' ? { opt: '/opt/', runtime: '/var/runtime/' } : { opt: join(tmpdir(), 'local-lambda-'), runtime: join(tmpdir(), 'local-lambda-') };

  beforeAll(() => {
    code = mkdtempSync(join(tmpdir(), 'lambda-code-'));
    for (const [name, text] of Object.entries(files)) writeFile(code, name, `const modules = ${JSON.stringify(MODULES)};\n${text}`);
    lambda = LocalLambda.open(kind);
  });
  afterAll(async () => {
    await lambda.close();
    rmSync(code, { recursive: true, force: true });
  });

  describe.each(NODES)('on Node.js %i', node => {
    test.each(['commonjs', 'es-module'])('the function in %s/ finds the runtime in the layer, the SDK in Lambda\'s runtime, and nothing of this repository', async folder => {
      const environment = await start(node, `${folder}/index.where`);
      const { value } = await environment.invoke({}) as { readonly value: readonly string[] };
      const [runtime, ...sdk] = value;
      expect(runtime?.startsWith(paths().opt)).toBe(true);
      expect(sdk.filter(path => !path.startsWith(paths().runtime))).toEqual([]);
      expect(value.filter(path => path.startsWith(REPOSITORY))).toEqual([]);
    });

    test('without the layer it does not start, and says what it lacks', async () => {
      const failed = start(node, 'es-module/index.where', { layer: undefined });
      await expect(failed).rejects.toThrow('Cannot find package \'cdk-shared-token-table\'');
      await expect(failed).rejects.toMatchObject({ name: 'FailedColdStartError', initError: { errorType: expect.anything() as string } });
    });

    test('the process is what Lambda makes of it: version, flags, variables, nothing of this process\'s own', async () => {
      const environment = await start(node, 'index.environment', { memoryMb: 512, name: 'send-message' });
      const { value } = await environment.invoke({}) as { readonly value: Readonly<Record<string, unknown>> };
      expect(value).toMatchObject({ node: `v${node}`, requiresModules: node >= 24, memoryLimitInMB: '512', functionName: 'send-message' });
      expect(value.keys).toEqual(expect.arrayContaining(['OF_ITS_OWN', 'AWS_LAMBDA_RUNTIME_API', 'NODE_PATH', 'LAMBDA_TASK_ROOT']));
      const ofThisProcess = Object.keys(process.env).filter(name => !NOT_INHERITED.includes(name));
      expect(ofThisProcess).toContain('JEST_WORKER_ID');
      expect((value.keys as readonly string[]).filter(name => ofThisProcess.includes(name))).toEqual([]);
      if (kind === 'mounted') expect(value.cwd).toBe('/var/task');
    });

    test('a function whose process ends, and one that takes too long, fail as they do on Lambda', async () => {
      const exiting = await start(node, 'index.exit');
      expect(await exiting.invoke({})).toEqual({
        error: { errorType: 'Runtime.ExitError', errorMessage: expect.stringMatching(/^RequestId: [\w-]+ Error: Runtime exited with error: exit status 3$/) as string },
      });
      expect(exiting.exit).toEqual({ code: 3, signal: null });

      const hanging = await start(node, 'index.hang', { timeoutMs: 1_500 });
      expect(await hanging.invoke({})).toEqual({
        error: { errorType: 'Sandbox.Timedout', errorMessage: expect.stringMatching(/^RequestId: [\w-]+ Error: Task timed out after 1.50 seconds$/) as string },
      });
      expect(await hanging.ended()).toEqual({ code: null, signal: 'SIGKILL' });
      await expect(hanging.invoke({})).rejects.toThrow('gone');
    });
  });

  test('a package that is nowhere is an error of the function', async () => {
    await expect(start(22, 'absent/index.handler')).rejects.toThrow('no-such-package');
  });
});

function writeFile(folder: string, name: string, text: string): void {
  mkdirSync(dirname(join(folder, name)), { recursive: true });
  writeFileSync(join(folder, name), text);
}
