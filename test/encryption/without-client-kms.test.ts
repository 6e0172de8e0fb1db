import { cpSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { outputOf, REPOSITORY, temporaryFolder } from '../support/command';
import { tablePerFile } from '../support/per-test';

/*
 * The bundle in a folder with the SDK, but without its client for KMS: as where a container image has what the README names for a table that encrypts nothing.
 */
const { table, tokenId } = tablePerFile();
const folder = temporaryFolder('no-kms');
const SDK = join(REPOSITORY, 'node_modules', '@aws-sdk');

beforeAll(() => {
  cpSync(join(REPOSITORY, 'runtime'), join(folder, 'runtime'), { recursive: true });
  mkdirSync(join(folder, 'node_modules', '@aws-sdk'), { recursive: true });
  for (const name of readdirSync(SDK).filter(one => one !== 'client-kms')) symlinkSync(join(SDK, name), join(folder, 'node_modules', '@aws-sdk', name));
});

const KEY = 'arn:aws:kms:eu-central-1:111122223333:key/00000000-0000-0000-0000-000000000000';
const printed = async (key: string) => JSON.parse(await outputOf(process.execPath, ['--no-warnings', '-e', `
  const { SharedToken } = require('./runtime');
  let calls = 0;
  const token = new SharedToken(process.env.TOKEN_ID, { table: process.argv[1], refresh: async () => ({ accessToken: 'token-' + ++calls }) });
  token.get().then(value => ({ value }), ({ name, code, message }) => ({ name, code, message })).then(result => console.log(JSON.stringify({ ...result, calls })));
`, `${table().name}${key}`], { cwd: folder, env: { ...process.env, TOKEN_ID: tokenId() } })) as unknown;

test('a table without a key needs none', async () => {
  expect(await printed('')).toEqual({ value: 'token-1', calls: 1 });
});

test('with a key it is a typed error that says what to install; the provider is not asked, and nothing is stored', async () => {
  const message = expect.stringContaining('install @aws-sdk/client-kms') as string;
  expect(await printed(`#${KEY}`)).toEqual({ name: 'SharedTokenError', code: 'KEY_UNUSABLE', message, calls: 0 });
  expect(await table().item(tokenId())).toBeUndefined();
});
