import { execFile } from 'node:child_process';
import { connect } from 'node:net';
import { promisify } from 'node:util';
import {
  ConditionalCheckFailedException, DeleteItemCommand, DeleteTableCommand, DescribeContinuousBackupsCommand, DescribeTimeToLiveCommand,
  DynamoDBClient, GetItemCommand, ListTablesCommand, PutItemCommand, TransactWriteItemsCommand,
  UpdateContinuousBackupsCommand, UpdateTimeToLiveCommand,
} from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, GetCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { EmbeddedDynamoDb, startEmbeddedTable, type DynamoDbExchange, type DynamoDbRequest, type StartedEmbeddedTable } from '../../testing-kit';
import { DynaliteEngine } from '../../testing-kit/dynalite-engine';
import { claim, errorOf, singleAttemptClient, statusOf } from '../support/dynamodb-client';
import { startTokenTable, tokenTableTemplate } from '../support/embedded-table';
import { stopAfterEach } from '../support/stop-after-each';

const CRM = { tokenId: { S: 'crm' } };

const stopped = stopAfterEach();
let table: StartedEmbeddedTable;
let client: DynamoDBClient;
const requests: DynamoDbRequest[] = [];
const replies: DynamoDbExchange[] = [];
let watch: (request: DynamoDbRequest) => void;

beforeEach(async () => {
  requests.length = replies.length = 0;
  watch = request => { requests.push(request); };
  table = stopped(await startTokenTable({ onRequest: request => watch(request), onReply: exchange => { replies.push(exchange); } }));
  client = singleAttemptClient(table.clientConfig);
});

afterEach(() => client.destroy());

const get = async () => (await client.send(new GetItemCommand({ TableName: table.tableName, Key: CRM, ConsistentRead: true }))).Item;

describe('a failed condition', () => {
  const ALL_OLD = { ReturnValuesOnConditionCheckFailure: 'ALL_OLD' } as const;
  const itemIn = async (call: Promise<unknown>) => {
    const error = await errorOf(call);
    expect(error).toBeInstanceOf(ConditionalCheckFailedException);
    return (error as ConditionalCheckFailedException).Item;
  };

  test('of an update gives back the stored item, when asked for', async () => {
    await client.send(claim(table.tableName, 'first'));
    expect(await itemIn(client.send(claim(table.tableName, 'second', ALL_OLD)))).toEqual({ ...CRM, lease: { S: 'first' } });
  });

  test('of a put or a delete does so too', async () => {
    await client.send(claim(table.tableName, 'first'));
    const absent = { TableName: table.tableName, ConditionExpression: 'attribute_not_exists(lease)', ...ALL_OLD };
    expect(await itemIn(client.send(new PutItemCommand({ ...absent, Item: CRM })))).toHaveProperty('lease');
    expect(await itemIn(client.send(new DeleteItemCommand({ ...absent, Key: CRM })))).toHaveProperty('lease');
  });

  test('gives back nothing when not asked', async () => {
    await client.send(claim(table.tableName, 'first'));
    expect(await itemIn(client.send(claim(table.tableName, 'second')))).toBeUndefined();
  });

  test('gives back nothing where there is no item', async () => {
    const present = { ConditionExpression: 'attribute_exists(lease)', ...ALL_OLD };
    expect(await itemIn(client.send(claim(table.tableName, 'first', present)))).toBeUndefined();
    expect(await get()).toBeUndefined();
  });
});

test('of 100 simultaneous claims exactly one wins, and every loser sees the winner', async () => {
  const claims = Array.from({ length: 100 }, async (_, n) =>
    client.send(claim(table.tableName, `lease-${n}`, { ReturnValuesOnConditionCheckFailure: 'ALL_OLD' })).then(() => `lease-${n}`));
  const outcomes = await Promise.allSettled(claims);
  const winners = outcomes.flatMap(outcome => outcome.status === 'fulfilled' ? [outcome.value] : []);
  const seen = outcomes.flatMap(outcome => outcome.status === 'rejected' ? [(outcome.reason as ConditionalCheckFailedException).Item?.lease?.S] : []);
  expect(winners).toHaveLength(1);
  expect(seen).toEqual(Array.from({ length: 99 }, () => winners[0]));
});

test('the document client works as against AWS', async () => {
  const documents = DynamoDBDocumentClient.from(client);
  await documents.send(new UpdateCommand({
    TableName: table.tableName,
    Key: { tokenId: 'crm' },
    UpdateExpression: 'SET lease = :lease, generation = if_not_exists(generation, :zero) + :one',
    ExpressionAttributeValues: { ':lease': { id: 'a', until: 5 }, ':zero': 0, ':one': 1 },
  }));
  expect((await documents.send(new GetCommand({ TableName: table.tableName, Key: { tokenId: 'crm' } }))).Item).toEqual({
    tokenId: 'crm', generation: 1, lease: { id: 'a', until: 5 },
  });
});

describe('table settings', () => {
  const name = () => ({ TableName: table.tableName });
  const describeTimeToLive = async () => (await client.send(new DescribeTimeToLiveCommand(name()))).TimeToLiveDescription;
  const updateTimeToLive = async (AttributeName: string, Enabled: boolean) =>
    client.send(new UpdateTimeToLiveCommand({ ...name(), TimeToLiveSpecification: { AttributeName, Enabled } }));

  test('time to live can be switched off and on', async () => {
    await updateTimeToLive('expireAfter', false);
    expect(await describeTimeToLive()).toEqual({ TimeToLiveStatus: 'DISABLED' });
    await updateTimeToLive('other', true);
    expect(await describeTimeToLive()).toEqual({ TimeToLiveStatus: 'ENABLED', AttributeName: 'other' });
  });

  test('time to live refuses what DynamoDB refuses', async () => {
    expect((await errorOf(updateTimeToLive('other', true))).message).toBe('TimeToLive is already enabled');
    expect((await errorOf(updateTimeToLive('other', false))).message).toContain('current AttributeName is expireAfter');
    await updateTimeToLive('expireAfter', false);
    expect((await errorOf(updateTimeToLive('expireAfter', false))).message).toBe('TimeToLive is already disabled');
  });

  test('continuous backups remember their state', async () => {
    const update = async (PointInTimeRecoveryEnabled: boolean) =>
      client.send(new UpdateContinuousBackupsCommand({ ...name(), PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled } }));
    const status = async () => (await client.send(new DescribeContinuousBackupsCommand(name())))
      .ContinuousBackupsDescription?.PointInTimeRecoveryDescription?.PointInTimeRecoveryStatus;
    await update(true);
    expect(await status()).toBe('ENABLED');
    await update(false);
    expect(await status()).toBe('DISABLED');
  });

  test('of a table that does not exist are ResourceNotFoundException', async () => {
    expect((await errorOf(client.send(new DescribeTimeToLiveCommand({ TableName: 'missing' })))).name).toBe('ResourceNotFoundException');
  });

  test('end with their table', async () => {
    const db = stopped(await EmbeddedDynamoDb.start());
    const other = singleAttemptClient(db.clientConfig);
    const { tableName } = await db.createTableFromTemplate(tokenTableTemplate());
    await other.send(new DeleteTableCommand({ TableName: tableName }));
    while ((await other.send(new ListTablesCommand({}))).TableNames?.length !== 0); // as in AWS, a deletion takes a moment
    const withoutTtl = structuredClone(tokenTableTemplate()) as { Resources: Record<string, { Properties: { TimeToLiveSpecification?: object } }> };
    for (const { Properties: properties } of Object.values(withoutTtl.Resources)) delete properties.TimeToLiveSpecification;
    await db.createTableFromTemplate(withoutTtl, { tableName });
    expect((await other.send(new DescribeTimeToLiveCommand({ TableName: tableName }))).TimeToLiveDescription?.TimeToLiveStatus).toBe('DISABLED');
    other.destroy();
  });
});

describe('over the wire', () => {
  test('a table answers to its ARN, in data and settings alike', async () => {
    await client.send(claim(table.tableArn, 'by-arn'));
    expect(await get()).toEqual({ ...CRM, lease: { S: 'by-arn' } });
    const { TimeToLiveDescription: timeToLive } = await client.send(new DescribeTimeToLiveCommand({ TableName: table.tableArn }));
    expect(timeToLive?.TimeToLiveStatus).toBe('ENABLED');
  });

  test('transactions are refused as unknown, not half done', async () => {
    const error = await errorOf(client.send(new TransactWriteItemsCommand({
      TransactItems: [{ Put: { TableName: table.tableName, Item: CRM } }],
    })));
    expect(error.name).toBe('UnknownOperationException');
    expect(await get()).toBeUndefined();
  });

  test('a client that resets in the middle of a request leaves the server alive', async () => {
    const { hostname, port } = new URL(table.endpoint);
    await new Promise<void>((resolve, reject) => {
      const socket = connect(Number(port), hostname, () => {
        socket.write('POST / HTTP/1.1\r\nHost: table\r\nX-Amz-Target: DynamoDB_20120810.GetItem\r\nContent-Length: 1000\r\n\r\n{"Tab', () => {
          socket.resetAndDestroy();
          resolve();
        });
      });
      socket.on('error', reject);
    });
    expect(await get()).toBeUndefined();
    expect(requests.map(request => request.operation)).toEqual(['GetItem']);
  });

  const post = async (body: string) => fetch(table.endpoint, {
    method: 'POST',
    body,
    headers: {
      'content-type': 'application/x-amz-json-1.0',
      'x-amz-target': 'DynamoDB_20120810.UpdateItem',
      'x-amz-date': '20260101T000000Z',
      'authorization': 'AWS4-HMAC-SHA256 Credential=a, SignedHeaders=b, Signature=c',
    },
  });

  test('a request that makes the engine throw is an error of its sender, and the server lives on', async () => {
    jest.spyOn(DynaliteEngine.prototype, 'handle').mockRejectedValueOnce(new TypeError('a defect'));
    const response = await post('{}');
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      __type: expect.stringContaining('EmbeddedDynamoDbFailure'), message: 'The embedded DynamoDB failed: a defect',
    });
    expect(await get()).toBeUndefined();
  });

  test.each(['null', '[]', '"crm"', '17', 'true'])('a request whose body is %s is told that parameters are a JSON object', async (body) => {
    const response = await post(body);
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({
      __type: expect.stringContaining('#SerializationException'),
      message: `The body of this UpdateItem request is ${body}. Expected a JSON object with its parameters.`,
    });
    expect(replies.at(-1)).toMatchObject({ operation: 'UpdateItem', status: 400, error: 'SerializationException' });
  });
});

describe('the Date header', () => {
  const dateOf = async (endpoint: string) => new Date((await fetch(endpoint)).headers.get('date') ?? 'none').getTime();

  test('tells the time', async () => {
    const before = Date.now();
    const date = await dateOf(table.endpoint);
    expect(date).toBeGreaterThanOrEqual(before - 1000); // the header counts in whole seconds
    expect(date).toBeLessThanOrEqual(Date.now());
  });

  test('follows the clock that the table was given', async () => {
    const now = Date.UTC(2031, 4, 6, 7, 8, 9);
    const shifted = stopped(await startTokenTable({ now: () => now }));
    expect(await dateOf(shifted.endpoint)).toBe(now);
  });
});

describe('observers', () => {
  test('see each request with its parameters, before it is carried out', async () => {
    await client.send(claim(table.tableName, 'first'));
    expect(requests).toEqual([{ operation: 'UpdateItem', body: expect.objectContaining({ TableName: table.tableName, Key: CRM }) }]);
  });

  test('see each answer, and the error as the SDK names it', async () => {
    await client.send(claim(table.tableName, 'first'));
    await errorOf(client.send(claim(table.tableName, 'second')));
    expect(replies.map(({ operation, status, error }) => ({ operation, status, error }))).toEqual([
      { operation: 'UpdateItem', status: 200, error: undefined },
      { operation: 'UpdateItem', status: 400, error: 'ConditionalCheckFailedException' },
    ]);
  });

  test('that throw are an error which no SDK tries again, and nothing is carried out', async () => {
    watch = () => { throw new Error('expected a different request'); };
    const error = await errorOf(client.send(claim(table.tableName, 'first')));
    expect(statusOf(error)).toBe(400);
    expect(error.message).toContain('expected a different request');
    watch = () => undefined;
    expect(await get()).toBeUndefined();
  });
});

describe('life', () => {
  test('a child process needs the environment and nothing else', async () => {
    const script = `
      const { DynamoDBClient, ListTablesCommand } = require('@aws-sdk/client-dynamodb');
      new DynamoDBClient({}).send(new ListTablesCommand({})).then(({ TableNames }) =>
        console.log(TableNames.includes(process.env.SHARED_TOKEN_TABLE)));`;
    const { stdout } = await promisify(execFile)(process.execPath, ['-e', script], { env: table.environment });
    expect(stdout).toBe('true\n');
  });

  test('a stopped table frees its port, for the next one to take', async () => {
    const port = Number(new URL(table.endpoint).port);
    await table.stop();
    const next = stopped(await startTokenTable({ port }));
    expect(next.endpoint).toBe(table.endpoint);
  });

  test('stopping twice is stopping once', async () => {
    await table.stop();
    await expect(table.stop()).resolves.toBeUndefined();
  });

  test('a port that is taken is PORT_UNAVAILABLE', async () => {
    const port = Number(new URL(table.endpoint).port);
    await expect(startTokenTable({ port })).rejects.toMatchObject({ code: 'PORT_UNAVAILABLE', cause: { code: 'EADDRINUSE' } });
  });

  test.each([99_999, -1, 1.5, NaN])('a port that there cannot be (%p) is PORT_UNAVAILABLE', async port => {
    await expect(startTokenTable({ port })).rejects.toMatchObject({
      code: 'PORT_UNAVAILABLE', message: expect.stringContaining(`127.0.0.1:${port}`), cause: { code: 'ERR_SOCKET_BAD_PORT' },
    });
  });

  test('a template that makes no table leaves no server behind', async () => {
    const port = Number(new URL(table.endpoint).port);
    await table.stop();
    await expect(startEmbeddedTable({ port, template: { Resources: {} } })).rejects.toMatchObject({ code: 'TABLE_NOT_IN_TEMPLATE' });
    expect(stopped(await startTokenTable({ port })).endpoint).toBe(table.endpoint);
  });
});
