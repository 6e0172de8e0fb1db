import { accessSync, closeSync, constants, existsSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';

/** The picture cannot be written. The message says where, why and what to do; a stack would say nothing more. */
export class OutputFileError extends Error {
  override readonly name = 'OutputFileError';
}

/** Makes the folder of a file, and sees to it that the file can be written: before the work whose result it is to hold. @throws OutputFileError */
export function prepareOutputFile(file: string): void {
  try {
    mkdirSync(dirname(file), { recursive: true });
    accessSync(dirname(file), constants.W_OK);
    if (existsSync(file)) closeSync(openSync(file, 'r+'));
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new OutputFileError(`The picture of the run cannot be written to ${file} (${reason}). Make ${dirname(file)} a folder that can be written to.`, { cause });
  }
}
