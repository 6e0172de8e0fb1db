import { Deployment } from './support/deployment';
import { until } from '../support/until';

/*
 * What the deployed roles may do, as the local cloud judges it: functions with each kind of access try every call themselves. What it does not judge as AWS does
 * stands in docs/local-cloud.md.
 */

/** A call, by the names of the SDK. */
interface Call {
  readonly service: 'dynamodb' | 'lambda' | 'secrets-manager';
  readonly command: string;
  readonly input: object;
}

/** Who tries: the functions of `PoliciesStack`. */
const PROBES = ['asking', 'reading', 'readingBots', 'refreshing'] as const;
type Probe = typeof PROBES[number];

let deployed: Deployment;
let table: string;
let refresher: string;
let secret: string;

beforeAll(async () => {
  deployed = await Deployment.start();
  const { app } = deployed;
  await deployed.deploy(app.policies);
  table = await deployed.physicalId(app.policies.tokens.table);
  refresher = await deployed.physicalId(app.policies.crm.function);
  secret = await deployed.physicalId(app.credentials);
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
