import { parseArgs, type ParseArgsConfig } from 'node:util';

/*
 * What the repository's commands (demo, simulate, soak) have in common.
 */

/** The user asked for something that does not exist. The message names the option and what is allowed. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** The options given, strictly: an unknown one is a {@link UsageError}. */
export function parseStrictly<T extends NonNullable<ParseArgsConfig['options']>>(args: readonly string[], options: T) {
  try {
    return parseArgs({ args: [...args], strict: true, allowPositionals: false, options }).values;
  } catch (error) {
    // parseArgs' messages name the option; the usage says what is allowed.
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

/** What an option's number may be, and what it is where none is given. */
export interface WholeNumbers<Initial extends number | undefined> {
  readonly initial: Initial;
  readonly min: number;
  readonly max: number;
}

/** A whole number within bounds, or the initial one where none is given. */
export function wholeNumber<I extends number | undefined>(option: string, text: string | undefined, allowed: WholeNumbers<I>): number | I {
  if (text === undefined) return allowed.initial;
  const value = /^\d+$/.test(text) ? Number(text) : NaN;
  if (value >= allowed.min && value <= allowed.max) return value;
  throw new UsageError(`${option} must be a whole number from ${allowed.min} to ${allowed.max}, not ${JSON.stringify(text)}.`);
}

/** What `parse` makes of the arguments; nothing where it refuses them, which is told with the usage on the standard error. */
export function readOptions<T>(args: readonly string[], parse: (args: readonly string[]) => T, usage: string): T | undefined {
  try {
    return parse(args);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`${error.message}\n\n${usage}`);
    return undefined;
  }
}
