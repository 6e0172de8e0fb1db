import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { outputOf, REPOSITORY } from '../support/command';

let files: readonly { readonly path: string; readonly text: string }[];

beforeAll(async () => {
  const listed = await outputOf('git', ['ls-files', '--cached', '--others', '--exclude-standard', '-z'], { cwd: REPOSITORY });
  files = listed.split('\0').filter(path => path !== '' && !/\.(png|svg)$/.test(path)).flatMap(path => {
    try {
      return [{ path, text: readFileSync(join(REPOSITORY, path), 'utf8') }];
    } catch {
      return []; // deleted, and not committed yet
    }
  });
});

test('no file names the host of a package registry: each comes from where npm is configured to look', () => {
  const hosts = ['registry.' + 'npmjs', 'files.' + 'pythonhosted', 'pypi.' + 'org', 'repo.' + 'maven', 'api.' + 'nuget', 'proxy.' + 'golang', 'registry.' + 'yarnpkg'];
  expect(files.filter(({ text }) => hosts.some(host => text.includes(host))).map(({ path }) => path)).toEqual([]);
});

test('no lock file names the address of a download', () => {
  const locks = files.filter(({ path }) => /(^|\/)package-lock\.json$/.test(path));
  expect(locks.map(({ path }) => path)).toContain('package-lock.json');
  for (const { path, text } of locks) {
    expect([path, text]).toEqual([path, expect.stringContaining('"lockfileVersion"')]);
    expect([path, text.includes('"resolved"')]).toEqual([path, false]);
  }
});

test('what a document links to in this repository exists', () => {
  const documents = files.filter(({ path }) => path.endsWith('.md') && path !== 'API.md');
  const links = documents.flatMap(({ path, text }) => [...text.matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)].map(([, target = '']) => ({ path, target })));
  expect(links.length).toBeGreaterThan(40);
  expect(links.filter(({ path, target }) => !existsSync(join(REPOSITORY, dirname(path), target)))).toEqual([]);
});

test.each([
  ['client-dynamodb', 'dynamodb-token-store.ts'],
  ['lib-dynamodb', 'dynamodb-token-store.ts'],
  ['client-kms', 'encryption/kms-data-keys.ts'],
  ['client-lambda', 'lambda-refresher.ts'],
  ['client-secrets-manager', 'oauth/secrets-manager.ts'],
  ['client-ssm', 'oauth/ssm.ts'],
])('one file of the runtime knows %s of the AWS SDK: %s', (client, file) => {
  const importing = files.filter(({ path, text }) => path.startsWith('lambda-runtime/') && new RegExp(`(from |import\\(|require\\()'@aws-sdk/${client}'`).test(text));
  expect(importing.map(({ path }) => path)).toEqual([`lambda-runtime/${file}`]);
});

test('the pure core imports nothing that does I/O', () => {
  const runtime = files.filter(({ path }) => path.startsWith('lambda-runtime/') && path.endsWith('.ts'));
  for (const core of [
    'decide', 'timing', 'dynamodb-requests', 'token-item', 'refresh-result', 'refresh-failure', 'lease-writes', 'source-name', 'storable-code', 'retry-after',
  ]) {
    const text = runtime.find(({ path }) => path === `lambda-runtime/${core}.ts`)?.text;
    expect(text).toBeDefined();
    expect(text).not.toMatch(/Date\.now|performance\.|Math\.random|setTimeout|node:|process\.|\.\/host'/);
  }
});
