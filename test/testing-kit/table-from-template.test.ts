import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  DescribeContinuousBackupsCommand, DescribeTableCommand, DescribeTimeToLiveCommand, DynamoDBClient, type TableDescription,
} from '@aws-sdk/client-dynamodb';
import { App, CfnParameter, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { AttributeType, Billing, BillingMode, Capacity, CfnTable, Table, TableV2, type TablePropsV2 } from 'aws-cdk-lib/aws-dynamodb';
import { EmbeddedDynamoDb, type EmbeddedTable } from '../../testing-kit';
import { singleAttemptClient } from '../support/dynamodb-client';
import { tokenTableTemplate } from '../support/embedded-table';

const TOKEN_ID = { name: 'tokenId', type: AttributeType.STRING };

let db: EmbeddedDynamoDb;
let client: DynamoDBClient;

beforeAll(async () => {
  db = await EmbeddedDynamoDb.start();
  client = singleAttemptClient(db.clientConfig);
});

afterAll(async () => {
  client.destroy();
  await db.stop();
});

function templateWith(build: (stack: Stack) => void): object {
  const stack = new Stack(new App(), 'Stack');
  build(stack);
  return Template.fromStack(stack).toJSON();
}

const tableV2 = (props: Partial<TablePropsV2>) => templateWith(stack => new TableV2(stack, 'Tokens', { partitionKey: TOKEN_ID, ...props }));

async function descriptionOf({ tableName }: EmbeddedTable): Promise<TableDescription> {
  const { Table: table } = await client.send(new DescribeTableCommand({ TableName: tableName }));
  if (!table) throw new Error(`No table ${tableName}`);
  return table;
}

async function timeToLiveOf({ tableName }: EmbeddedTable) {
  return (await client.send(new DescribeTimeToLiveCommand({ TableName: tableName }))).TimeToLiveDescription;
}

async function backupsOf({ tableName }: EmbeddedTable) {
  const { ContinuousBackupsDescription: backups } = await client.send(new DescribeContinuousBackupsCommand({ TableName: tableName }));
  return backups?.PointInTimeRecoveryDescription?.PointInTimeRecoveryStatus;
}

describe('what the template declares is what the table has', () => {
  test('a TableV2 keeps its key, its on-demand billing, its time to live and its backups', async () => {
    const table = await db.createTableFromTemplate(tableV2({
      timeToLiveAttribute: 'expireAfter', pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
    }));
    expect(await descriptionOf(table)).toMatchObject({
      TableStatus: 'ACTIVE',
      TableArn: table.tableArn,
      KeySchema: [{ AttributeName: 'tokenId', KeyType: 'HASH' }],
      AttributeDefinitions: [{ AttributeName: 'tokenId', AttributeType: 'S' }],
      BillingModeSummary: { BillingMode: 'PAY_PER_REQUEST' },
    });
    expect(await timeToLiveOf(table)).toEqual({ AttributeName: 'expireAfter', TimeToLiveStatus: 'ENABLED' });
    expect(await backupsOf(table)).toBe('ENABLED');
  });

  test('what a TableV2 leaves out stays off', async () => {
    const table = await db.createTableFromTemplate(tableV2({}));
    expect(await timeToLiveOf(table)).toEqual({ TimeToLiveStatus: 'DISABLED' });
    expect(await backupsOf(table)).toBe('DISABLED');
  });

  test('a TableV2 with provisioned capacity has its fixed reads, and its writes from where auto scaling begins', async () => {
    const table = await db.createTableFromTemplate(tableV2({
      billing: Billing.provisioned({ readCapacity: Capacity.fixed(7), writeCapacity: Capacity.autoscaled({ minCapacity: 3, maxCapacity: 9 }) }),
    }));
    expect((await descriptionOf(table)).ProvisionedThroughput).toMatchObject({ ReadCapacityUnits: 7, WriteCapacityUnits: 3 });
  });

  test('a Table keeps its provisioned capacity, its indexes and its time to live', async () => {
    const table = await db.createTableFromTemplate(templateWith(stack => {
      const tokens = new Table(stack, 'Tokens', {
        partitionKey: TOKEN_ID, billingMode: BillingMode.PROVISIONED, readCapacity: 4, writeCapacity: 2, timeToLiveAttribute: 'expireAfter',
      });
      tokens.addGlobalSecondaryIndex({ indexName: 'by-owner', partitionKey: { name: 'owner', type: AttributeType.STRING } });
    }));
    const description = await descriptionOf(table);
    expect(description.ProvisionedThroughput).toMatchObject({ ReadCapacityUnits: 4, WriteCapacityUnits: 2 });
    expect(description.GlobalSecondaryIndexes).toMatchObject([{ IndexName: 'by-owner', KeySchema: [{ AttributeName: 'owner', KeyType: 'HASH' }] }]);
    expect(await timeToLiveOf(table)).toMatchObject({ AttributeName: 'expireAfter', TimeToLiveStatus: 'ENABLED' });
  });
});

describe('the name', () => {
  test('a fixed name is kept', async () => {
    expect((await db.createTableFromTemplate(tableV2({ tableName: 'our-tokens' }))).tableName).toBe('our-tokens');
  });

  test('a name that is known only at deployment is replaced by one made from the logical id', async () => {
    const table = await db.createTableFromTemplate(templateWith(stack => {
      new TableV2(stack, 'Tokens', { partitionKey: TOKEN_ID, tableName: new CfnParameter(stack, 'Name').valueAsString });
    }));
    expect(table.tableName).toContain(table.logicalId);
  });

  test('one template makes as many tables as it is asked for, each under a name of its own', async () => {
    const template = tokenTableTemplate();
    const names = (await Promise.all([1, 2, 3].map(async () => db.createTableFromTemplate(template)))).map(table => table.tableName);
    expect(new Set(names).size).toBe(3);
  });

  test('the caller has the last word', async () => {
    expect((await db.createTableFromTemplate(tableV2({ tableName: 'theirs' }), { tableName: 'mine' })).tableName).toBe('mine');
  });

  test('a name that is taken is TABLE_REFUSED, with the reason as its cause', async () => {
    await db.createTableFromTemplate(tableV2({}), { tableName: 'taken' });
    await expect(db.createTableFromTemplate(tableV2({}), { tableName: 'taken' })).rejects.toMatchObject({
      code: 'TABLE_REFUSED', cause: { __type: expect.stringContaining('ResourceInUseException') },
    });
  });
});

describe('which table', () => {
  const orders = (stack: Stack) => new TableV2(stack, 'Orders', { partitionKey: { name: 'orderId', type: AttributeType.STRING } });

  test('among others, the one whose only key is tokenId', async () => {
    const template = templateWith(stack => {
      orders(stack);
      new TableV2(stack, 'Tokens', { partitionKey: TOKEN_ID });
      new TableV2(stack, 'History', { partitionKey: TOKEN_ID, sortKey: { name: 'at', type: AttributeType.NUMBER } });
    });
    expect((await db.createTableFromTemplate(template)).logicalId).toMatch(/^Tokens/);
  });

  test('two token tables are TABLE_AMBIGUOUS, and the error lists both', async () => {
    const template = templateWith(stack => ['First', 'Second'].forEach(id => new TableV2(stack, id, { partitionKey: TOKEN_ID })));
    await expect(db.createTableFromTemplate(template)).rejects.toMatchObject({
      code: 'TABLE_AMBIGUOUS', message: expect.stringMatching(/First.*, Second.*logicalId/),
    });
  });

  test('the logical id chooses among several, and takes tables of any key', async () => {
    const template = templateWith(stack => { orders(stack); });
    const logicalId = Object.keys(Template.fromJSON(template).findResources('AWS::DynamoDB::GlobalTable'))[0] ?? '';
    const table = await db.createTableFromTemplate(template, { logicalId });
    expect((await descriptionOf(table)).KeySchema).toEqual([{ AttributeName: 'orderId', KeyType: 'HASH' }]);
  });

  test('an unknown logical id is TABLE_NOT_IN_TEMPLATE, and the error lists what there is', async () => {
    await expect(db.createTableFromTemplate(tokenTableTemplate(), { logicalId: 'Nope' })).rejects.toMatchObject({
      code: 'TABLE_NOT_IN_TEMPLATE', message: expect.stringMatching(/'Nope'.*It has: Tokens/),
    });
  });

  test('a template without a token table is TABLE_NOT_IN_TEMPLATE, and the error lists the other tables', async () => {
    await expect(db.createTableFromTemplate(templateWith(orders))).rejects.toMatchObject({
      code: 'TABLE_NOT_IN_TEMPLATE', message: expect.stringMatching(/tokenId.*It has: Orders/),
    });
  });

  test('a template without any table says so', async () => {
    await expect(db.createTableFromTemplate({ Resources: {} })).rejects.toMatchObject({
      code: 'TABLE_NOT_IN_TEMPLATE', message: expect.stringContaining('no tables at all'),
    });
  });
});

describe('what cannot be made', () => {
  test('a key that is known only at deployment is TABLE_UNSUPPORTED, and the error names the table and the property', async () => {
    const template = templateWith(stack => {
      const name = new CfnParameter(stack, 'Key').valueAsString;
      new CfnTable(stack, 'Odd', {
        keySchema: [{ attributeName: name, keyType: 'HASH' }],
        attributeDefinitions: [{ attributeName: 'tokenId', attributeType: 'S' }],
        billingMode: 'PAY_PER_REQUEST',
      });
    });
    await expect(db.createTableFromTemplate(template, { logicalId: 'Odd' })).rejects.toMatchObject({
      code: 'TABLE_UNSUPPORTED', message: expect.stringMatching(/'Odd'.*KeySchema\.0\.AttributeName/),
    });
  });

  test('a time to live attribute that is known only at deployment is TABLE_UNSUPPORTED', async () => {
    const template = templateWith(stack => {
      new TableV2(stack, 'Tokens', { partitionKey: TOKEN_ID, timeToLiveAttribute: new CfnParameter(stack, 'Ttl').valueAsString });
    });
    await expect(db.createTableFromTemplate(template)).rejects.toMatchObject({
      code: 'TABLE_UNSUPPORTED', message: expect.stringContaining('TimeToLiveSpecification.AttributeName'),
    });
  });
});

describe('the template as a file', () => {
  let folder: string;
  beforeAll(() => { folder = mkdtempSync(join(tmpdir(), 'template-')); });
  afterAll(() => rmSync(folder, { recursive: true }));

  const file = (name: string, content: string): string => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };

  test('is read from its path', async () => {
    const path = file('Good.template.json', JSON.stringify(tokenTableTemplate()));
    expect((await db.createTableFromTemplate(path)).logicalId).toMatch(/^Tokens/);
  });

  test.each([
    ['is missing', () => join(folder, 'Missing.template.json')],
    ['is no JSON', () => file('Bad.template.json', 'Resources: {}')],
    ['holds something else', () => file('Other.json', '{"version": "48.0.0"}')],
  ])('where it %s the error is TEMPLATE_UNREADABLE and names the path', async (_, path) => {
    await expect(db.createTableFromTemplate(path())).rejects.toMatchObject({ code: 'TEMPLATE_UNREADABLE', message: expect.stringContaining(path()) });
  });
});
