import { App, NestedStack, Stack } from 'aws-cdk-lib';
import { Match, Template } from 'aws-cdk-lib/assertions';
import * as dynamodb from 'aws-cdk-lib/aws-dynamodb';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as kms from 'aws-cdk-lib/aws-kms';
import { ACCOUNT, newFunction, newStack, REGION, statementsIn } from './support/stacks';
import { SharedTokenTable, TokenAccess } from '../../src';

const TABLE = 'AWS::DynamoDB::GlobalTable';

function tableUnderKey(stack: Stack, key: kms.IKey = new kms.Key(stack, 'Key')): SharedTokenTable {
  return new SharedTokenTable(stack, 'Tokens', { encryption: dynamodb.TableEncryptionV2.customerManagedKey(key) });
}

const NESTING: [string, (app: App) => Stack][] = [
  ['region-agnostic stack', app => newStack({}, app)],
  ['fixed-region stack', app => newStack({ env: { account: ACCOUNT, region: REGION } }, app)],
  ['nested stack of a region-agnostic stack', app => new NestedStack(newStack({}, app), 'Nested')],
  ['nested stack of a fixed-region stack', app => new NestedStack(newStack({ env: { account: ACCOUNT, region: REGION } }, app), 'Nested')],
];

describe.each(NESTING)('a customer key in a %s', (_name, make) => {
  test('encrypts the table', () => {
    const stack = make(new App());
    const key = new kms.Key(stack, 'Key');
    tableUnderKey(stack, key);
    Template.fromStack(stack).hasResourceProperties(TABLE, {
      SSESpecification: { SSEEnabled: true, SSEType: 'KMS' },
      Replicas: [{
        Region: stack.resolve(stack.region),
        SSESpecification: { KMSMasterKeyId: stack.resolve(key.keyArn) },
        DeletionProtectionEnabled: true,
        PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true, RecoveryPeriodInDays: 1 },
      }],
    });
  });

  test('is granted to consumers: decryption with exactly this key, through DynamoDB of this region', () => {
    const stack = make(new App());
    const key = new kms.Key(stack, 'Key');
    tableUnderKey(stack, key).attachTo(newFunction(stack, 'Fn'), { access: TokenAccess.READ, tokenIds: ['crm'] });
    expect(statementsIn(stack).filter(({ Action }) => JSON.stringify(Action).includes('kms:'))).toEqual([{
      Effect: 'Allow',
      Action: 'kms:Decrypt',
      Resource: stack.resolve(key.keyArn),
      Condition: { StringEquals: { 'kms:ViaService': stack.resolve(`dynamodb.${stack.region}.amazonaws.com`) } },
    }]);
  });

  test('is known to the grants of the public table too', () => {
    const stack = make(new App());
    const tokens = tableUnderKey(stack);
    tokens.table.grantReadData(new iam.Role(stack, 'Role', { assumedBy: new iam.AccountRootPrincipal() }));
    expect(JSON.stringify(statementsIn(stack))).toContain('kms:Decrypt');
    expect(tokens.encryptionKey).toBe(tokens.table.encryptionKey);
  });
});

test('a key of another stack encrypts the table of a region-agnostic stack', () => {
  const app = new App();
  const keys = newStack({}, app);
  const stack = newStack({}, app);
  tableUnderKey(stack, new kms.Key(keys, 'Key'));
  Template.fromStack(stack).hasResourceProperties(TABLE, {
    Replicas: [Match.objectLike({ SSESpecification: { KMSMasterKeyId: { 'Fn::ImportValue': Match.stringLikeRegexp('Key') } } })],
  });
});

test('tags and resource policies stay on the table of a region-agnostic stack with a customer key', () => {
  const app = new App();
  const other = newStack({}, app);
  const stack = newStack({}, app);
  const tokens = tableUnderKey(stack);
  const role = new iam.Role(other, 'Role', { assumedBy: new iam.AccountRootPrincipal() });
  tokens.table.addToResourcePolicy(new iam.PolicyStatement({ principals: [role], actions: ['dynamodb:GetItem'], resources: ['*'] }));
  Template.fromStack(stack).hasResourceProperties(TABLE, {
    Replicas: [Match.objectLike({
      ResourcePolicy: { PolicyDocument: Match.objectLike({ Statement: [Match.objectLike({ Principal: { AWS: { 'Fn::ImportValue': Match.anyValue() } } })] }) },
    })],
  });
});

test('a writer needs no more of the key than a reader: DynamoDB encrypts with the data key that it had decrypted', () => {
  const stack = newStack();
  tableUnderKey(stack).attachTo(newFunction(stack, 'Fn'), { access: TokenAccess.REFRESH });
  expect(statementsIn(stack).map(({ Action }) => Action)).toEqual([['dynamodb:GetItem', 'dynamodb:UpdateItem'], 'kms:Decrypt']);
});

test('a table under a key that needs no permissions grants none', () => {
  const stack = newStack();
  new SharedTokenTable(stack, 'Tokens', { encryption: dynamodb.TableEncryptionV2.awsManagedKey() }).attachTo(newFunction(stack, 'Fn'));
  expect(JSON.stringify(statementsIn(stack))).not.toContain('kms:');
});

test('the key of an imported table is granted when it is named, in the region of the table', () => {
  const stack = newStack({ env: { account: ACCOUNT, region: 'eu-central-1' } });
  const keyArn = `arn:aws:kms:${REGION}:${ACCOUNT}:key/1234`;
  const tokens = SharedTokenTable.fromTableAttributes(stack, 'Imported', {
    tableArn: `arn:aws:dynamodb:${REGION}:${ACCOUNT}:table/crm-tokens`,
    encryptionKey: kms.Key.fromKeyArn(stack, 'Key', keyArn),
  });
  tokens.attachTo(newFunction(stack, 'Fn'), { tokenIds: ['crm'] });
  expect(statementsIn(stack)[1]).toEqual({
    Effect: 'Allow',
    Action: 'kms:Decrypt',
    Resource: keyArn,
    Condition: { StringEquals: { 'kms:ViaService': `dynamodb.${REGION}.amazonaws.com` } },
  });
});

describe('an alias of a key', () => {
  const REFUSED = /^Stack0\/\w+: .*KMS does not authorize by the ARN of an alias.* Got .*alias\/crm'?, expected the key itself\. .*Key\.fromKeyArn.*Key\.fromLookup/;
  const aliases: [string, (stack: Stack) => kms.IKey][] = [
    ['by name', stack => kms.Alias.fromAliasName(stack, 'Alias', 'alias/crm')],
    ['by ARN', stack => kms.Key.fromKeyArn(stack, 'Alias', `arn:aws:kms:${REGION}:${ACCOUNT}:alias/crm`)],
  ];

  test.each(aliases)('that is imported (%s) is refused for an imported table', (_name, aliasIn) => {
    const stack = newStack();
    expect(() => SharedTokenTable.fromTableAttributes(stack, 'Imported', { tableName: 'crm-tokens', encryptionKey: aliasIn(stack) })).toThrow(REFUSED);
  });

  test.each(aliases)('that is imported (%s) is refused for a table of this app', (_name, aliasIn) => {
    for (const env of [undefined, { account: ACCOUNT, region: REGION }]) {
      const stack = newStack({ env });
      expect(() => tableUnderKey(stack, aliasIn(stack))).toThrow(REFUSED);
    }
  });

  test('whose key is known stands for that key', () => {
    const stack = newStack();
    const key = new kms.Key(stack, 'Key');
    tableUnderKey(stack, new kms.Alias(stack, 'Alias', { aliasName: 'alias/crm', targetKey: key })).attachTo(newFunction(stack, 'Fn'));
    expect(statementsIn(stack)[1]).toMatchObject({ Action: 'kms:Decrypt', Resource: stack.resolve(key.keyArn) });
  });
});
