import { arnOf, type AwsRequest, dynamoDb, type Input, kms, TABLE } from './aws-request';
import type { Principal } from './iam';
import type { BuilderName } from './recording';
import type { PolicyStack } from './stacks';
import { claimRequest, endLeaseRequest, lookRequest, readRequest } from '../../../lambda-runtime/dynamodb-requests';
import { SCHEDULE_ALIAS } from '../../../src/private/contract';

/** Whose access the matrix shows: each for the token `crm`. */
export const COLUMNS = ['reading', 'asking', 'refreshing', 'operating', 'refresher', 'schedule'] as const;
export type Column = typeof COLUMNS[number];

export function principalOf({ granted, asking, refresher, schedule }: PolicyStack, column: Column): Principal {
  return { reading: granted.reading.ids, refreshing: granted.refreshing.ids, operating: granted.operating.ids, asking, refresher, schedule }[column];
}

/** A request that is tried, and who may. */
export interface Row {
  /** What it does, as the page of the policies has it. */
  readonly what: string;
  /** Undefined: a stack of this kind has nothing to do it with. */
  readonly request: (names: PolicyStack['names']) => AwsRequest | undefined;
  readonly allowed: readonly Column[];
}

const NOBODY: readonly Column[] = [];
const READERS: readonly Column[] = ['reading', 'asking', 'refreshing', 'refresher'];
const REFRESHERS: readonly Column[] = ['refreshing', 'refresher'];
const MENDERS: readonly Column[] = ['refreshing', 'operating', 'refresher'];
const USERS: readonly Column[] = ['reading', 'asking', 'refreshing', 'operating', 'refresher'];

/** Whose grants allow what the runtime was recorded to send; by the function that makes the request. */
export const RUNTIME_REQUESTS: Readonly<Record<BuilderName, readonly [what: string, allowed: readonly Column[]]>> = {
  readRequest: ['`GetItem` of the readable attributes (read)', READERS],
  lookRequest: ['`GetItem` of the same without the token (an operator\'s look)', USERS],
  claimRequest: ['`UpdateItem`: claim', REFRESHERS],
  commitRequest: ['`UpdateItem`: commit, first, next and late', REFRESHERS],
  renewRequest: ['`UpdateItem`: renew', REFRESHERS],
  releaseRequest: ['`UpdateItem`: release, with a failure and without', REFRESHERS],
  endLeaseRequest: ['`UpdateItem`: an operator ends a lease', MENDERS],
  clearFailureRequest: ['`UpdateItem`: an operator clears a failure', MENDERS],
  expireRequest: ['`UpdateItem`: an operator has a token expire', MENDERS],
};

/** The same for the other services. */
export const OTHER_RECORDED: Readonly<Record<string, readonly [what: string, allowed: readonly Column[]]>> = {
  'kms:Decrypt': ['`kms:Decrypt` of a data key of the token', READERS],
  'kms:GenerateDataKey': ['`kms:GenerateDataKey` for the token', REFRESHERS],
  'lambda:Invoke': ['`Invoke` of the refresher, to ask it', ['asking']],
  'secretsmanager:GetSecretValue': ['`GetSecretValue` of the refresher\'s credentials', ['refresher']],
  'ssm:GetParameter': ['`GetParameter` of the refresher\'s credentials', ['refresher']],
};

const wire = (request: object, tokenId = 'crm'): Input => ({ ...request, Key: { tokenId: { S: tokenId } } });
const read = wire(readRequest(TABLE, 'crm'));
const lease = { id: 'mine', since: 1, until: 2, holder: 'fn' };
const claim = wire(claimRequest(TABLE, 'crm', { lease, base: undefined, ended: undefined, endured: undefined, failure: undefined, expireAfter: undefined }));
const endLease = wire(endLeaseRequest(TABLE, 'crm', lease));
const key = { TableName: TABLE, Key: { tokenId: { S: 'crm' } } };
const get = (ProjectionExpression?: string) => ({ ...key, ...(ProjectionExpression !== undefined && { ProjectionExpression }) });
const set = (expression: string, more: Input = {}) => ({ ...key, UpdateExpression: expression, ExpressionAttributeValues: { ':v': { S: 'v' } }, ReturnValues: 'NONE', ...more });
const withRefreshToken = { ...read, ProjectionExpression: `${String(read.ProjectionExpression)}, #secret`, ExpressionAttributeNames: { ...read.ExpressionAttributeNames as Input, '#secret': 'refreshToken' } };
const { ReturnValues: _, ...withoutReturnValues } = endLease;

/** A request that is the same in every stack. */
const fixed = (what: string, operation: string, input: Input, allowed: readonly Column[] = NOBODY): Row => (
  { what, request: () => dynamoDb(operation, input), allowed });

export const READS: readonly Row[] = [
  fixed('`GetItem` of `accessToken` alone', 'GetItem', get('accessToken'), READERS),
  fixed('`GetItem` of `refreshToken` as well', 'GetItem', withRefreshToken, REFRESHERS),
  fixed('`GetItem` of `refreshToken`, by `AttributesToGet`', 'GetItem', { ...key, AttributesToGet: ['refreshToken'] }, REFRESHERS),
  fixed('`GetItem` of an attribute that is none of the protocol', 'GetItem', get('another'), REFRESHERS),
  fixed('`GetItem` without a projection', 'GetItem', get(), REFRESHERS),
  fixed('`GetItem` of another token', 'GetItem', wire(readRequest(TABLE, 'erp'), 'erp')),
  fixed('`TransactGetItems` of the readable attributes', 'TransactGetItems', { TransactItems: [{ Get: read }] }, READERS),
  fixed('`TransactGetItems` of `refreshToken` as well', 'TransactGetItems', { TransactItems: [{ Get: withRefreshToken }] }, REFRESHERS),
  fixed('`TransactGetItems` without a projection', 'TransactGetItems', { TransactItems: [{ Get: get() }] }, REFRESHERS),
  fixed('`TransactGetItems` of this token and another', 'TransactGetItems', { TransactItems: [{ Get: read }, { Get: wire(readRequest(TABLE, 'erp'), 'erp') }] }),
  fixed('`BatchGetItem`', 'BatchGetItem', { RequestItems: { [TABLE]: { Keys: [key.Key], ProjectionExpression: 'accessToken' } } }),
  fixed('`Query` of the token', 'Query', {
    TableName: TABLE, KeyConditionExpression: 'tokenId = :id', ExpressionAttributeValues: { ':id': { S: 'crm' } }, ProjectionExpression: 'accessToken',
  }),
  fixed('`Query` of an index', 'Query', { TableName: TABLE, IndexName: 'any', KeyConditionExpression: 'tokenId = :id', ExpressionAttributeValues: { ':id': { S: 'crm' } } }),
  fixed('`Scan`', 'Scan', { TableName: TABLE }),
  fixed('PartiQL: `SELECT`', 'ExecuteStatement', { Statement: `SELECT accessToken FROM "${TABLE}" WHERE tokenId = ?`, Parameters: [{ S: 'crm' }] }),
  fixed('a stream of the table', 'GetRecords', { StreamArn: arnOf('dynamodb', `table/${TABLE}/stream/2026-11-30T00:00:00.000`) }),
];

export const WRITES: readonly Row[] = [
  fixed('`UpdateItem`: a claim of another token', 'UpdateItem', { ...claim, Key: { tokenId: { S: 'erp' } } }),
  fixed('`UpdateItem`: an operator\'s write to another token', 'UpdateItem', { ...endLease, Key: { tokenId: { S: 'erp' } } }),
  fixed('`UpdateItem` that sets `accessToken`', 'UpdateItem', set('SET accessToken = :v'), REFRESHERS),
  fixed('`UpdateItem` that removes `accessToken`', 'UpdateItem', { ...key, UpdateExpression: 'REMOVE accessToken' }, REFRESHERS),
  fixed('`UpdateItem` that sets `refreshToken`', 'UpdateItem', set('SET #r = :v', { ExpressionAttributeNames: { '#r': 'refreshToken' } }), REFRESHERS),
  fixed('`UpdateItem` that sets `accessToken`, by `AttributeUpdates`', 'UpdateItem', { ...key, AttributeUpdates: { accessToken: { Value: { S: 'v' } } } }, REFRESHERS),
  fixed('`UpdateItem` that sets `meta` or `expireAfter`', 'UpdateItem', set('SET meta.probe = :v, expireAfter = :v'), REFRESHERS),
  fixed('`UpdateItem` that compares `accessToken`', 'UpdateItem', set('REMOVE lease', { ConditionExpression: 'begins_with(accessToken, :v)' }), REFRESHERS),
  fixed('`UpdateItem` that compares `refreshToken`, by `Expected`', 'UpdateItem', { ...key, Expected: { refreshToken: { Value: { S: 'v' } } } }, REFRESHERS),
  fixed('`UpdateItem` that copies `accessToken` into `failure`', 'UpdateItem', { ...key, UpdateExpression: 'SET failure.code = accessToken' }, REFRESHERS),
  fixed('an operator\'s write that asks for the new item (`ALL_NEW`)', 'UpdateItem', { ...endLease, ReturnValues: 'ALL_NEW' }, REFRESHERS),
  fixed('an operator\'s write that asks for the old item (`ALL_OLD`)', 'UpdateItem', { ...endLease, ReturnValues: 'ALL_OLD' }, REFRESHERS),
  fixed('an operator\'s write that asks for what it changed (`UPDATED_OLD`)', 'UpdateItem', { ...endLease, ReturnValues: 'UPDATED_OLD' }, REFRESHERS),
  fixed('an operator\'s write without `ReturnValues`, which is the same as `NONE`', 'UpdateItem', withoutReturnValues, MENDERS),
  fixed('an operator\'s write that asks for the old item should its condition fail', 'UpdateItem', { ...endLease, ReturnValuesOnConditionCheckFailure: 'ALL_OLD' }, MENDERS),
  fixed('`UpdateItem` that sets `lease`, `failure`, `expiresAt`, `generation` and `issuedAt` to anything', 'UpdateItem',
    set('SET lease = :v, failure = :v, expiresAt = :v, generation = :v, issuedAt = :v'), MENDERS),
  fixed('`UpdateItem` that makes an item with nothing in it', 'UpdateItem', key, MENDERS),
  fixed('`TransactWriteItems` with a claim', 'TransactWriteItems', { TransactItems: [{ Update: claim }] }, REFRESHERS),
  fixed('`TransactWriteItems` with an operator\'s write', 'TransactWriteItems', { TransactItems: [{ Update: withoutReturnValues }] }, MENDERS),
  fixed('`TransactWriteItems` with one that asks for the old item should its condition fail', 'TransactWriteItems', {
    TransactItems: [{ Update: { ...withoutReturnValues, ReturnValuesOnConditionCheckFailure: 'ALL_OLD' } }],
  }, REFRESHERS),
  fixed('`TransactWriteItems` with a `Put`', 'TransactWriteItems', { TransactItems: [{ Put: { TableName: TABLE, Item: key.Key } }] }),
  fixed('`TransactWriteItems` with a `Delete`', 'TransactWriteItems', { TransactItems: [{ Delete: key }] }),
  fixed('`TransactWriteItems` with a `ConditionCheck`', 'TransactWriteItems', { TransactItems: [{ ConditionCheck: { ...key, ConditionExpression: 'attribute_exists(generation)' } }] }),
  fixed('`PutItem`', 'PutItem', { TableName: TABLE, Item: key.Key }),
  fixed('`DeleteItem`', 'DeleteItem', key),
  fixed('`BatchWriteItem`', 'BatchWriteItem', { RequestItems: { [TABLE]: [{ DeleteRequest: { Key: key.Key } }] } }),
  ...[
    `INSERT INTO "${TABLE}" VALUE {'tokenId': ?}`, `UPDATE "${TABLE}" SET accessToken = 'v' WHERE tokenId = ?`, `DELETE FROM "${TABLE}" WHERE tokenId = ?`,
  ].map(Statement => fixed(`PartiQL: \`${/^\w+/.exec(Statement)![0]}\``, 'ExecuteStatement', { Statement, Parameters: [{ S: 'crm' }] })),
];

const TableName = TABLE;
const TableArn = arnOf('dynamodb', `table/${TABLE}`);
const elsewhere = (place: Parameters<typeof arnOf>[2]) => ({ ...read, TableName: arnOf('dynamodb', `table/${TABLE}`, place) });

export const TABLES: readonly Row[] = [
  fixed('a read of another table', 'GetItem', { ...read, TableName: 'Others' }),
  fixed('a claim in another table', 'UpdateItem', { ...claim, TableName: 'Others' }),
  fixed('a read of the table of this name in another account', 'GetItem', elsewhere({ account: '444455556666' })),
  fixed('a read of the table of this name in another region', 'GetItem', elsewhere({ region: 'us-east-1' })),
  ...['DescribeTable', 'UpdateTable', 'DeleteTable', 'CreateBackup', 'UpdateTimeToLive', 'UpdateContinuousBackups'].map(operation => fixed(`\`${operation}\``, operation, { TableName })),
  fixed('`ExportTableToPointInTime`', 'ExportTableToPointInTime', { TableArn }),
  fixed('`RestoreTableToPointInTime`', 'RestoreTableToPointInTime', { SourceTableArn: TableArn }),
  fixed('`PutResourcePolicy`', 'PutResourcePolicy', { ResourceArn: TableArn }),
];

const context = (more: object = {}) => ({ table: TABLE, tokenId: 'crm', ...more });
type KeyName = 'tableKey' | 'tokenKey';
/** A request with one of the two keys. */
const withKey = (name: KeyName, what: string, operation: string, input: Input = {}, allowed: readonly Column[] = NOBODY): Row => ({
  what,
  request: ({ [name]: KeyId }) => KeyId === undefined ? undefined : kms(operation, { KeyId, SourceKeyId: KeyId, DestinationKeyId: KeyId, ...input }),
  allowed,
});
const CONTEXTS = { EncryptionContext: context(), SourceEncryptionContext: context(), DestinationEncryptionContext: context() };

export const KEYS: readonly Row[] = [
  ...(['Decrypt', 'GenerateDataKey'] as const).flatMap(operation => [
    withKey('tokenKey', `\`kms:${operation}\` for another token`, operation, { EncryptionContext: context({ tokenId: 'erp' }) }),
    withKey('tokenKey', `\`kms:${operation}\` for a token of another table`, operation, { EncryptionContext: context({ table: 'Others' }) }),
    withKey('tokenKey', `\`kms:${operation}\` for no token`, operation, { EncryptionContext: { table: TABLE } }),
    withKey('tokenKey', `\`kms:${operation}\` of no table`, operation, { EncryptionContext: { tokenId: 'crm' } }),
    withKey('tokenKey', `\`kms:${operation}\` without an encryption context`, operation),
  ]),
  ...['Encrypt', 'GenerateDataKeyWithoutPlaintext', 'ReEncrypt', 'CreateGrant', 'DescribeKey', 'DisableKey', 'PutKeyPolicy', 'ScheduleKeyDeletion']
    .map(operation => withKey('tokenKey', `\`kms:${operation}\``, operation, CONTEXTS)),
];

const atRest = { EncryptionContext: { 'aws:dynamodb:tableName': TABLE } };

export const KEYS_AT_REST: readonly Row[] = [
  withKey('tableKey', '`kms:Decrypt` by itself', 'Decrypt', atRest),
  ...['GenerateDataKey', 'Encrypt', 'ReEncrypt', 'CreateGrant', 'DescribeKey', 'DisableKey', 'PutKeyPolicy', 'ScheduleKeyDeletion']
    .map(operation => withKey('tableKey', `\`kms:${operation}\``, operation, { ...atRest, SourceEncryptionContext: {}, DestinationEncryptionContext: {} })),
];

const invoke = (what: string, Qualifier?: string, FunctionName?: string, allowed: readonly Column[] = NOBODY): Row => ({
  what,
  request: ({ refresherName }) => ({
    service: 'lambda', operation: 'Invoke', input: { FunctionName: FunctionName ?? refresherName, ...(Qualifier !== undefined && { Qualifier }) },
  }),
  allowed,
});
const otherService = (what: string, request: Row['request'], allowed: readonly Column[] = NOBODY): Row => ({ what, request, allowed });

export const OTHERS: readonly Row[] = [
  invoke('`Invoke` of the refresher by the alias of its schedule', SCHEDULE_ALIAS, undefined, ['schedule']),
  invoke('`Invoke` of it by a version', '1'),
  invoke('`Invoke` of it by `$LATEST`', '$LATEST'),
  invoke('`Invoke` of another function', undefined, 'another'),
  otherService('`GetSecretValue` of another secret', () => ({ service: 'secretsmanager', operation: 'GetSecretValue', input: { SecretId: arnOf('secretsmanager', 'secret:other-Ab12Cd') } })),
  otherService('`PutSecretValue` of the refresher\'s', ({ secretArn }) => ({ service: 'secretsmanager', operation: 'PutSecretValue', input: { SecretId: secretArn } })),
  otherService('`GetParameter` of another parameter', () => ({ service: 'ssm', operation: 'GetParameter', input: { Name: '/other' } })),
  otherService('`SendMessage` to the failure queue', ({ queueArn }) => ({ service: 'sqs', operation: 'SendMessage', input: { QueueArn: queueArn } }), ['refresher', 'schedule']),
  otherService('`ReceiveMessage` from the failure queue', ({ queueArn }) => ({ service: 'sqs', operation: 'ReceiveMessage', input: { QueueArn: queueArn } })),
  ...['CreateLogStream', 'PutLogEvents'].map(operation => otherService(`\`${operation}\` in the refresher's log`, ({ logGroupArn }) => (
    { service: 'logs', operation, input: { LogGroupArn: logGroupArn, LogStreamName: 'stream' } }), ['refresher'])),
];

/** The sections of the matrix that were not recorded. */
export const TRIED: Readonly<Record<string, readonly Row[]>> = {
  'Reads that the runtime never makes': READS,
  'Writes that the runtime never makes': WRITES,
  'The table, and other ones': TABLES,
  'The key of the tokens (`tokenEncryptionKey`)': KEYS,
  'The key of the table at rest': KEYS_AT_REST,
  'Refresher and credentials': OTHERS,
};

export { claim, endLease, lookRequest, read, wire };
