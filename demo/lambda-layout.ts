import { cpSync, mkdirSync, symlinkSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { buildSync } from 'esbuild';
import type { FunctionSettings } from './function-environment';
import { REPOSITORY } from './settings';
import type { SynthesizedFunction } from './synthesis';

/**
 * Lays a function out as Lambda does, below a temporary folder: the layer under `opt`, the code under `task`, the runtime with the AWS SDK under `var-runtime`. Its
 * environment is what the template says, what Lambda sets, and where the services are that it may use.
 *
 * Layer and code are copies, so that nothing in them can find this repository's `node_modules`: what the function loads comes from the layer or from what
 * Lambda itself provides.
 */
export function layOutFunction(root: string, fn: SynthesizedFunction, endpoints: Readonly<Record<string, string>>): FunctionSettings {
  const opt = join(root, 'opt');
  const taskRoot = join(root, 'task');
  const runtime = join(root, 'var-runtime');
  if (fn.layerAsset !== undefined) cpSync(fn.layerAsset, opt, { recursive: true });
  cpSync(fn.codeAsset, taskRoot, { recursive: true });
  mkdirSync(join(runtime, 'node_modules'), { recursive: true });
  symlinkSync(join(REPOSITORY, 'node_modules', '@aws-sdk'), join(runtime, 'node_modules', '@aws-sdk'), 'junction');
  const bootstrap = join(runtime, 'bootstrap.js');
  buildSync({
    entryPoints: [join(__dirname, 'lambda-bootstrap', 'bootstrap.ts')],
    outfile: bootstrap,
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'cjs',
    logLevel: 'warning',
  });
  return {
    bootstrap,
    taskRoot,
    functionArn: fn.arn,
    timeoutMs: fn.timeoutMs,
    variables: {
      ...fn.variables,
      ...endpoints,
      NODE_PATH: [join(opt, 'nodejs', 'node_modules'), join(runtime, 'node_modules')].join(delimiter),
      LAMBDA_TASK_ROOT: taskRoot,
      _HANDLER: fn.handler,
      AWS_LAMBDA_FUNCTION_NAME: fn.name,
      AWS_LAMBDA_FUNCTION_VERSION: '$LATEST',
      AWS_LAMBDA_FUNCTION_MEMORY_SIZE: '128',
      LANG: 'en_US.UTF-8',
      TZ: ':UTC',
    },
  };
}
