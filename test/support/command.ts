import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

export const REPOSITORY = resolve(__dirname, '..', '..');

/** What a command printed, and how it ended. */
export interface CommandResult {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Where a command runs. */
export interface CommandOptions {
  readonly cwd: string;
  readonly env?: NodeJS.ProcessEnv;
}

/** Runs a command to its end, whatever that is. The environment is the given one alone, and PATH. */
export async function run(command: string, args: readonly string[], options: CommandOptions): Promise<CommandResult> {
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, ...options.env };
  return new Promise(done => {
    execFile(command, [...args], { cwd: options.cwd, env, maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) => {
      const status = error === null ? 0 : typeof error.code === 'number' ? error.code : 1;
      done({ status, stdout, stderr });
    });
  });
}

/** The output of a command that must succeed. */
export async function outputOf(command: string, args: readonly string[], options: CommandOptions): Promise<string> {
  const { status, stdout, stderr } = await run(command, args, options);
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${status}:\n${stdout}\n${stderr}`);
  return stdout;
}

/** A temporary folder that is removed when the file's tests are over. Its path is real: node resolves symbolic links. */
export function temporaryFolder(prefix: string): string {
  const folder = mkdtempSync(join(tmpdir(), `${prefix}-`));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
