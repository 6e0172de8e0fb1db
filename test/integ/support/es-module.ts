import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { REPOSITORY } from '../../support/command';

const CARRIER = `'use strict';
const handler = import('./index.mjs');
exports.handler = async (event, context) => (await handler).handler(event, context);
`;

/** The demo's bootstrap knows CommonJS alone: a function that is an ES module gets what loads it, and finds the layer as it does in Lambda. */
export function carryEsModule(taskRoot: string): Record<string, string> {
  if (existsSync(join(taskRoot, 'index.js'))) return {};
  writeFileSync(join(taskRoot, 'index.js'), CARRIER);
  return { NODE_OPTIONS: `--import ${pathToFileURL(join(REPOSITORY, 'test', 'support', 'lambda-node-path.mjs')).href}` };
}
