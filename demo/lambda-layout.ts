import { cpSync, mkdirSync, symlinkSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { buildSync } from 'esbuild';
import type { Application } from './application';
import { REPOSITORY } from './settings';

/** The folders that a function finds in Lambda, below a temporary one. */
export interface LambdaLayout {
  readonly bootstrap: string;
  readonly taskRoot: string;
  readonly nodePath: string;
}

/**
 * Lays a function out as Lambda does: the layer under `opt`, the code under `task`, the runtime with the AWS SDK under `var-runtime`.
 *
 * Layer and code are copies, so that nothing in them can find this repository's `node_modules`: what the function loads comes from the layer or from what
 * Lambda itself provides.
 */
export function layOutLambda(root: string, { layerAsset, functionAsset }: Application): LambdaLayout {
  const opt = join(root, 'opt');
  const taskRoot = join(root, 'task');
  const runtime = join(root, 'var-runtime');
  cpSync(layerAsset, opt, { recursive: true });
  cpSync(functionAsset, taskRoot, { recursive: true });
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
  return { bootstrap, taskRoot, nodePath: [join(opt, 'nodejs', 'node_modules'), join(runtime, 'node_modules')].join(delimiter) };
}
