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
import { build, type Plugin } from 'esbuild';
import * as contract from '../src/private/contract';

const root = resolve(__dirname, '..');
const load = createRequire(__filename);

/** The contract is constants alone: evaluated here, a bundle holds the values that it uses, and not how they are put together. */
const contractAsValues: Plugin = {
  name: 'contract-as-values',
  setup: ({ onLoad }) => onLoad({ filter: /[\\/]src[\\/]private[\\/]contract\.ts$/ }, () => ({
    contents: Object.entries(contract).map(([name, value]) => `export const ${name} = ${JSON.stringify(value)};`).join('\n'),
  })),
};

/** Bundles `source` to `folder`/index.js, with index.mjs and the types' entry files beside it. */
async function bundleEntryPoint(source: string, folder: string, external: string[]): Promise<void> {
  const out = join(root, folder);
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  const names = Object.keys(load(join(root, source, 'index.ts')) as object).sort();
  await build({
    // esbuild's own way to make CommonJS of exports costs 600 bytes; it warns of `module` in an ES module, which is meant here.
    stdin: {
      contents: `import { ${names.join(', ')} } from './index';\nconst all = { ${names.join(', ')} };\nmodule.exports = all;\n` +
        // Minified, classes would print as `a [SharedTokenError]`.
        'for (const name in all) Object.defineProperty(all[name], "name", { value: name });',
      resolveDir: join(root, source),
    },
    logOverride: { 'commonjs-variable-in-esm': 'silent' },
    outfile: join(out, 'index.js'),
    plugins: [contractAsValues],
    // A field is assigned where the constructor says so, and not declared a second time.
    tsconfigRaw: { compilerOptions: { strict: true, useDefineForClassFields: false } },
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
  writeFileSync(join(out, 'index.mjs'), `import bundle from './index.js';\nexport const { ${names.join(', ')} } = bundle;\n`);
  writeFileSync(join(out, 'index.d.ts'), `export * from './types/${source}/index';\n`);
  writeFileSync(join(out, 'index.d.mts'), "export * from './index.js';\n");
}

/** Lays the runtime out as Lambda finds it under /opt, without types. */
function layOutLayer(): void {
  const layer = join(root, 'assets', 'layer');
  const home = join(layer, 'nodejs', 'node_modules', contract.PACKAGE_NAME);
  rmSync(layer, { recursive: true, force: true });
  mkdirSync(join(home, 'runtime'), { recursive: true });
  for (const file of ['index.js', 'index.mjs']) cpSync(join(root, 'runtime', file), join(home, 'runtime', file));
  // No version here: the layer's hash moves when its code does, not with every release.
  writeFileSync(join(home, 'package.json'), JSON.stringify({
    name: contract.PACKAGE_NAME,
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
