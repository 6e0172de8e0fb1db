import { join } from 'node:path';
import { outputOf, REPOSITORY } from '../support/command';
import { startTokenTable } from '../support/embedded-table';
import { stopAfterEach } from '../support/stop-after-each';

/*
 * The owner of a function that goes on running after its answer, or fails there, pays for it. So here is the published runtime in a process of its own, in which
 * calls end in every way that there is.
 */
const started = stopAfterEach();
const program = `
  const { SharedToken } = require(process.env.RUNTIME);
  const { DynamoDBClient, PutItemCommand } = require(process.env.SDK);
  const never = () => new Promise(() => {});
  const codeOf = call => call.then(token => token, error => error.code);

  async function main() {
    const outcomes = [];
    outcomes.push(await codeOf(new SharedToken('refreshed', { refresh: async () => ({ accessToken: 'token', expiresIn: 3600 }) }).get()));
    outcomes.push(await codeOf(new SharedToken('failed', { refresh: async () => { throw new Error('down'); } }).get({ timeoutMs: 400 })));
    outcomes.push(await codeOf(new SharedToken('hanging', { refresh: never, authLimitMs: 100 }).get({ timeoutMs: 500 })));
    outcomes.push(await codeOf(new SharedToken('read').get()));

    const now = Date.now();
    const lease = { M: { id: { S: 'other' }, since: { N: String(now) }, until: { N: String(now + 60_000) }, holder: { S: 'other' } } };
    await new DynamoDBClient({}).send(new PutItemCommand({ TableName: process.env.SHARED_TOKEN_TABLE, Item: { tokenId: { S: 'held' }, lease } }));
    outcomes.push(await codeOf(new SharedToken('held', { refresh: never }).get({ timeoutMs: 400 })));

    // The caller leaves; what was sent is stored.
    const leave = new AbortController();
    let committed;
    const isCommitted = new Promise(resolve => { committed = resolve; });
    const onEvent = ({ type }) => { if (type === 'refreshing') leave.abort(); if (type === 'committed') committed(); };
    const refresh = () => new Promise(resolve => setTimeout(resolve, 100, { accessToken: 'token', expiresIn: 3600 }));
    outcomes.push(await codeOf(new SharedToken('left', { refresh, onEvent }).get({ signal: leave.signal })));
    await isCommitted;
    await new Promise(setImmediate);

    console.log(JSON.stringify({ outcomes, timers: process.getActiveResourcesInfo().filter(kind => kind === 'Timeout') }));
  }
  void main();
`;

test('after its last call nothing of ours keeps a process running: no timer, no heartbeat; and nothing fails there', async () => {
  const table = started(await startTokenTable());
  const env = {
    ...table.environment,
    RUNTIME: join(REPOSITORY, 'runtime', 'index.js'),
    SDK: require.resolve('@aws-sdk/client-dynamodb'),
    SHARED_TOKEN_TABLE: table.tableName,
  };
  const printed = await outputOf(process.execPath, ['-e', program], { cwd: REPOSITORY, env }); // when the process has ended by itself
  const { outcomes, timers } = JSON.parse(printed) as { outcomes: string[]; timers: string[] };
  expect(outcomes).toEqual(['token', 'REFRESH_FAILED', 'REFRESH_TIMED_OUT', 'NO_USABLE_TOKEN', 'DEADLINE_EXCEEDED', 'ABORTED']);
  expect(timers).toEqual([]);
});
