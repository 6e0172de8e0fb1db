import { App, RemovalPolicy } from 'aws-cdk-lib';
import { Match, Template } from 'aws-cdk-lib/assertions';
import * as dynamodb from 'aws-cdk-lib/aws-dynamodb';
import { newFunction, newStack, REGION, ACCOUNT, warningsIn } from './support/stacks';
import { SharedTokenTable, SharedTokenTableProps } from '../../src';

const TABLE = 'AWS::DynamoDB::GlobalTable';

/** What the template says where it is as it should be; what else breaks the rules is found by test/security. */
const RULES = {
  pointInTimeRecovery: {
    Replicas: [Match.objectLike({ PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true, RecoveryPeriodInDays: 1 } })],
  },
  deletionProtection: { Replicas: [Match.objectLike({ DeletionProtectionEnabled: true })] },
  customerKey: { SSESpecification: { SSEEnabled: true, SSEType: 'KMS' } },
};

function templateOf(props?: SharedTokenTableProps): Template {
  const stack = newStack();
  new SharedTokenTable(stack, 'Tokens', props);
  return Template.fromStack(stack);
}

test('the table is keyed by token id, billed per request, and lets DynamoDB delete what has expired', () => {
  templateOf().hasResourceProperties(TABLE, {
    KeySchema: [{ AttributeName: 'tokenId', KeyType: 'HASH' }],
    AttributeDefinitions: [{ AttributeName: 'tokenId', AttributeType: 'S' }],
    BillingMode: 'PAY_PER_REQUEST',
    TimeToLiveSpecification: { AttributeName: 'expireAfter', Enabled: true },
  });
});

test('a table alone is one resource: no layer, no role, no custom resource', () => {
  expect(Object.keys(templateOf().toJSON().Resources)).toHaveLength(1);
});

test('the table has a name only on request', () => {
  templateOf().hasResourceProperties(TABLE, { TableName: Match.absent() });
  templateOf({ tableName: 'crm-tokens' }).hasResourceProperties(TABLE, { TableName: 'crm-tokens' });
});

test('without a prop, deletions can be undone for one day', () => {
  templateOf().hasResourceProperties(TABLE, RULES.pointInTimeRecovery);
});

test('point-in-time recovery can be chosen: longer', () => {
  const template = templateOf({ pointInTimeRecovery: { pointInTimeRecoveryEnabled: true, recoveryPeriodInDays: 35 } });
  template.hasResourceProperties(TABLE, {
    Replicas: [Match.objectLike({ PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true, RecoveryPeriodInDays: 35 } })],
  });
});

test('without a prop, the table outlives its stack and cannot be deleted by accident', () => {
  const template = templateOf();
  template.hasResource(TABLE, { DeletionPolicy: 'Retain', UpdateReplacePolicy: 'Retain' });
  template.hasResourceProperties(TABLE, RULES.deletionProtection);
});

test('RemovalPolicy.DESTROY alone makes a table that cdk destroy removes', () => {
  const template = templateOf({ removalPolicy: RemovalPolicy.DESTROY });
  template.hasResource(TABLE, { DeletionPolicy: 'Delete', UpdateReplacePolicy: 'Delete' });
  template.hasResourceProperties(TABLE, { Replicas: [Match.objectLike({ DeletionProtectionEnabled: false })] });
});

test('deletion protection can be kept on a table that goes with its stack', () => {
  templateOf({ removalPolicy: RemovalPolicy.DESTROY, deletionProtection: true }).hasResourceProperties(TABLE, RULES.deletionProtection);
});

test('without a prop, the table is encrypted with the key that DynamoDB owns', () => {
  templateOf().hasResourceProperties(TABLE, { SSESpecification: Match.absent() });
});

test('the key that AWS manages can be chosen', () => {
  const template = templateOf({ encryption: dynamodb.TableEncryptionV2.awsManagedKey() });
  template.hasResourceProperties(TABLE, RULES.customerKey);
});

test('a replica added through the public table is warned about, because each region would judge conditions by itself', () => {
  const stack = newStack({ env: { account: ACCOUNT, region: REGION } });
  const tokens = new SharedTokenTable(stack, 'Tokens');
  tokens.table.addReplica({ region: 'eu-central-1' });
  expect(warningsIn(stack)).toEqual([[
    '/Stack0/Tokens',
    expect.stringMatching(/replicas \("eu-central-1", "eu-west-1"\).*a table of its own.*\[ack: cdk-shared-token-table:replica\]/),
  ]]);
});

test('a table without replicas is not warned about', () => {
  const stack = newStack({ env: { account: ACCOUNT, region: REGION } });
  new SharedTokenTable(stack, 'Tokens');
  expect(warningsIn(stack)).toEqual([]);
});

test('the logical id of the table does not move: a new one would be a new table', () => {
  expect(Object.keys(templateOf().findResources(TABLE))).toEqual(['TokensTableFC8D39D1']);
});

describe('imported tables', () => {
  const ARN = `arn:aws:dynamodb:${REGION}:${ACCOUNT}:table/crm-tokens`;

  test('by name: the ARN is in the account and region of the stack', () => {
    const stack = newStack({ env: { account: ACCOUNT, region: REGION } });
    const tokens = SharedTokenTable.fromTableName(stack, 'Imported', 'crm-tokens');
    expect(tokens.tableName).toBe('crm-tokens');
    expect(stack.resolve(tokens.tableArn)).toEqual({ 'Fn::Join': ['', ['arn:', { Ref: 'AWS::Partition' }, `:dynamodb:${REGION}:${ACCOUNT}:table/crm-tokens`]] });
  });

  test('by ARN: name, account and region are those of the ARN', () => {
    const tokens = SharedTokenTable.fromTableArn(newStack(), 'Imported', ARN);
    expect(tokens.tableName).toBe('crm-tokens');
    expect(tokens.tableArn).toBe(ARN);
    expect(tokens.env).toEqual({ account: ACCOUNT, region: REGION });
  });

  test('by an ARN that is known only at deployment', () => {
    const app = new App();
    const stack = newStack({}, app);
    const other = new dynamodb.TableV2(newStack({}, app), 'Other', { partitionKey: { name: 'tokenId', type: dynamodb.AttributeType.STRING } });
    const tokens = SharedTokenTable.fromTableArn(stack, 'Imported', other.tableArn);
    tokens.attachTo(newFunction(stack, 'Fn'), { tokenIds: ['crm'] });
    expect(() => Template.fromStack(stack)).not.toThrow();
  });

  test.each([
    ['neither name nor ARN', {}, /Stack0: .*Got neither, expected one of/],
    ['both name and ARN', { tableName: 'crm-tokens', tableArn: ARN }, /Stack0: .*Got both, expected one of/],
    ['an ARN for any table', { tableArn: `arn:aws:dynamodb:${REGION}:${ACCOUNT}:table/*` }, /Got 'arn:.*\*', expected 'arn:<partition>/],
    ['an ARN of any region', { tableArn: `arn:aws:dynamodb:*:${ACCOUNT}:table/crm-tokens` }, /Got 'arn:.*tokens', expected 'arn:<partition>/],
    ['an ARN for a name', { tableName: ARN }, /^Stack0: .*'Imported'.* Got 'arn:.*tokens', expected 3 to 255 of the characters .*fromTableArn/],
    ['the ARN of something else', { tableArn: `${ARN}/index/byDate` }, /Stack0: .*Got 'arn:.*byDate', expected 'arn:<partition>/],
  ])('refused: %s', (_case, attributes, message) => {
    expect(() => SharedTokenTable.fromTableAttributes(newStack(), 'Imported', attributes)).toThrow(message);
  });

  test.each(['ab', 'a/b', 'crm tokens', 'crm*', 'ünicode', 'x'.repeat(256)])('refused: %j, which can be no name of a table, imported or defined', (tableName) => {
    const message = `Got '${tableName}', expected 3 to 255 of the characters A-Z, a-z, 0-9, '_', '-' and '.'.`;
    expect(() => SharedTokenTable.fromTableName(newStack(), 'Imported', tableName)).toThrow(message);
    expect(() => new SharedTokenTable(newStack(), 'Tokens', { tableName })).toThrow(message);
  });

  test.each(['abc', 'Crm_tokens-1.eu', 'x'.repeat(255)])('the name %j is taken as it is', (tableName) => {
    expect(SharedTokenTable.fromTableName(newStack(), 'Imported', tableName).tableName).toBe(tableName);
  });
});
