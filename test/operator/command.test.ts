import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { ENV } from '../../src/private/contract';
import { type CommandResult, REPOSITORY, run, temporaryFolder } from '../support/command';
import { tablePerFile } from '../support/per-test';

/*
 * The command as npm installs it: a process of its own, with the bundle, against the embedded table.
 */
jest.setTimeout(120_000); // many processes
const { table, tokenId } = tablePerFile();
const SENTINEL = 'sentinel-credential';
const MINUTE = 60_000;
const COMMAND = join(REPOSITORY, 'runtime', 'operator', 'shared-token.js');
const folder = temporaryFolder('command');

const stored = (more: object = {}) => {
  const now = Date.now();
  const secrets = { accessToken: SENTINEL, refreshToken: SENTINEL };
  return { tokenId: tokenId(), ...secrets, generation: 4, issuedAt: now - 10 * MINUTE, expiresAt: now + 50 * MINUTE, ...more };
};
const lease = () => ({ id: 'lease-1', since: Date.now(), until: Date.now() + MINUTE, holder: 'orders request-1' });
const failure = () => ({ code: 'invalid_client', count: 2, at: Date.now(), retryAt: Date.now() + MINUTE });

const awsEnvironment = () => Object.fromEntries(Object.entries(process.env).filter(([name]) => name.startsWith('AWS_'))) as NodeJS.ProcessEnv;
const sharedToken = async (args: readonly string[], env: NodeJS.ProcessEnv = awsEnvironment()): Promise<CommandResult> => {
  const result = await run(process.execPath, ['--no-warnings', COMMAND, ...args], { cwd: folder, env });
  expect(result.stdout + result.stderr).not.toContain(SENTINEL);
  return result;
};
const onTable = async (...args: string[]) => sharedToken([...args, '--table', table().name]);

test('state shows how a token fares, with its moments', async () => {
  const put = stored({ lease: lease(), failure: failure() });
  await table().put(put);
  const { status, stdout, stderr } = await onTable('state', tokenId());
  expect([status, stderr]).toEqual([0, '']);
  expect(stdout).toContain(`${tokenId()}: Generation 4, issued 10 min ago, expires in 50 min. orders request-1 has been refreshing it for `);
  expect(stdout).toContain(`\n  expires     ${new Date(put.expiresAt).toISOString()}\n`);
});

test('--json prints the state as one object', async () => {
  const put = stored({ failure: failure() });
  await table().put(put);
  const { status, stdout } = await onTable('state', tokenId(), '--json');
  expect(status).toBe(0);
  expect(JSON.parse(stdout)).toEqual({
    tokenId: tokenId(),
    at: expect.any(Number),
    generation: 4,
    issuedAt: put.issuedAt,
    expiresAt: put.expiresAt,
    failure: { code: 'invalid_client', count: 2, at: expect.any(Number), retryAt: expect.any(Number), isForced: false },
    summary: expect.any(String),
  });
});

test.each([
  ['end-lease', 'The lease has ended'],
  ['clear-failure', 'The cool-down has ended'],
  ['expire', 'The token has expired'],
])('%s mends the item, and has nothing to do the second time', async (what, done) => {
  const put = stored({ lease: lease(), failure: failure() });
  await table().put(put);
  const first = await onTable(what, tokenId());
  expect(first).toEqual({ status: 0, stdout: expect.stringMatching(done), stderr: '' });
  const item = await table().item(tokenId());
  expect({
    'end-lease': item && !('lease' in item) && 'failure' in item && item.expiresAt === put.expiresAt,
    'clear-failure': item && !('failure' in item) && 'lease' in item && item.expiresAt === put.expiresAt,
    'expire': item && 'lease' in item && 'failure' in item && Number(item.expiresAt) <= Date.now() + 2_000,
  }).toHaveProperty(what, true);
  expect(JSON.parse((await onTable(what, tokenId(), '--json')).stdout)).toEqual({ tokenId: tokenId(), done: false });
  expect((await onTable(what, tokenId())).stdout).toContain('Nothing to do');
});

test('the table may be that of the environment, the region that of the AWS CLI', async () => {
  await table().put(stored());
  const { AWS_REGION, ...others } = awsEnvironment();
  expect(await sharedToken(['state', tokenId()], { ...others, AWS_DEFAULT_REGION: AWS_REGION, [ENV.TABLE]: table().name })).toMatchObject({ status: 0, stderr: '' });
  expect(await sharedToken(['state', tokenId()], { ...others, AWS_CONFIG_FILE: join(folder, 'none'), [ENV.TABLE]: table().name }))
    .toEqual({ status: 1, stdout: '', stderr: expect.stringContaining('set AWS_REGION') });
});

test('an id that begins with "-" goes behind "--"', async () => {
  const id = `-${tokenId()}`;
  await table().put({ ...stored(), tokenId: id });
  expect(await sharedToken(['state', '--table', table().name, '--', id])).toMatchObject({ status: 0, stdout: expect.stringMatching(`^${id}: Generation 4`) });
});

describe('what fails', () => {
  test('is told in one line, with status 1', async () => {
    expect(await sharedToken(['state', 'crm', '--table', 'Elsewhere'])).toEqual({
      status: 1, stdout: '', stderr: expect.stringMatching(/^shared-token: Token "crm": the table "Elsewhere" does not exist.*\n$/),
    });
  });

  test('is told as JSON where that is asked for', async () => {
    const { status, stdout } = await sharedToken(['expire', 'crm', '--table', 'Elsewhere', '--json']);
    expect([status, JSON.parse(stdout)]).toEqual([1, { tokenId: 'crm', error: { code: 'TABLE_NOT_FOUND', message: expect.any(String) } }]);
  });
});

describe('arguments that make no sense end with 2 and the usage, and ask the table nothing', () => {
  test.each<[string, string[], string]>([
    ['none', [], 'What to do is missing: state, end-lease, clear-failure, expire.'],
    ['something it does not know', ['refresh', 'crm', '--table', 'Tokens'], 'There is no "refresh"'],
    ['the name of something every object has', ['constructor', 'crm', '--table', 'Tokens'], 'There is no "constructor"'],
    ['no id', ['expire', '--table', 'Tokens'], 'expire takes one token id, got none.'],
    ['two ids', ['expire', 'crm', 'erp', '--table', 'Tokens'], 'expire takes one token id, got 2.'],
    ['no table', ['state', 'crm'], 'Which table?'],
    ['an option that it does not know', ['state', 'crm', '--tabel', 'Tokens'], '--tabel'],
  ])('%s', async (_, args, message) => {
    const { status, stdout, stderr } = await sharedToken(args);
    expect([status, stdout]).toEqual([2, '']);
    expect(stderr).toContain('shared-token: ');
    expect(stderr).toContain(message);
    expect(stderr).toContain('Usage: shared-token <what> <tokenId>');
    expect(table().requests).toEqual([]);
  });

  test('--help is no error', async () => {
    expect(await sharedToken(['--help'])).toEqual({ status: 0, stdout: expect.stringMatching(/^Usage: shared-token/), stderr: '' });
  });
});

test('a reader that has gone away is no failure of what was done', async () => {
  await table().put(stored());
  const child = spawn(process.execPath, ['--no-warnings', COMMAND, 'expire', tokenId(), '--table', table().name], { cwd: folder, env: awsEnvironment() });
  child.stdout.destroy();
  let errors = '';
  child.stderr.on('data', (data: Buffer) => { errors += data.toString(); });
  const [status] = await once(child, 'exit') as [number];
  expect([status, errors]).toEqual([0, '']);
  expect((await table().item(tokenId()))?.expiresAt).toBeLessThanOrEqual(Date.now() + 2_000); // by the table's clock
});
