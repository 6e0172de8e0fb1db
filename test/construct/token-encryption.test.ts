import { App, Duration, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import * as kms from 'aws-cdk-lib/aws-kms';
import * as scheduler from 'aws-cdk-lib/aws-scheduler';
import * as secretsmanager from 'aws-cdk-lib/aws-secretsmanager';
import { ACCOUNT, newFunction, newStack, OTHER_ACCOUNT, REGION, statementsIn, variablesOf, warningIdsIn, warningsIn } from './support/stacks';
import { SharedTokenTable, SharedTokenTableAttributes, TokenAccess, TokenSource } from '../../src';

const KEY_ARN = `arn:aws:kms:${REGION}:${ACCOUNT}:key/1234`;
const ENV = { env: { account: ACCOUNT, region: REGION } };

function setUp(stack = newStack(ENV)): { stack: Stack; tokens: SharedTokenTable; tableName: unknown } {
  const tokens = new SharedTokenTable(stack, 'Tokens', { tokenEncryptionKey: kms.Key.fromKeyArn(stack, 'Key', KEY_ARN) });
  return { stack, tokens, tableName: stack.resolve(tokens.tableName) };
}

const ofKey = (stack: Stack, prefix?: string) => statementsIn(stack, prefix).filter(({ Action }) => JSON.stringify(Action).includes('kms:'));
const allow = (tableName: unknown, actions: unknown, ids: object = {}, equals: object = {}) => ({
  Effect: 'Allow',
  Action: actions,
  Resource: KEY_ARN,
  Condition: { StringEquals: { 'kms:EncryptionContext:table': tableName, ...equals }, ...ids },
});
const BOTH = ['kms:Decrypt', 'kms:GenerateDataKey'];

test('a reader may decrypt the tokens of its ids, and nothing else', () => {
  const { stack, tokens, tableName } = setUp();
  tokens.attachTo(newFunction(stack, 'Fn'), { access: TokenAccess.READ, tokenIds: ['crm', 'erp', 'bot-*'] });
  expect(ofKey(stack)).toEqual([
    allow(tableName, 'kms:Decrypt', {}, { 'kms:EncryptionContext:tokenId': ['crm', 'erp'] }),
    allow(tableName, 'kms:Decrypt', { StringLike: { 'kms:EncryptionContext:tokenId': ['bot-*'] } }),
  ]);
});

test('who refreshes may also make data keys, for its ids alone', () => {
  const { stack, tokens, tableName } = setUp();
  tokens.attachTo(newFunction(stack, 'Fn'), { tokenIds: ['crm'] });
  expect(ofKey(stack)).toEqual([allow(tableName, BOTH, {}, { 'kms:EncryptionContext:tokenId': ['crm'] })]);
});

test('all tokens are those of this table', () => {
  const { stack, tokens, tableName } = setUp();
  tokens.attachTo(newFunction(stack, 'Fn'));
  expect(ofKey(stack)).toEqual([allow(tableName, BOTH)]);
});

test('a refresher may do both, its readers only decrypt', () => {
  const { stack, tokens, tableName } = setUp();
  const crm = tokens.addRefresher('Crm', {
    tokenId: 'crm',
    source: TokenSource.clientCredentials({ tokenUrl: 'https://auth.example.com/token', credentials: new secretsmanager.Secret(stack, 'Credentials') }),
    schedule: scheduler.ScheduleExpression.rate(Duration.minutes(30)),
  });
  crm.attachTo(newFunction(stack, 'Orders'));
  expect(ofKey(stack, 'TokensCrm')).toEqual([allow(tableName, BOTH, {}, { 'kms:EncryptionContext:tokenId': ['crm'] })]);
  expect(ofKey(stack, 'Orders')).toEqual([allow(tableName, 'kms:Decrypt', {}, { 'kms:EncryptionContext:tokenId': ['crm'] })]);
});

test('the functions are told the key together with the table, so that none can forget it', () => {
  const { stack, tokens } = setUp();
  const fn = newFunction(stack, 'Fn');
  tokens.attachTo(fn);
  const expected = { 'Fn::Join': ['', [stack.resolve(tokens.tableName), `#${KEY_ARN}`]] };
  expect(variablesOf(stack, fn)).toMatchObject({ SHARED_TOKEN_TABLE: expected });
  expect(stack.resolve(tokens.environment)).toEqual({ SHARED_TOKEN_TABLE: expected });
});

test('a table without such a key is told by its name alone, and grants nothing of a key', () => {
  const stack = newStack(ENV);
  const tokens = new SharedTokenTable(stack, 'Tokens');
  tokens.attachTo(newFunction(stack, 'Fn'));
  expect(stack.resolve(tokens.environment)).toEqual({ SHARED_TOKEN_TABLE: stack.resolve(tokens.tableName) });
  expect(ofKey(stack)).toEqual([]);
});

test('an imported table: the key is told with the ARN of the table, and granted for its name', () => {
  const stack = newStack({ env: { account: OTHER_ACCOUNT, region: REGION } });
  const tokens = SharedTokenTable.fromTableAttributes(stack, 'Imported', {
    tableArn: `arn:aws:dynamodb:${REGION}:${ACCOUNT}:table/crm-tokens`,
    tokenEncryptionKey: kms.Key.fromKeyArn(stack, 'Key', KEY_ARN),
  });
  const fn = newFunction(stack, 'Fn');
  tokens.attachTo(fn, { access: TokenAccess.READ, tokenIds: ['crm'] });
  expect(variablesOf(stack, fn)).toMatchObject({ SHARED_TOKEN_TABLE: `arn:aws:dynamodb:${REGION}:${ACCOUNT}:table/crm-tokens#${KEY_ARN}` });
  expect(ofKey(stack)).toEqual([allow('crm-tokens', 'kms:Decrypt', {}, { 'kms:EncryptionContext:tokenId': ['crm'] })]);
  expect(warningIdsIn(stack)).toEqual(['crossAccountPrincipal']);
});

test('the key at rest and the key of the tokens have statements of their own', () => {
  const { stack, tokens } = setUp();
  expect(tokens.encryptionKey).toBeUndefined();
  expect(tokens.tokenEncryptionKey?.keyArn).toBe(KEY_ARN);
  expect(JSON.stringify(Template.fromStack(stack).findResources('AWS::DynamoDB::GlobalTable'))).not.toContain('kms');
});

test.each([
  ['by name', (stack: Stack) => kms.Alias.fromAliasName(stack, 'Alias', 'alias/crm')],
  ['by ARN', (stack: Stack) => kms.Key.fromKeyArn(stack, 'Alias', `arn:aws:kms:${REGION}:${ACCOUNT}:alias/crm`)],
])('an alias (%s) is refused: KMS does not authorize by it, and the runtime takes none', (_, aliasIn) => {
  const stack = newStack(ENV);
  expect(() => new SharedTokenTable(stack, 'Tokens', { tokenEncryptionKey: aliasIn(stack) })).toThrow(/expected the key itself/);
  expect(() => SharedTokenTable.fromTableAttributes(stack, 'Imported', { tableName: 'crm', tokenEncryptionKey: aliasIn(newStack(ENV)) })).toThrow(/expected the key itself/);
});

test('a key that no data keys can be made with is refused', () => {
  const stack = newStack(ENV);
  const key = new kms.Key(stack, 'Key', { keySpec: kms.KeySpec.RSA_2048, keyUsage: kms.KeyUsage.ENCRYPT_DECRYPT });
  expect(() => new SharedTokenTable(stack, 'Tokens', { tokenEncryptionKey: key })).toThrow(/Got Stack0\/Key, of the kind RSA_2048/);
});

describe('a table of this app that is imported', () => {
  const imported = (attributes: (stack: Stack) => SharedTokenTableAttributes) => {
    const app = new App();
    const stack = newStack(ENV, app);
    new SharedTokenTable(stack, 'Tokens', { tableName: 'crm-tokens', tokenEncryptionKey: kms.Key.fromKeyArn(stack, 'Key', KEY_ARN) });
    const other = newStack(ENV, app);
    SharedTokenTable.fromTableAttributes(other, 'Imported', attributes(other)).attachTo(newFunction(other, 'Fn'));
    return () => app.synth();
  };

  test('without the key of its tokens is refused: its functions would store them in plain', () => {
    expect(imported(() => ({ tableName: 'crm-tokens' }))).toThrow(/Stack1\/Imported: The tokens of this table are encrypted.* expected the key of Stack0\/Tokens\. /);
  });

  test('with it is not, nor is another table', () => {
    expect(imported(stack => ({ tableName: 'crm-tokens', tokenEncryptionKey: kms.Key.fromKeyArn(stack, 'Key', KEY_ARN) }))).not.toThrow();
    expect(imported(() => ({ tableName: 'erp-tokens' }))).not.toThrow();
  });
});

describe('a key of another account is warned of, since its policy decides:', () => {
  const foreign = (stack: Stack) => kms.Key.fromKeyArn(stack, 'Key', KEY_ARN.replace(ACCOUNT, OTHER_ACCOUNT));

  test.each<[string, (stack: Stack) => unknown]>([
    ['of a table', stack => new SharedTokenTable(stack, 'Tokens', { tokenEncryptionKey: foreign(stack) })],
    ['of one that is imported', stack => SharedTokenTable.fromTableAttributes(stack, 'Tokens', { tableName: 'crm-tokens', tokenEncryptionKey: foreign(stack) })],
  ])('%s', (_, make) => {
    const stack = newStack(ENV);
    make(stack);
    expect(warningsIn(stack)).toEqual([['/Stack0/Tokens', expect.stringMatching(
      new RegExp(`in account ${OTHER_ACCOUNT}: .*kms:Decrypt, and kms:GenerateDataKey .*\\[ack: cdk-shared-token-table:crossAccountKey\\]$`),
    )]]);
  });

  test('not one of the account of its users, where the table alone is of another', () => {
    const stack = newStack(ENV);
    const tableArn = `arn:aws:dynamodb:${REGION}:${OTHER_ACCOUNT}:table/crm-tokens`;
    SharedTokenTable.fromTableAttributes(stack, 'Tokens', { tableArn, tokenEncryptionKey: kms.Key.fromKeyArn(stack, 'Key', KEY_ARN) });
    expect(warningsIn(stack)).toEqual([]);
  });

  test('not one of its own, or of an account that is not known', () => {
    expect(warningsIn(setUp().stack)).toEqual([]);
    expect(warningsIn(setUp(newStack()).stack)).toEqual([]);
  });
});
