/*
 * Bundles what leaves this repository as plain JavaScript:
 *
 *   runtime/                                   cdk-shared-token-table/runtime, as npm users import it
 *   assets/layer/nodejs/node_modules/...       the same files, as a Lambda layer lays them out
 *   testing/                                   cdk-shared-token-table/testing
 *
 * Each entry point is one CommonJS bundle and an ES module that re-exports it, so a process holds one instance of the module whichever way it was loaded.
 */
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';
import { PACKAGE_NAME } from '../src/private/contract';

const root = resolve(__dirname, '..');

/** Bundles `source` to `folder`/index.js, with index.mjs and the types' entry files beside it. */
async function bundleEntryPoint(source: string, folder: string, external: string[]): Promise<void> {
  const out = join(root, folder);
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  await build({
    entryPoints: [join(root, source, 'index.ts')],
    outfile: join(out, 'index.js'),
    bundle: true,
    minify: true,
    keepNames: false,
    platform: 'node',
    target: 'node20',
    format: 'cjs',
    external,
    legalComments: 'inline',
    logLevel: 'warning',
  });
  const names = Object.keys(createRequire(__filename)(join(out, 'index.js'))).sort();
  writeFileSync(join(out, 'index.mjs'), `import bundle from './index.js';\nexport const { ${names.join(', ')} } = bundle;\n`);
  writeFileSync(join(out, 'index.d.ts'), `export * from './types/${source}/index';\n`);
  writeFileSync(join(out, 'index.d.mts'), "export * from './index.js';\n");
}

/** Lays the runtime out as Lambda finds it under /opt, without types. */
function layOutLayer(): void {
  const layer = join(root, 'assets', 'layer');
  const home = join(layer, 'nodejs', 'node_modules', PACKAGE_NAME);
  rmSync(layer, { recursive: true, force: true });
  mkdirSync(join(home, 'runtime'), { recursive: true });
  for (const file of ['index.js', 'index.mjs']) cpSync(join(root, 'runtime', file), join(home, 'runtime', file));
  // No version here: the layer's hash moves when its code does, not with every release.
  writeFileSync(join(home, 'package.json'), JSON.stringify({
    name: PACKAGE_NAME,
    license: 'Apache-2.0',
    type: 'commonjs',
    exports: { './runtime': { import: './runtime/index.mjs', default: './runtime/index.js' } },
  }, undefined, 2) + '\n');
}

async function main(): Promise<void> {
  await bundleEntryPoint('lambda-runtime', 'runtime', ['@aws-sdk/*', '@smithy/*']);
  layOutLayer();
  await bundleEntryPoint('testing-kit', 'testing', ['dynalite', 'dynalite/*']);
}

void main();
