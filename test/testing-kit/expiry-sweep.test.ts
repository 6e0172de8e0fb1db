import { BatchWriteItemCommand, DynamoDBClient, PutItemCommand, ScanCommand, UpdateTimeToLiveCommand, type AttributeValue } from '@aws-sdk/client-dynamodb';
import type { StartedEmbeddedTable } from '../../testing-kit';
import { singleAttemptClient } from '../support/dynamodb-client';
import { startTokenTable } from '../support/embedded-table';
import { stopAfterEach } from '../support/stop-after-each';

const NOW = new Date('2026-06-01T12:00:00Z');
const NOW_SECONDS = NOW.getTime() / 1000;
const YEAR_SECONDS = 365 * 24 * 60 * 60;

const stopped = stopAfterEach();
let table: StartedEmbeddedTable;
let client: DynamoDBClient;

beforeEach(async () => {
  table = stopped(await startTokenTable({ now: () => NOW.getTime() }));
  client = singleAttemptClient(table.clientConfig);
});

afterEach(() => {
  client.destroy();
  jest.useRealTimers();
});

async function put(tokenId: string, expireAfter?: AttributeValue): Promise<void> {
  await client.send(new PutItemCommand({ TableName: table.tableName, Item: { tokenId: { S: tokenId }, ...(expireAfter && { expireAfter }) } }));
}

async function remaining(): Promise<string[]> {
  const { Items: items = [] } = await client.send(new ScanCommand({ TableName: table.tableName }));
  return items.map(item => item.tokenId?.S ?? '').sort();
}

const at = (seconds: number): AttributeValue => ({ N: String(seconds) });

test('a sweep deletes what is past its expiry and nothing else, and says how many', async () => {
  await put('past', at(NOW_SECONDS - 1));
  await put('long-past', at(NOW_SECONDS - YEAR_SECONDS));
  await put('just-now', at(NOW_SECONDS));
  await put('future', at(NOW_SECONDS + 1));
  await put('without-expiry');
  expect(await table.sweepExpired()).toBe(2);
  expect(await remaining()).toEqual(['future', 'just-now', 'without-expiry']);
});

test('an expiry in milliseconds is never due, nor one that is no number, nor one more than five years ago: as in DynamoDB', async () => {
  await put('milliseconds', at(NOW.getTime() - 1000));
  await put('string', { S: String(NOW_SECONDS - 1) });
  await put('ancient', at(NOW_SECONDS - 6 * YEAR_SECONDS));
  expect(await table.sweepExpired()).toBe(0);
  expect(await remaining()).toEqual(['ancient', 'milliseconds', 'string']);
});

test('a sweep can be asked about another moment', async () => {
  await put('tomorrow', at(NOW_SECONDS + 24 * 60 * 60));
  expect(await table.sweepExpired(new Date(NOW.getTime() + 25 * 60 * 60 * 1000))).toBe(1);
});

test('a table without time to live keeps everything', async () => {
  await client.send(new UpdateTimeToLiveCommand({
    TableName: table.tableName, TimeToLiveSpecification: { AttributeName: 'expireAfter', Enabled: false },
  }));
  await put('past', at(NOW_SECONDS - 1));
  expect(await table.sweepExpired()).toBe(0);
  expect(await remaining()).toEqual(['past']);
});

test('a sweep goes beyond the first megabyte', async () => {
  const padding = { S: 'x'.repeat(60_000) };
  for (let batch = 0; batch < 2; batch += 1) {
    await client.send(new BatchWriteItemCommand({
      RequestItems: {
        [table.tableName]: Array.from({ length: 15 }, (_, n) => ({
          PutRequest: { Item: { tokenId: { S: `${batch}-${n}` }, padding, expireAfter: at(NOW_SECONDS - 1) } },
        })),
      },
    }));
  }
  expect(await table.sweepExpired()).toBe(30);
  expect(await remaining()).toEqual([]);
});

test('with an interval the table sweeps by itself', async () => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'setTimeout', 'clearTimeout', 'clearImmediate', 'Date', 'performance', 'queueMicrotask'] });
  const sweeping = stopped(await startTokenTable({ now: () => NOW.getTime(), sweepEveryMs: 1000 }));
  const other = singleAttemptClient(sweeping.clientConfig);
  await other.send(new PutItemCommand({ TableName: sweeping.tableName, Item: { tokenId: { S: 'past' }, expireAfter: at(NOW_SECONDS - 1) } }));
  const count = async () => (await other.send(new ScanCommand({ TableName: sweeping.tableName }))).Count;
  expect(await count()).toBe(1);
  jest.advanceTimersByTime(1000);
  while (await count() !== 0) await new Promise(setImmediate); // the sweep has begun; jest's own limit ends a wait for one that never comes
  expect(await count()).toBe(0);
  other.destroy();
});
