import { AUTHORIZATIONS, authorizationsOf, BEHIND, type Place } from './support/authorizations';
import { arnOf, type AwsRequest, dynamoDb, kms } from './support/aws-request';
import { CONDITION_VALUES, readingsOf } from './support/condition-values';
import { conditionTable, expectPage } from './support/page';
import type { Sourced } from './support/sources';
import { PROBES, type Probe } from '../integ/handlers/probes';
import { TOKEN_IDS } from '../integ/stacks/refresher-stack';

/*
 * The table that turns a request into what policies are compared with.
 */

const NOWHERE: Place = { keys: new Map() };
const rows: readonly [string, Sourced][] = [AUTHORIZATIONS, BEHIND, CONDITION_VALUES].flatMap(table => Object.entries(table) as [string, Sourced][]);
const contextOf = (request: AwsRequest) => readingsOf(authorizationsOf(request, NOWHERE)[0]!)[0].context;

describe('each rule', () => {
  test.each(rows)('%s cites a document of AWS\'s', (_, { source }) => {
    expect(source).toMatch(/^https:\/\/docs\.aws\.amazon\.com\/[\w/.-]+\.html$/);
  });

  test.each(rows)('%s is documented, or names what asks AWS', (_, { documented, cases = [] }) => {
    expect(cases.length > 0).toBe(!documented);
    expect(cases.filter(name => !CASES.has(name))).toEqual([]);
  });

  test('of what no document says has several values, and no other has', () => {
    const readings = TRICKY.flatMap(request => authorizationsOf(request, NOWHERE)).flatMap(readingsOf);
    const several = new Set(readings.flatMap(({ otherwise }) => otherwise ?? []));
    expect(several).toEqual(new Set(Object.entries(CONDITION_VALUES).filter(([, { documented }]) => !documented).map(([name]) => name)));
  });
});

/** Of `test/integ`, which a maintainer has AWS answer. */
const CASES = new Set([
  ...Object.entries(PROBES).flatMap(([role, probes]) => Object.keys(probes as Readonly<Record<string, Probe>>).map(name => `policies ${role}.${name}`)),
  ...Object.values(TOKEN_IDS).map(id => `refresher ${id}`),
]);

const key = { TableName: 'Tokens', Key: { tokenId: { S: 'crm' } } };
const TRICKY: readonly AwsRequest[] = [
  dynamoDb('GetItem', { ...key, ProjectionExpression: 'accessToken' }),
  dynamoDb('TransactGetItems', { TransactItems: [{ Get: { ...key, ProjectionExpression: 'accessToken' } }] }),
  dynamoDb('UpdateItem', { ...key, ReturnValuesOnConditionCheckFailure: 'ALL_OLD' }),
  { service: 'lambda', operation: 'Invoke', input: { FunctionName: 'refresher', Qualifier: '$LATEST' } },
  dynamoDb('Query', { TableName: 'Tokens' }),
  dynamoDb('Scan', { TableName: 'Tokens' }),
  dynamoDb('BatchWriteItem', { RequestItems: { Tokens: [] } }),
  dynamoDb('ExecuteStatement', { Statement: 'SELECT * FROM "Tokens"' }),
  kms('Decrypt', { KeyId: 'key', EncryptionContext: {} }),
];

describe('dynamodb:Attributes are top-level names', () => {
  test.each<[string, object, readonly string[]]>([
    ['of a projection', { ProjectionExpression: 'accessToken, lease.id, list[0].x' }, ['tokenId', 'accessToken', 'lease', 'list']],
    ['behind placeholders', { ProjectionExpression: '#a, #lease.#id', ExpressionAttributeNames: { '#a': 'accessToken', '#lease': 'lease', '#id': 'id' } }, ['tokenId', 'accessToken', 'lease']],
    ['of an update', { UpdateExpression: 'SET a.b = :x, c = if_not_exists(d, :zero) + :one REMOVE e ADD f :g DELETE h :i' }, ['tokenId', 'a', 'c', 'd', 'e', 'f', 'h']],
    ['of a condition', { ConditionExpression: 'attribute_not_exists(a) AND (b.c = :x OR NOT size(d) > :y) AND e BETWEEN :l AND :h AND f IN (:i, :j)' }, ['tokenId', 'a', 'b', 'd', 'e', 'f']],
    ['before there were expressions', { AttributesToGet: ['a'], AttributeUpdates: { b: {} }, Expected: { c: {} } }, ['tokenId', 'b', 'c', 'a']],
  ])('%s', (_, more, expected) => {
    expect(contextOf(dynamoDb('UpdateItem', { ...key, ...more }))['dynamodb:Attributes']).toEqual(expected);
  });

  test('of an item that is put, all', () => {
    expect(contextOf(dynamoDb('PutItem', { TableName: 'Tokens', Item: { tokenId: { S: 'crm' }, accessToken: { S: 'v' } } }))['dynamodb:Attributes']).toEqual(['tokenId', 'accessToken']);
  });
});

describe('dynamodb:LeadingKeys', () => {
  const item = { tokenId: { S: 'crm' } };
  test.each<[string, AwsRequest, readonly string[]]>([
    ['of one item', dynamoDb('GetItem', key), ['crm']],
    ['of several', dynamoDb('BatchGetItem', { RequestItems: { Tokens: { Keys: [item, { tokenId: { S: 'erp' } }] } } }), ['crm', 'erp']],
    ['of writes', dynamoDb('BatchWriteItem', { RequestItems: { Tokens: [{ PutRequest: { Item: item } }, { DeleteRequest: { Key: { tokenId: { S: 'erp' } } } }] } }), ['crm', 'erp']],
    ['of a query', dynamoDb('Query', { TableName: 'Tokens', KeyConditionExpression: '#id = :id', ExpressionAttributeValues: { ':id': { S: 'crm' } } }), ['crm']],
  ])('%s', (_, request, expected) => {
    expect(contextOf(request)['dynamodb:LeadingKeys']).toEqual(expected);
  });
});

test('a table under a customer\'s key: DynamoDB decrypts in the caller\'s name', () => {
  const table = arnOf('dynamodb', 'table/Tokens');
  const asked = authorizationsOf(dynamoDb('GetItem', key), { keys: new Map([[table, 'arn:of:key']]) });
  expect(asked.map(({ action, resource }) => [action, resource])).toEqual([['dynamodb:GetItem', table], ['kms:Decrypt', 'arn:of:key']]);
  expect(readingsOf(asked[1]!)[0].context).toEqual({
    'kms:ViaService': 'dynamodb.eu-central-1.amazonaws.com',
    'kms:CallerAccount': '111122223333',
    'kms:EncryptionContext:aws:dynamodb:tableName': 'Tokens',
    'kms:EncryptionContext:aws:dynamodb:subscriberId': '111122223333',
    'aws:SecureTransport': 'true',
  });
});

test('an operation that is not known is an error, and no permission', () => {
  expect(() => authorizationsOf(dynamoDb('Another', key), NOWHERE)).toThrow('is not known here');
});

test('docs/policies.md shows the table', () => {
  expectPage('conditions', conditionTable());
});
