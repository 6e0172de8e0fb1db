import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { makeRuntimeFolder } from './runtime-folder';

/** What a function is made of: folders as Lambda would unpack them. */
export interface FunctionFiles {
  /** Its code. */
  readonly code: string;
  /** Its layer, if it has one. */
  readonly layer: string | undefined;
}

/** Where an environment's process finds things. */
export interface Paths {
  readonly opt: string;
  readonly task: string;
  readonly runtime: string;
  /** The executable. */
  readonly node: string;
}

/** A process that sees a function as Lambda lays it out. */
export interface Launch {
  readonly paths: Paths;
  /** The command that runs Node.js with these arguments. It writes a line to file descriptor 3 when all is laid out and Node.js starts. */
  readonly command: (nodeArguments: readonly string[]) => readonly [string, ...string[]];
}

/**
 * Lays functions out as Lambda does: the layer in `/opt`, the code in `/var/task`, the runtime in `/var/runtime`, Node.js in `/var/lang`.
 */
export interface OptLayout {
  launch(node: string, files: FunctionFiles): Launch;
}

/**
 * - `mounted`: each process has a mount namespace of its own, in which these very paths exist
 * - `copied`: copies below a temporary folder, where `NODE_PATH` says so
 */
export type OptLayoutKind = 'mounted' | 'copied';

/** Lambda's own paths. */
const LAMBDA: Paths = { opt: '/opt', task: '/var/task', runtime: '/var/runtime', node: '/var/lang/bin/node' };

/** Kills the process when the one that started it is gone, however that ended: one that is frozen would stay for ever. Where there is no such command, it may. */
const START = 'echo started >&3; exec 3>&-; if command -v setpriv >/dev/null; then exec setpriv --pdeathsig KILL -- "$@"; else exec "$@"; fi';

/** All of it is private to the process, and gone with it. The folder of `/var` comes last: it hides where the others came from. */
const MOUNT = `
  root=$1; mount -o bind,ro "$2" "$root/var/lang/bin/node"; mount -o bind,ro "$3" "$root/var/runtime"; mount -o bind,ro "$4" "$root/var/task"
  mount -o bind,ro "$5" /opt; mount --rbind "$root/var" /var; cd /var/task; shift 5; ${START}`;

const CHANGE_FOLDER = `cd "$1"; shift; ${START}`;

/** Which kind this machine allows: mounting needs Linux, and the right to it. */
export function possibleLayout(): OptLayoutKind {
  if (process.platform !== 'linux' || !existsSync('/opt')) return 'copied';
  return spawnSync('unshare', inMountNamespace('mount -o bind,ro /opt /opt')).status === 0 ? 'mounted' : 'copied';
}

/** @param root an empty folder, which is the layout's until the last process has ended */
export function optLayout(root: string, kind: OptLayoutKind = possibleLayout()): OptLayout {
  const runtime = join(root, 'runtime');
  makeRuntimeFolder(runtime);
  return kind === 'mounted' ? mountedLayout(root, runtime) : copiedLayout(root, runtime);
}

function mountedLayout(root: string, runtime: string): OptLayout {
  const mountPoints = join(root, 'mount-points');
  const noLayer = join(root, 'no-layer');
  for (const folder of [noLayer, ...['lang/bin', 'runtime', 'task'].map(name => join(mountPoints, 'var', name))]) mkdirSync(folder, { recursive: true });
  writeFileSync(join(mountPoints, LAMBDA.node), '');
  return {
    launch: (node, { code, layer = noLayer }) => ({
      paths: LAMBDA,
      command: nodeArguments => ['unshare', ...inMountNamespace(MOUNT, mountPoints, node, runtime, code, layer, LAMBDA.node, ...nodeArguments)],
    }),
  };
}

function copiedLayout(root: string, runtime: string): OptLayout {
  const copies = new Map<string, string>();
  const copyOf = (folder: string): string => {
    const copy = copies.get(folder) ?? join(root, `copy-${copies.size + 1}`);
    if (!copies.has(folder)) cpSync(folder, copy, { recursive: true });
    copies.set(folder, copy);
    return copy;
  };
  return {
    launch(node, { code, layer }) {
      const paths = { opt: layer === undefined ? join(root, 'no-layer') : copyOf(layer), task: copyOf(code), runtime, node };
      return { paths, command: nodeArguments => ['sh', '-ec', CHANGE_FOLDER, 'sh', paths.task, node, ...nodeArguments] };
    },
  };
}

/** The modules' folders, in the order in which Lambda searches them. */
export function nodePath(major: number, { opt, runtime, task }: Paths): string {
  const inOpt = [`node${major}/node_modules`, 'node_modules'].map(folder => join(opt, 'nodejs', folder));
  return [...inOpt, join(runtime, 'node_modules'), runtime, task].join(delimiter);
}

/** Arguments of `unshare` that run a script of the shell. */
function inMountNamespace(script: string, ...args: readonly string[]): string[] {
  return ['--mount', '--propagation', 'private', '--', 'sh', '-ec', script, 'sh', ...args];
}
