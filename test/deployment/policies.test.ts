import { Deployment } from './support/deployment';
import { until } from '../support/until';

/*
 * What the deployed roles may do, as the local cloud judges it: functions with each kind of access try every call themselves. What it does not judge as AWS does
 * stands in docs/local-cloud.md.
 */

/** A call, by the names of the SDK. */
interface Call {
  readonly service: 'dynamodb' | 'kms' | 'lambda' | 'secrets-manager';
  readonly command: string;
  readonly input: object;
}

/** Who tries: the functions of `PoliciesStack`. */
const PROBES = ['asking', 'reading', 'readingBots', 'refreshing', 'operating'] as const;
type Probe = typeof PROBES[number];

let deployed: Deployment;
let table: string;
let refresher: string;
let secret: string;
let keyId: string;
let sealedTable: string;

beforeAll(async () => {
  deployed = await Deployment.start();
  const { app } = deployed;
  await deployed.deploy(app.policies);
  table = await deployed.physicalId(app.policies.tokens.table);
  refresher = await deployed.physicalId(app.policies.crm.function);
  secret = await deployed.physicalId(app.credentials);
  keyId = await deployed.physicalId(app.policies.key);
  sealedTable = await deployed.physicalId(app.policies.passing.table);
  await until('the first token is there', async () => (await deployed.item(app.policies.tokens.table))?.accessToken !== undefined);
});
afterAll(async () => deployed?.stop());

const key = (tokenId: string) => ({ tokenId: { S: tokenId } });
const get = (tokenId: string, ...attributes: readonly string[]) =>
  ({ TableName: table, Key: key(tokenId), ...(attributes.length > 0 && { ProjectionExpression: attributes.join(', ') }) });
/** Its condition never holds: who may write learns that, and the item stays as it is. */
const update = (tokenId: string) => ({
  TableName: table,
  Key: key(tokenId),
  UpdateExpression: 'SET meta.probe = :one',
  ConditionExpression: 'attribute_exists(never)',
  ExpressionAttributeValues: { ':one': { N: '1' } },
});

/** An operator's: what it would change is not as it says. */
const mend = (UpdateExpression: string, { ReturnValues = 'NONE', condition = 'lease.id = :never' } = {}) => ({
  TableName: table,
  Key: key('crm'),
  UpdateExpression,
  ConditionExpression: condition,
  ExpressionAttributeValues: { ':never': { S: 'never' } },
  ReturnValues,
});

const dynamoDb = (command: string, input: () => object) => (): Call => ({ service: 'dynamodb', command, input: input() });
const invoke = (functionName: () => string) => (): Call => ({ service: 'lambda', command: 'Invoke', input: { FunctionName: functionName(), InvocationType: 'DryRun' } });

/** What is tried, and who may. */
const CALLS: readonly (readonly [what: string, call: () => Call, allowed: readonly Probe[]])[] = [
  ['read its token', dynamoDb('GetItem', () => get('crm', 'tokenId', 'accessToken', 'generation', 'lease')), ['asking', 'reading', 'refreshing']],
  ['read a token whose id has the prefix', dynamoDb('GetItem', () => get('bot-1', 'accessToken')), ['readingBots']],
  ['read a token of another id', dynamoDb('GetItem', () => get('erp', 'accessToken')), []],
  ['read the refresh token', dynamoDb('GetItem', () => get('crm', 'accessToken', 'refreshToken')), ['refreshing']],
  ['read the whole item', dynamoDb('GetItem', () => get('crm')), ['refreshing']],
  ['read in a batch', dynamoDb('BatchGetItem', () => ({ RequestItems: { [table]: { Keys: [key('crm')], ProjectionExpression: 'accessToken' } } })), []],
  ['read the refresh token in a transaction', dynamoDb('TransactGetItems', () => ({ TransactItems: [{ Get: get('crm', 'refreshToken') }] })), ['refreshing']],
  ['query', dynamoDb('Query', () => ({ TableName: table, KeyConditionExpression: 'tokenId = :id', ExpressionAttributeValues: { ':id': { S: 'crm' } } })), []],
  ['scan', dynamoDb('Scan', () => ({ TableName: table })), []],
  ['update its token', dynamoDb('UpdateItem', () => update('crm')), ['refreshing']],
  ['update a token of another id', dynamoDb('UpdateItem', () => update('erp')), []],
  ['look at its token', dynamoDb('GetItem', () => get('crm', 'tokenId', 'generation', 'lease')), ['asking', 'reading', 'refreshing', 'operating']],
  ['look at a token of another id', dynamoDb('GetItem', () => get('erp', 'tokenId', 'generation')), []],
  ['end a lease', dynamoDb('UpdateItem', () => mend('REMOVE lease')), ['refreshing', 'operating']],
  ['end a lease and ask for the item', dynamoDb('UpdateItem', () => mend('REMOVE lease', { ReturnValues: 'ALL_NEW' })), ['refreshing']],
  ['remove its token', dynamoDb('UpdateItem', () => mend('REMOVE accessToken')), ['refreshing']],
  ['guess its token', dynamoDb('UpdateItem', () => mend('REMOVE lease', { condition: 'begins_with(accessToken, :never)' })), ['refreshing']],
  ['put an item', dynamoDb('PutItem', () => ({ TableName: table, Item: key('crm') })), []],
  ['delete an item', dynamoDb('DeleteItem', () => ({ TableName: table, Key: key('crm') })), []],
  ['delete the table', dynamoDb('DeleteTable', () => ({ TableName: table })), []],
  ['ask the refresher', invoke(() => refresher), ['asking']],
  ['pass for its schedule', invoke(() => `${refresher}:scheduled`), []],
  ['read the credentials', () => ({ service: 'secrets-manager', command: 'GetSecretValue', input: { SecretId: secret } }), []],
];

/** What becomes of a call that is allowed. */
const outcomeOf = ({ command }: Call) => command === 'UpdateItem' ? 'allowed, then ConditionalCheckFailedException' : 'allowed';

describe.each(PROBES)('a function that is %s', probe => {
  test.each(CALLS.map(([what, call, allowed]) => [allowed.includes(probe) ? 'may' : 'may not', what, call] as const))('%s %s', async (may, _, call) => {
    const { payload } = await deployed.invoke(deployed.app.policies[probe], { event: call() });
    expect(payload).toBe(may === 'may' ? outcomeOf(call()) : 'denied');
  });
});

describe('a table whose tokens are encrypted', () => {
  const gets = async (fn: 'sealing' | 'opening' | 'keyless', refreshes = false): Promise<unknown> => {
    return (await deployed.invoke(deployed.app.policies[fn], { event: { token: { tokenId: 'crm', refreshes } } })).payload;
  };
  const generate = (more: object | undefined) => ({
    service: 'kms', command: 'GenerateDataKey', input: { KeyId: keyId, KeySpec: 'AES_256', EncryptionContext: more && { table: sealedTable, tokenId: 'crm', ...more } },
  });

  test('who may refresh stores it encrypted, a reader reads it, and a function that was not told of the key says so', async () => {
    const token = await gets('sealing', true);
    expect(token).toMatch(/^[0-9a-f]{64}$/);
    const item = await deployed.item(deployed.app.policies.passing.table);
    expect(item).toMatchObject({ accessToken: expect.any(Uint8Array) as Uint8Array, generation: 1 });
    expect(await gets('opening')).toBe(token);
    expect(await gets('keyless')).toBe('DECRYPTION_FAILED');
  });

  test.each([
    ['sealing', 'for the token', {}, 'allowed'],
    ['sealing', 'for another token', { tokenId: 'erp' }, 'denied'],
    ['sealing', 'for a token of another table', { table: 'another' }, 'denied'],
    ['sealing', 'for no token', undefined, 'denied'],
    ['opening', 'for the token', {}, 'denied'],
  ] as const)('a data key, by the function that is %s, %s', async (probe, _, context, outcome) => {
    const { payload } = await deployed.invoke(deployed.app.policies[probe], { event: generate(context) });
    expect(payload).toBe(outcome);
  });
});
