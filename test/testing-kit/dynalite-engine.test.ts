import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, parse } from 'node:path';
import { EmbeddedDynamoDb, TestingKitError } from '../../testing-kit';
import { stopAfterEach } from '../support/stop-after-each';

const stopped = stopAfterEach();
let folder: string;

beforeEach(() => { folder = mkdtempSync(join(tmpdir(), 'consumer-')); });
afterEach(() => rmSync(folder, { recursive: true }));

function install(files: Record<string, string>): void {
  for (const [name, content] of Object.entries(files)) {
    const path = join(folder, 'node_modules', 'dynalite', name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
  }
}

const manifest = (version: string) => JSON.stringify({ name: 'dynalite', version, main: 'index.js' });
const start = async () => EmbeddedDynamoDb.start({ resolveFrom: [folder] });

const COMPLETE = {
  'package.json': manifest('4.9.9'),
  'index.js': 'module.exports = () => ({});',
  'db/index.js': 'exports.checkConditional = () => null;',
  'validations/updateItem.js': 'exports.types = {};',
  'validations/putItem.js': 'exports.types = {};',
  'validations/deleteItem.js': 'exports.types = {};',
};

test('without dynalite the error is DYNALITE_MISSING and says how to install it', async () => {
  // The root of the disk: a folder of the temporary ones may lie beside somebody's `node_modules`.
  const starting = EmbeddedDynamoDb.start({ resolveFrom: [parse(folder).root] });
  void starting.then(stopped, () => undefined);
  await expect(starting).rejects.toBeInstanceOf(TestingKitError);
  await expect(starting).rejects.toMatchObject({
    code: 'DYNALITE_MISSING', message: expect.stringContaining('npm install --save-dev dynalite@4'), cause: { code: 'MODULE_NOT_FOUND' },
  });
});

test('dynalite is taken from the first folder that has it', async () => {
  const db = stopped(await EmbeddedDynamoDb.start({ resolveFrom: [folder, __dirname] }));
  expect(db.endpoint).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
});

test.each(['3.2.2', '5.0.0', '40.0.0'])('dynalite %s is DYNALITE_UNSUPPORTED, and the error names both versions', async version => {
  install({ ...COMPLETE, 'package.json': manifest(version) });
  await expect(start()).rejects.toMatchObject({ code: 'DYNALITE_UNSUPPORTED', message: expect.stringMatching(new RegExp(`${version}.*4\\.x`)) });
});

test('another 4.x with everything in its place is taken', async () => {
  install(COMPLETE);
  expect(stopped(await start()).endpoint).toContain('127.0.0.1');
});

test.each([
  ['the server factory', 'index.js', 'module.exports = {};', 'main module'],
  ['the condition check', 'db/index.js', 'exports.somethingElse = 1;', 'checkConditional'],
  ["a validation's list of parameters", 'validations/putItem.js', 'exports.custom = 1;', 'validations/putItem'],
  ['a module that loads', 'db/index.js', "require('level-of-another-name');", 'dynalite/db cannot be loaded'],
])('a 4.x that lacks %s is DYNALITE_UNSUPPORTED, and the error names what is missing', async (_, file, content, named) => {
  install({ ...COMPLETE, [file]: content });
  await expect(start()).rejects.toMatchObject({ code: 'DYNALITE_UNSUPPORTED', message: expect.stringContaining(named) });
});

test('dynalite is patched once, however many databases start', async () => {
  const conditions = createRequire(__filename)('dynalite/db') as { checkConditional: unknown };
  stopped(await EmbeddedDynamoDb.start());
  const patched = conditions.checkConditional;
  stopped(await EmbeddedDynamoDb.start());
  expect(conditions.checkConditional).toBe(patched);
});
