import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import * as modules from './runtime-modules';

/** The runtime under test. */
export type Runtime = typeof modules;

/** The one that users get. */
export const realRuntime: Runtime = modules;

/** A defect that cannot be made from outside: one place of the source, written otherwise. */
export interface Patch {
  /** File in lambda-runtime/. */
  readonly file: string;
  /** Must be found exactly once. */
  readonly find: RegExp;
  readonly replace: string;
}

const RUNTIME = join(__dirname, '..', 'lambda-runtime');

/**
 * A private copy of the runtime with a defect in it: compiled in memory, module by module, so that the runtime itself needs no switches.
 *
 * @throws where the text to be replaced is not found exactly once: the variant must then be written anew
 */
export function brokenRuntime({ file, find, replace }: Patch): Runtime {
  const require = createRequire(__filename);
  const { transpileModule, ModuleKind, ScriptTarget } = require('typescript') as typeof import('typescript');
  const patched = join(RUNTIME, file);
  const source = readFileSync(patched, 'utf8');
  const found = source.match(new RegExp(find, 'g'))?.length ?? 0;
  if (found !== 1) throw new Error(`${find} was found ${found} times in lambda-runtime/${file}: the broken variant no longer fits the source.`);

  const loaded = new Map<string, { exports: unknown }>();
  const load = (path: string): unknown => {
    const known = loaded.get(path);
    if (known !== undefined) return known.exports;
    const module = { exports: {} };
    loaded.set(path, module);
    const text = path === patched ? source.replace(find, replace) : readFileSync(path, 'utf8');
    const { outputText } = transpileModule(text, { compilerOptions: { module: ModuleKind.CommonJS, target: ScriptTarget.ES2022 } });
    const evaluate = new Function('module', 'exports', 'require', outputText) as (...scope: unknown[]) => void;
    evaluate(module, module.exports, (name: string) => name.startsWith('.') ? load(`${join(dirname(path), name)}.ts`) : require(name) as unknown);
    return module.exports;
  };
  return load(join(__dirname, 'runtime-modules.ts')) as Runtime;
}
