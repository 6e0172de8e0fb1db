/*
 * `npm run toolchain -- node-22 local-cloud`: installs tools by name, and prints where each is. Ends with 69 where the machine lacks what one needs.
 */
import { installTool, nodeOf, orUnavailable, TOOL_NAMES, type ToolName } from './tools';

const names = process.argv.slice(2);
const unknown = names.filter(name => !(TOOL_NAMES as readonly string[]).includes(name));
if (names.length === 0 || unknown.length > 0) {
  process.stderr.write(`Usage: npm run toolchain -- NAME...\nNames: ${TOOL_NAMES.join(', ')}${unknown.length > 0 ? `; not ${unknown.join(', ')}` : ''}\n`);
  process.exit(2);
}
for (const name of names as ToolName[]) process.stdout.write(`${name}: ${orUnavailable(() => place(name))}\n`);

/** A Node.js may also be one that the environment names. */
function place(name: ToolName): string {
  return name === 'node-22' ? nodeOf(22) : name === 'node-24' ? nodeOf(24) : installTool(name);
}
