import { Annotations, App, RemovalPolicy, Stack } from 'aws-cdk-lib';
import * as dynamodb from 'aws-cdk-lib/aws-dynamodb';
import * as kms from 'aws-cdk-lib/aws-kms';
import * as secretsmanager from 'aws-cdk-lib/aws-secretsmanager';
import { SECRET_ARN, source, TOKEN_URL } from './support/refreshers';
import { ACCOUNT, newFunction, newStack, REGION, warningIdsIn, warningsIn } from './support/stacks';
import { ISharedTokenTable, SharedTokenTable, SharedTokenTableProps, TokenRefresher, TokenSource } from '../../src';

/*
 * A provider that replaces refresh tokens leaves the only one that works in the table.
 */
const { DESTROY, RETAIN, RETAIN_ON_UPDATE_OR_DELETE } = RemovalPolicy;
const ID = 'cdk-shared-token-table:losableRefreshToken';
const KNOWN = { env: { account: ACCOUNT, region: REGION } };

/** A refresher that a reader may ask, so that nothing else is warned of. */
function addTo(tokens: ISharedTokenTable, makeSource: (stack: Stack) => TokenSource = refreshToken): TokenRefresher {
  const stack = Stack.of(tokens);
  const refresher = tokens.addRefresher('Crm', { tokenId: 'crm', source: makeSource(stack) });
  refresher.attachTo(newFunction(stack, 'Reader'));
  return refresher;
}

function refreshToken(stack: Stack): TokenSource {
  return TokenSource.refreshToken({ tokenUrl: TOKEN_URL, credentials: secretsmanager.Secret.fromSecretCompleteArn(stack, 'Secret', SECRET_ARN) });
}

function setUp(props: SharedTokenTableProps, stack: Stack = newStack(KNOWN)): { readonly stack: Stack; readonly tokens: SharedTokenTable } {
  return { stack, tokens: new SharedTokenTable(stack, 'Tokens', props) };
}

test('a refresh token in a table that goes with its stack is warned of: what is lost, and how to keep it', () => {
  const { stack, tokens } = setUp({ removalPolicy: DESTROY });
  addTo(tokens);
  expect(warningsIn(stack)).toEqual([['/Stack0/Tokens/Crm', [
    "The refresh token of 'crm' is lost when its table, Stack0/Tokens/Table, goes with its stack or is replaced: nothing protects the table from deletion.",
    'At a provider that replaces refresh tokens no other one works, the one in the secret included, so that a person has to log in again.',
    'DynamoDB keeps a last backup for 35 days, which somebody would have to restore.',
    'Remove `removalPolicy` from the table, or set `deletionProtection: true`.',
    `Where the token may be lost, as in a test, acknowledge that: \`Annotations.of(tokens).acknowledgeWarning('${ID}')\`, of the table. [ack: ${ID}]`,
  ].join(' ')]]);
});

test('without point-in-time recovery, no backup is promised', () => {
  const { stack, tokens } = setUp({ removalPolicy: DESTROY, pointInTimeRecovery: { pointInTimeRecoveryEnabled: false } });
  addTo(tokens);
  expect(warningsIn(stack)).toEqual([['/Stack0/Tokens/Crm', expect.stringContaining('Without point-in-time recovery no backup is left either.')]]);
});

test('the warning can be acknowledged as it says', () => {
  const { stack, tokens } = setUp({ removalPolicy: DESTROY });
  addTo(tokens);
  Annotations.of(tokens).acknowledgeWarning(ID);
  expect(warningsIn(stack)).toEqual([]);
});

describe('a table is not losable', () => {
  test.each<[string, SharedTokenTableProps]>([
    ['by default', {}],
    ['that is kept', { removalPolicy: RETAIN, deletionProtection: false }],
    ['that is kept once it is there', { removalPolicy: RETAIN_ON_UPDATE_OR_DELETE, deletionProtection: false }],
    ['that DynamoDB refuses to delete', { removalPolicy: DESTROY, deletionProtection: true }],
    ['without point-in-time recovery, for what a backup holds is out of date', { pointInTimeRecovery: { pointInTimeRecoveryEnabled: false } }],
  ])('%s', (_name, props) => {
    const { stack, tokens } = setUp(props);
    addTo(tokens);
    expect(warningsIn(stack)).toEqual([]);
  });

  test.each<[string, (stack: Stack) => TokenSource]>([
    ['whose tokens client credentials buy anew', source],
    ['whose tokens a password buys anew', () => TokenSource.httpRequest({ url: TOKEN_URL })],
    ['whose refresher is a function of the user\'s, of which nothing is known', stack => TokenSource.fromFunction(newFunction(stack, 'Own'))],
  ])('%s', (_name, makeSource) => {
    const { stack, tokens } = setUp({ removalPolicy: DESTROY });
    addTo(tokens, makeSource);
    expect(warningsIn(stack)).toEqual([]);
  });

  test('of which nothing is known, because another app defines it', () => {
    const stack = newStack(KNOWN);
    addTo(SharedTokenTable.fromTableName(stack, 'Imported', 'crm-tokens'));
    setUp({ removalPolicy: DESTROY, tableName: 'other-tokens' }, stack);
    expect(warningsIn(stack)).toEqual([]);
  });
});

describe('what the template says counts,', () => {
  test.each<[string, (tokens: SharedTokenTable) => void]>([
    ['set later', tokens => tokens.table.applyRemovalPolicy(DESTROY)],
    ['by an override', tokens => cfnOf(tokens).addOverride('DeletionPolicy', 'Delete')],
    ['also where it is lost by a replacement alone', tokens => cfnOf(tokens).addOverride('UpdateReplacePolicy', 'Delete')],
    ['also where it says nothing, which deletes', tokens => cfnOf(tokens).addDeletionOverride('DeletionPolicy')],
  ])('%s', (_name, change) => {
    const { stack, tokens } = setUp({ deletionProtection: false });
    addTo(tokens);
    change(tokens);
    expect(warningIdsIn(stack)).toEqual(['losableRefreshToken']);
  });

  test('also if it protects', () => {
    const { stack, tokens } = setUp({ removalPolicy: DESTROY });
    addTo(tokens);
    cfnOf(tokens).addPropertyOverride('Replicas.0.DeletionProtectionEnabled', true);
    expect(warningsIn(stack)).toEqual([]);
  });
});

describe('a table of this app is known, though it is imported:', () => {
  test.each<[string, (stack: Stack, defining: Stack) => ISharedTokenTable]>([
    ['by the attribute with its name', (stack, defining) => SharedTokenTable.fromTableName(stack, 'Imported', setUp({ removalPolicy: DESTROY }, defining).tokens.tableName)],
    ['by the attribute with its ARN', (stack, defining) => SharedTokenTable.fromTableArn(stack, 'Imported', setUp({ removalPolicy: DESTROY }, defining).tokens.tableArn)],
    ['by its name', (stack, defining) => {
      setUp({ removalPolicy: DESTROY, tableName: 'crm-tokens' }, defining);
      return SharedTokenTable.fromTableName(stack, 'Imported', 'crm-tokens');
    }],
    ['as a table of another construct', (stack, defining) => SharedTokenTable.fromTableName(stack, 'Imported', new dynamodb.Table(defining, 'Tokens', {
      partitionKey: { name: 'tokenId', type: dynamodb.AttributeType.STRING }, removalPolicy: DESTROY,
    }).tableName)],
  ])('%s', (_name, makeTable) => {
    const app = new App();
    const defining = newStack(KNOWN, app);
    const stack = newStack(KNOWN, app);
    addTo(makeTable(stack, defining));
    expect(warningIdsIn(stack)).toEqual(['losableRefreshToken']);
  });
});

describe('a key without which the kept table cannot be read, and that goes with its stack, is warned of:', () => {
  const key = (stack: Stack, removalPolicy?: RemovalPolicy) => new kms.Key(stack, 'Key', { removalPolicy });
  const KEYS: readonly [string, (key: kms.IKey) => SharedTokenTableProps][] = [
    ['of its tokens', tokenEncryptionKey => ({ tokenEncryptionKey })],
    ['of the table', one => ({ encryption: dynamodb.TableEncryptionV2.customerManagedKey(one) })],
  ];

  test.each(KEYS)('%s', (_name, propsWith) => {
    const stack = newStack(KNOWN);
    addTo(setUp(propsWith(key(stack, DESTROY)), stack).tokens);
    expect(warningsIn(stack)).toEqual([['/Stack0/Tokens/Crm', [
      "The refresh token of 'crm' cannot be read any more when a key that encrypts it, Stack0/Key, goes with its stack or is replaced.",
      'At a provider that replaces refresh tokens no other one works, the one in the secret included, so that a person has to log in again.',
      'KMS deletes a key 7 to 30 days later; until then somebody can cancel that.',
      'Keep the key: remove its `removalPolicy`.',
      `Where the token may be lost, as in a test, acknowledge that: \`Annotations.of(tokens).acknowledgeWarning('${ID}')\`, of the table. [ack: ${ID}]`,
    ].join(' ')]]);
  });

  test.each(KEYS)('%s: not one that is kept, or that another app defines', (_name, propsWith) => {
    for (const makeKey of [key, (stack: Stack) => kms.Key.fromKeyArn(stack, 'Key', `arn:aws:kms:${REGION}:${ACCOUNT}:key/1`)]) {
      const stack = newStack(KNOWN);
      addTo(setUp(propsWith(makeKey(stack)), stack).tokens);
      expect(warningsIn(stack)).toEqual([]);
    }
  });

  test('a table that goes as well is all that is warned of', () => {
    const stack = newStack(KNOWN);
    addTo(setUp({ tokenEncryptionKey: key(stack, DESTROY), removalPolicy: DESTROY }, stack).tokens);
    expect(warningsIn(stack)).toEqual([['/Stack0/Tokens/Crm', expect.stringContaining('is lost when its table, ')]]);
  });

  test('all of them are named, each once', () => {
    const stack = newStack(KNOWN);
    const [one, other] = ['One', 'Other'].map(id => new kms.Key(stack, id, { removalPolicy: DESTROY })) as [kms.Key, kms.Key];
    addTo(setUp({ tokenEncryptionKey: one, encryption: dynamodb.TableEncryptionV2.customerManagedKey(other) }, stack).tokens);
    expect(warningsIn(stack)).toEqual([['/Stack0/Tokens/Crm', expect.stringContaining('a key that encrypts it, Stack0/Other and Stack0/One, goes')]]);
    const stack2 = newStack(KNOWN);
    const both = key(stack2, DESTROY);
    addTo(setUp({ tokenEncryptionKey: both, encryption: dynamodb.TableEncryptionV2.customerManagedKey(both) }, stack2).tokens);
    expect(warningsIn(stack2)).toEqual([['/Stack0/Tokens/Crm', expect.stringContaining('a key that encrypts it, Stack0/Key, goes')]]);
  });

  test.each<[string, (stack: Stack, made: kms.Key) => kms.IKey]>([
    ['though it is imported', (stack, { keyArn }) => kms.Key.fromKeyArn(stack, 'Imported', keyArn)],
    ['though it is told by its alias', (stack, targetKey) => new kms.Alias(stack, 'Alias', { aliasName: 'alias/tokens', targetKey })],
    ['though it is a resource of CloudFormation, which says nothing', stack => kms.Key.fromCfnKey(new kms.CfnKey(stack, 'Bare', {
      keyPolicy: { Statement: [{ Effect: 'Allow', Action: 'kms:*', Resource: '*', Principal: { AWS: `arn:aws:iam::${ACCOUNT}:root` } }] },
    }))],
  ])('%s', (_name, told) => {
    const stack = newStack(KNOWN);
    addTo(setUp({ tokenEncryptionKey: told(stack, key(stack, DESTROY)) }, stack).tokens);
    expect(warningIdsIn(stack)).toEqual(['losableRefreshToken']);
  });

  test('also of a table that another app defines', () => {
    const stack = newStack(KNOWN);
    addTo(SharedTokenTable.fromTableAttributes(stack, 'Imported', { tableName: 'crm-tokens', tokenEncryptionKey: key(stack, DESTROY) }));
    expect(warningIdsIn(stack)).toEqual(['losableRefreshToken']);
  });
});

function cfnOf({ table }: SharedTokenTable): dynamodb.CfnGlobalTable {
  return table.node.defaultChild as dynamodb.CfnGlobalTable;
}
