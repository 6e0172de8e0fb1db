/*
 * `npm run toolchain -- node-22 local-cloud`: installs tools by name, and prints where each is. Exits with 69 (unavailable) where the machine lacks what one needs.
 */
import { installTool, TOOL_NAMES, ToolUnavailableError, type ToolName } from './tools';

const UNAVAILABLE = 69;
const names = process.argv.slice(2);
const unknown = names.filter(name => !(TOOL_NAMES as readonly string[]).includes(name));
if (names.length === 0 || unknown.length > 0) {
  process.stderr.write(`Usage: npm run toolchain -- NAME...\nNames: ${TOOL_NAMES.join(', ')}${unknown.length > 0 ? `; not ${unknown.join(', ')}` : ''}\n`);
  process.exit(2);
}
try {
  for (const name of names as ToolName[]) process.stdout.write(`${name}: ${installTool(name)}\n`);
} catch (error) {
  if (!(error instanceof ToolUnavailableError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exit(UNAVAILABLE);
}
