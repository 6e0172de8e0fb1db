import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { REPOSITORY } from './settings';

/** What the bundles are made from, and one file of each that is run here. */
const SOURCES = ['lambda-runtime', join('src', 'private'), 'scripts'];
const BUNDLES = [
  join('assets', 'layer', 'nodejs', 'node_modules', 'cdk-shared-token-table', 'runtime', 'index.js'),
  join('assets', 'refresher', 'index.js'),
];

/** Bundles the runtime, for the layer and the refresher, where that is missing, as on a fresh clone, or older than its sources. Whoever reads it meanwhile is left alone else. */
export async function bundleRuntime(): Promise<'bundled' | 'up to date'> {
  if (isUpToDate()) return 'up to date';
  const tsx = require.resolve('tsx/cli');
  const bundler = spawn(process.execPath, [tsx, join('scripts', 'bundle.ts')], { cwd: REPOSITORY, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [bundler.stdout, bundler.stderr]) stream.setEncoding('utf8').on('data', (text: string) => { output += text; });
  const [status] = await once(bundler, 'close') as [number | null];
  if (status !== 0) throw new Error(`The runtime could not be bundled.\n${output.trim()}`);
  return 'bundled';
}

function isUpToDate(): boolean {
  const bundledAt = Math.min(...BUNDLES.map(modifiedAt));
  const sources = SOURCES.flatMap(folder => readdirSync(join(REPOSITORY, folder), { recursive: true, encoding: 'utf8' })
    .filter(file => file.endsWith('.ts') && !file.includes('node_modules'))
    .map(file => join(folder, file)));
  return bundledAt > 0 && sources.every(file => modifiedAt(file) <= bundledAt);
}

/** 0 for a file that does not exist. */
function modifiedAt(file: string): number {
  return statSync(join(REPOSITORY, file), { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
