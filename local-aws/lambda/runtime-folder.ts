import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { installTool } from '../../toolchain/tools';

const REPOSITORY = resolve(__dirname, '..', '..');
const INSTALLED = join(REPOSITORY, 'node_modules');

/** As Lambda calls it, in its folder `/var/runtime`. */
export const RUNTIME_CLIENT = 'index.mjs';
/** What Lambda's own Node.js does without: its look-up of ES modules. */
export const NODE_PATH_HOOK = 'node-path.mjs';

/**
 * Makes what Lambda's Node.js runtimes have in `/var/runtime`: AWS's runtime client, and the AWS SDK. The SDK is this repository's, with all that it depends on, as a
 * copy: a link would resolve into the repository, and a function would find what is not there on Lambda.
 *
 * @throws ToolUnavailableError where the runtime client cannot be installed
 */
export function makeRuntimeFolder(folder: string): void {
  const client = join(installTool('lambda-runtime-client'), 'node_modules', 'aws-lambda-ric');
  mkdirSync(join(folder, 'node_modules'), { recursive: true });
  for (const file of [RUNTIME_CLIENT, 'rapid-client.node']) cpSync(join(client, file), join(folder, file));
  cpSync(join(__dirname, NODE_PATH_HOOK), join(folder, NODE_PATH_HOOK));
  for (const name of sdkPackages()) {
    // Without types: less to copy.
    cpSync(join(INSTALLED, name), join(folder, 'node_modules', name), { recursive: true, filter: file => !/[\\/]dist-types$/.test(file) });
  }
}

/** The SDK's packages that are installed here, and all that they need. */
function sdkPackages(): ReadonlySet<string> {
  const names = new Set(readdirSync(join(INSTALLED, '@aws-sdk')).map(name => `@aws-sdk/${name}`));
  // A set that grows while it is walked: what is added is walked, too.
  for (const name of names) for (const dependency of dependenciesOf(join(INSTALLED, name))) names.add(dependency);
  return names;
}

/** What a package needs beside what lies in a `node_modules` of its own. */
function dependenciesOf(folder: string): string[] {
  const { dependencies = {} } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { readonly dependencies?: Readonly<Record<string, string>> };
  return Object.keys(dependencies).flatMap(name => {
    const own = join(folder, 'node_modules', name);
    return existsSync(own) ? dependenciesOf(own) : [name];
  });
}
