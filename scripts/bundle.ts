/*
 * Bundles what leaves this repository as plain JavaScript:
 *
 *   runtime/                                   cdk-shared-token-table/runtime, as npm users import it
 *   runtime/oauth/, runtime/refresher/         cdk-shared-token-table/runtime/oauth and .../refresher: apart, so that who does not need them does not load them
 *   runtime/operator/                          cdk-shared-token-table/runtime/operator, and the command shared-token: not in the layer
 *   assets/layer/nodejs/node_modules/...       the same files, as a Lambda layer lays them out
 *   assets/refresher/                          the code of the prebuilt refresher's function, complete
 *   testing/                                   cdk-shared-token-table/testing
 *
 * Each entry point is one CommonJS bundle and an ES module that re-exports it, so a process holds one instance of the module whichever way it was loaded. Those that
 * functions use are also there as one true ES module, `module.mjs`, for bundlers (the condition `module` of package.json): in a bundle that is an ES module,
 * `require` does not exist, and what is imported statically can be left out where nobody uses it. Beside each bundle that holds other people's code stand their licences.
 */
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { build, type BuildOptions, type Metafile, type Plugin } from 'esbuild';
import { SDK_MODULES } from './sdk-modules';
import * as contract from '../src/private/contract';

const root = resolve(__dirname, '..');
const load = createRequire(__filename);

const FOR_BUNDLERS = 'module.mjs';

/** The contract is constants alone: evaluated here, a bundle holds the values that it uses, and not how they are put together. */
const contractAsValues: Plugin = {
  name: 'contract-as-values',
  setup: ({ onLoad }) => onLoad({ filter: /[\\/]src[\\/]private[\\/]contract\.ts$/ }, () => ({
    contents: Object.entries(contract).map(([name, value]) => `export const ${name} = ${JSON.stringify(value)};`).join('\n'),
  })),
};

/** What an entry point below the runtime imports of it, it shares with everybody: one memory, one class of errors. */
const runtimeStaysOutside: Plugin = {
  name: 'runtime-stays-outside',
  setup: ({ onResolve, initialOptions: { format } }) => onResolve({ filter: /^(\.\.\/index|\.\/errors)$/ }, ({ path, importer }) => {
    // Of what is copied of the runtime, the errors are its own.
    if (path === './errors' && dirname(importer) !== join(root, 'lambda-runtime')) return undefined;
    return { path: format === 'esm' ? `../${FOR_BUNDLERS}` : '../index.js', external: true };
  }),
};

/** What a command shares with the entry point beside it. */
const entryPointStaysOutside: Plugin = {
  name: 'entry-point-stays-outside',
  setup: ({ onResolve }) => onResolve({ filter: /^\.\/index$/ }, () => ({ path: './index.js', external: true })),
};

/**
 * What a function seldom needs is loaded when it does: in CommonJS by `require`, which searches where Lambda keeps the SDK. An ES module has `import()`; but what
 * a bundler makes of it may be CommonJS again, and there Node's own `import()` knows no NODE_PATH (Lambda's does), and jest's does not exist.
 */
const lateImports: Plugin = {
  name: 'late-imports',
  setup: ({ onLoad }) => onLoad({ filter: /[\\/]lambda-runtime[\\/].+\.ts$/ }, ({ path }) => ({
    contents: readFileSync(path, 'utf8').replace(
      /return await \(require\(('@aws-sdk\/[\w-]+')\)[^;]+;/g,
      'try { return await import($1) } catch { return require($1) }',
    ),
    loader: 'ts',
  })),
};

const COMMON: BuildOptions = {
  // A field is assigned where the constructor says so, and not declared a second time.
  tsconfigRaw: { compilerOptions: { strict: true, useDefineForClassFields: false } },
  bundle: true,
  minify: true,
  lineLimit: 1_000, // Node.js prints the line of an error that nobody catches: not the whole file
  keepNames: false,
  platform: 'node',
  target: 'node20',
  format: 'cjs',
  legalComments: 'inline',
  logLevel: 'warning',
};

/** Minified, classes would print as `a [SharedTokenError]`. */
const nameClasses = (names: readonly string[]) =>
  `const all = { ${names.join(', ')} };\nfor (const name in all) Object.defineProperty(all[name], "name", { value: name });\n`;

interface EntryPoint {
  /** Folder of the source. */
  readonly source: string;
  /** Folder of the bundle. */
  readonly folder: string;
  readonly external: readonly string[];
  readonly plugins?: readonly Plugin[];
  /** Is there a true ES module beside it? */
  readonly forBundlers?: boolean;
  /** Files of the runtime that may be in this bundle once more. @default none but `MAY_BE_COPIED` */
  readonly copies?: readonly string[];
  /** Not where cold starts do not matter, but stack traces do. @default true */
  readonly minify?: boolean;
}

async function bundleEntryPoint(entry: EntryPoint): Promise<void> {
  const { source, folder, external, plugins = [], copies = [], forBundlers = true, minify = true } = entry;
  const out = emptied(folder);
  const names = Object.keys(load(join(root, source, 'index.ts')) as object).sort();
  const { metafile } = await build({
    ...COMMON,
    // esbuild's own way to make CommonJS of exports costs 600 bytes; it warns of `module` in an ES module, which is meant here.
    stdin: {
      contents: `import { ${names.join(', ')} } from './index';\n${nameClasses(names)}module.exports = all;\n`,
      resolveDir: join(root, source),
    },
    minify,
    logOverride: { 'commonjs-variable-in-esm': 'silent' },
    outfile: join(out, 'index.js'),
    plugins: [contractAsValues, ...plugins],
    external: [...external],
    metafile: true,
  });
  if (plugins.includes(runtimeStaysOutside)) refuseSecondRuntime(metafile, [...MAY_BE_COPIED, ...copies]);
  writeLicences(metafile, out);
  if (forBundlers) {
    await build({
      ...COMMON,
      format: 'esm',
      stdin: { contents: `import { ${names.join(', ')} } from './index';\n${nameClasses(names)}export { ${names.join(', ')} };\n`, resolveDir: join(root, source) },
      outfile: join(out, FOR_BUNDLERS),
      plugins: [contractAsValues, lateImports, ...plugins],
      external: [...external],
    });
  }
  const types = relative(out, join(root, folder.split('/')[0] as string, 'types', source, 'index'));
  writeFileSync(join(out, 'index.mjs'), `import bundle from './index.js';\nexport const { ${names.join(', ')} } = bundle;\n`);
  writeFileSync(join(out, 'index.d.ts'), `export * from '${types.startsWith('.') ? types : `./${types}`}';\n`);
  writeFileSync(join(out, 'index.d.mts'), "export * from './index.js';\n");
}

/** Pure functions alone may be there twice: of a class or of a memory there is one in a process. */
const MAY_BE_COPIED = ['bad-credentials.ts', 'storable-code.ts'];
/** An operator has the table's item as the runtime has it, and no memory of it. Of the classes, that of its errors is the runtime's own. */
const OPERATOR_COPIES = [
  'config.ts', 'dynamodb-requests.ts', 'dynamodb-token-store.ts', 'host.ts', 'timing.ts', 'token-error.ts', 'token-item.ts', 'token-store.ts',
];

function refuseSecondRuntime(metafile: Metafile, allowed: readonly string[]): void {
  const ofRuntime = filesIn(metafile).filter(path => /^lambda-runtime\/[^/]+$/.test(path));
  const copied = ofRuntime.filter(path => !allowed.some(file => path.endsWith(`/${file}`)));
  if (copied.length > 0) throw new Error(`Import these from '../index', which stays outside of the bundle: ${copied.join(', ')}`);
}

/** The prebuilt refresher: all of it in one file, since its function has no layer. */
async function bundlePrebuiltRefresher(): Promise<void> {
  const out = emptied('assets/refresher');
  const { metafile } = await build({
    ...COMMON,
    entryPoints: [join(root, 'lambda-runtime', 'refresher', 'prebuilt.ts')],
    outfile: join(out, 'index.js'),
    plugins: [contractAsValues],
    external: SDK_MODULES,
    metafile: true,
  });
  writeLicences(metafile, out);
}

/** What npm links as `shared-token`: the command line over the entry point beside it. */
async function bundleCommand(): Promise<void> {
  const outfile = join(root, 'runtime/operator/shared-token.js');
  await build({
    ...COMMON,
    entryPoints: [join(root, 'lambda-runtime/operator/main.ts')],
    outfile,
    banner: { js: '#!/usr/bin/env node' },
    minify: false,
    plugins: [contractAsValues, entryPointStaysOutside],
  });
  chmodSync(outfile, 0o755);
}

/** Lays the runtime out as Lambda finds it under /opt, without types. */
function layOutLayer(): void {
  const layer = emptied('assets/layer');
  const home = join(layer, 'nodejs', 'node_modules', contract.PACKAGE_NAME);
  for (const folder of ['runtime', 'runtime/oauth', 'runtime/refresher']) {
    mkdirSync(join(home, folder), { recursive: true });
    for (const file of ['index.js', 'index.mjs', LICENCES]) {
      if (existsSync(join(root, folder, file))) cpSync(join(root, folder, file), join(home, folder, file));
    }
  }
  const entryPoint = (folder: string) => ({ import: `./${folder}/index.mjs`, default: `./${folder}/index.js` });
  // No version here: the layer's hash moves when its code does, not with every release.
  writeFileSync(join(home, 'package.json'), JSON.stringify({
    name: contract.PACKAGE_NAME,
    license: 'Apache-2.0',
    type: 'commonjs',
    exports: {
      './runtime': entryPoint('runtime'),
      './runtime/oauth': entryPoint('runtime/oauth'),
      './runtime/refresher': entryPoint('runtime/refresher'),
    },
  }, undefined, 2) + '\n');
}

const LICENCES = 'THIRD-PARTY-LICENSES.txt';

/** The licences of the packages whose code is in a bundle, as these ask for. */
function writeLicences(metafile: Metafile, out: string): void {
  const packages = [...new Set(filesIn(metafile).flatMap(path => /^node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? []))].sort();
  if (packages.length === 0) return;
  const texts = packages.map(folder => {
    const { name, version, license } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')) as Record<'name' | 'version' | 'license', string>;
    const file = readdirSync(join(root, folder)).find(entry => /^licen[cs]e/i.test(entry));
    if (file === undefined) throw new Error(`${name} has no licence file to pass on.`);
    return `${name} ${version} (${license})\n\n${readFileSync(join(root, folder, file), 'utf8').trim()}\n`;
  });
  writeFileSync(join(out, LICENCES), texts.join(`\n${'-'.repeat(80)}\n\n`));
}

/** The files of which something is left in a bundle. */
function filesIn({ outputs }: Metafile): string[] {
  const all = Object.values(outputs).flatMap(output => Object.entries(output.inputs));
  return all.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([path]) => path);
}

function emptied(folder: string): string {
  const path = join(root, folder);
  rmSync(path, { recursive: true, force: true });
  mkdirSync(path, { recursive: true });
  return path;
}

async function main(): Promise<void> {
  await bundleEntryPoint({ source: 'lambda-runtime', folder: 'runtime', external: SDK_MODULES });
  for (const name of ['oauth', 'refresher']) {
    await bundleEntryPoint({ source: `lambda-runtime/${name}`, folder: `runtime/${name}`, external: SDK_MODULES, plugins: [runtimeStaysOutside] });
  }
  layOutLayer();
  await bundleEntryPoint({
    source: 'lambda-runtime/operator', folder: 'runtime/operator', external: SDK_MODULES, plugins: [runtimeStaysOutside], copies: OPERATOR_COPIES,
  });
  await bundleCommand();
  await bundlePrebuiltRefresher();
  await bundleEntryPoint({ source: 'testing-kit', folder: 'testing', external: ['dynalite', 'dynalite/*'], forBundlers: false, minify: false });
}

void main();
