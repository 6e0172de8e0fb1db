import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { SharedTokenError } from '../../../lambda-runtime/errors';
import { REPOSITORY } from '../../support/command';

/** How a call ended. */
export type Ended<T> =
  | { readonly value: T; readonly code?: undefined; readonly error?: undefined }
  | { readonly code: string; readonly error: SharedTokenError; readonly value?: undefined };

/** The codes that callers know, as errors.ts lists them. */
export const CODES = [.../^export type SharedTokenErrorCode =$(.+?);$/ms.exec(readFileSync(join(REPOSITORY, 'lambda-runtime', 'errors.ts'), 'utf8'))![1]!
  .matchAll(/^ {2}\| '(\w+)'$/gm)].map(([, code]) => code);

/** How a call of the runtime ended: well, or with an error that callers know. Anything else fails the test. */
export async function ended<T>(call: Promise<T>): Promise<Ended<T>> {
  try {
    return { value: await call };
  } catch (error) {
    if (!(error instanceof SharedTokenError)) throw new Error(`This is no SharedTokenError: ${inspectedSafely(error)}`);
    if (!CODES.includes(error.code)) throw new Error(`This code is not known: ${error.code}`);
    return { code: error.code, error };
  }
}

function inspectedSafely(value: unknown): string {
  try {
    return inspect(value, { customInspect: false, showProxy: true });
  } catch {
    return `a ${typeof value} that cannot be looked at`;
  }
}

/** What `Object`, `Array` and `Function` give to everything; it must be the same after whatever a test did. */
export function prototypes(): string {
  return [Object, Array, Function, String, Number, Map, Set, Promise, Error].map(({ prototype }) => Reflect.ownKeys(prototype).map(String).join()).join('\n');
}
