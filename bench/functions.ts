import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { SDK_MODULES } from '../scripts/sdk-modules';
import { ENV } from '../src/private/contract';

const REPOSITORY = resolve(__dirname, '..');
export const RUNTIME = 'cdk-shared-token-table/runtime';

/** One way to write and pack a function. */
export interface Variant {
  readonly name: string;
  /** A file of `handlers/`. */
  readonly handler: 'nothing' | 'sdk-alone' | 'shared-token' | 'shared-token-oauth' | 'imports';
  readonly format: 'cjs' | 'esm';
  /** What stays outside of its bundle: Lambda's runtime and the layer bring it. */
  readonly external: readonly string[];
  /** Where esbuild looks into a package. @default - its CommonJS */
  readonly mainFields?: readonly string[];
  /** The variant that differs from this one only in that it does without the shared token. */
  readonly baseline?: string | undefined;
}

const outside = { format: 'cjs', external: [...SDK_MODULES, RUNTIME, `${RUNTIME}/*`] } as const;
/** The client for Lambda, which only readers with a refresher need, is left to Lambda. */
const inside = { format: 'cjs', external: ['@aws-sdk/client-lambda'] } as const;

/** As CDK's NodejsFunction bundles with `minify: true`; with all packages outside, a bundle is what one writes by hand. */
export const VARIANTS: readonly Variant[] = [
  { name: 'an empty function', handler: 'nothing', ...outside },
  { name: 'SDK of Lambda', handler: 'sdk-alone', ...outside },
  { name: 'SDK of Lambda, runtime in the layer', handler: 'shared-token', ...outside, baseline: 'SDK of Lambda' },
  { name: 'the same with runtime/oauth', handler: 'shared-token-oauth', ...outside, baseline: 'SDK of Lambda, runtime in the layer' },
  { name: 'SDK of Lambda, runtime in the bundle', handler: 'shared-token', ...outside, external: SDK_MODULES, baseline: 'SDK of Lambda' },
  { name: 'ES module: SDK of Lambda', handler: 'sdk-alone', ...outside, format: 'esm' },
  { name: 'ES module: SDK of Lambda, runtime in the layer', handler: 'shared-token', ...outside, format: 'esm', baseline: 'ES module: SDK of Lambda' },
  { name: 'SDK in the bundle', handler: 'sdk-alone', ...inside },
  { name: 'SDK and runtime in the bundle', handler: 'shared-token', ...inside, baseline: 'SDK in the bundle' },
  { name: 'SDK in the bundle, its ES modules', handler: 'sdk-alone', ...inside, mainFields: ['module', 'main'] },
  {
    name: 'SDK and runtime in the bundle, their ES modules',
    handler: 'shared-token',
    ...inside,
    mainFields: ['module', 'main'],
    baseline: 'SDK in the bundle, its ES modules',
  },
];

/** Imports one after the other, each measured within the function. */
export const IMPORTS: Variant = { name: 'imports', handler: 'imports', ...outside };

/** A function's folder, and what its code weighs. */
export interface BuiltFunction {
  readonly folder: string;
  readonly bytes: number;
  readonly gzippedBytes: number;
}

export async function buildFunction({ handler, format, external, mainFields }: Variant, folder: string): Promise<BuiltFunction> {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, format === 'esm' ? 'index.mjs' : 'index.js');
  await build({
    entryPoints: [join(__dirname, 'handlers', `${handler}.ts`)],
    outfile: file,
    bundle: true,
    minify: true,
    platform: 'node',
    target: 'node22',
    format,
    external: [...external],
    ...(mainFields && { mainFields: [...mainFields] }),
    alias: external.includes(RUNTIME) ? {} : { [RUNTIME]: join(REPOSITORY, 'runtime', 'module.mjs') }, // what bundlers take
    define: { TABLE_VARIABLE: JSON.stringify(ENV.TABLE) },
    logLevel: 'error',
  });
  if (format === 'cjs') writeFileSync(join(folder, 'package.json'), '{"type":"commonjs"}');
  const code = readFileSync(file);
  return { folder, bytes: code.length, gzippedBytes: gzipSync(code).length };
}
