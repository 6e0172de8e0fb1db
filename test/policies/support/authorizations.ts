import { ACCOUNT, arnOf, type AwsRequest, type Input, REGION } from './aws-request';
import { ACTIONS_OF_DYNAMODB, PARTIQL, type Sourced, TRANSACTIONS } from './sources';

/** One decision that AWS makes for a request: may this principal do this with that resource? */
export interface Authorization {
  readonly action: string;
  readonly resource: string;
  /** The part of the request that it is about. */
  readonly input: Input;
  /** The transaction that it is a part of. */
  readonly enclosing?: string;
  /** The service that asks in the principal's name. */
  readonly via?: string;
}

/** What a request finds where it goes. */
export interface Place {
  /** The customer's keys, by the ARN of what they encrypt at rest. */
  readonly keys: ReadonlyMap<string, string>;
}

/** What AWS authorizes for an operation, and where that is said. */
interface Row extends Sourced {
  readonly operations: readonly string[];
  readonly authorizations: (request: AwsRequest) => readonly Authorization[];
}

const ACTIONS_OF_KMS = 'https://docs.aws.amazon.com/kms/latest/developerguide/kms-api-permissions-reference.html';

const LATEST = '$LATEST';

/** A name, or an ARN, as requests have either. */
const tableArn = (name: unknown) => String(name).startsWith('arn:') ? String(name) : arnOf('dynamodb', `table/${String(name)}`);
const keyArn = (id: unknown) => String(id).startsWith('arn:') ? String(id) : arnOf('kms', `key/${String(id)}`);
const same = ({ service, operation, input }: AwsRequest, resource: string): Authorization => ({ action: `${service}:${operation}`, resource, input });

const TRANSACTED = { Get: 'GetItem', Put: 'PutItem', Update: 'UpdateItem', Delete: 'DeleteItem', ConditionCheck: 'ConditionCheckItem' } as const;
const STATEMENTS = { SELECT: 'PartiQLSelect', UPDATE: 'PartiQLUpdate', INSERT: 'PartiQLInsert', DELETE: 'PartiQLDelete' } as const;

/** Which decisions there are. Each is about an action and a resource; the values of conditions have a table of their own. */
export const AUTHORIZATIONS = {
  ofTables: {
    operations: ['GetItem', 'UpdateItem', 'PutItem', 'DeleteItem', 'Scan', 'DescribeTable', 'UpdateTable', 'DeleteTable', 'CreateBackup', 'UpdateTimeToLive',
      'UpdateContinuousBackups', 'PutResourcePolicy', 'ExportTableToPointInTime', 'RestoreTableToPointInTime'],
    source: ACTIONS_OF_DYNAMODB,
    documented: true,
    authorizations: request => {
      const { TableName, TableArn, SourceTableArn, ResourceArn } = request.input;
      return [same(request, tableArn(TableName ?? TableArn ?? SourceTableArn ?? ResourceArn))];
    },
  },
  ofIndexes: {
    operations: ['Query'],
    source: ACTIONS_OF_DYNAMODB,
    documented: true,
    authorizations: request => {
      const { TableName, IndexName } = request.input;
      return [same(request, IndexName === undefined ? tableArn(TableName) : `${tableArn(TableName)}/index/${String(IndexName)}`)];
    },
  },
  ofStreams: {
    operations: ['DescribeStream', 'GetShardIterator', 'GetRecords'],
    source: ACTIONS_OF_DYNAMODB,
    documented: true,
    authorizations: request => [same(request, String(request.input.StreamArn))],
  },
  ofBatches: {
    operations: ['BatchGetItem', 'BatchWriteItem'],
    source: ACTIONS_OF_DYNAMODB,
    documented: true,
    authorizations: request => Object.entries(request.input.RequestItems as Input).map(([table, items]) => (
      { ...same(request, tableArn(table)), input: Array.isArray(items) ? { Writes: items as unknown } : items as Input })),
  },
  ofTransactions: {
    operations: ['TransactGetItems', 'TransactWriteItems'],
    source: TRANSACTIONS,
    documented: true,
    authorizations: ({ operation, input }) => (input.TransactItems as readonly Input[]).flatMap(item => Object.entries(item)).map(([kind, part]) => ({
      action: `dynamodb:${TRANSACTED[kind as keyof typeof TRANSACTED]}`,
      resource: tableArn((part as Input).TableName),
      input: part as Input,
      enclosing: operation,
    })),
  },
  ofStatements: {
    operations: ['ExecuteStatement'],
    source: PARTIQL,
    documented: true,
    authorizations: ({ input }) => {
      const [, kind = '', table] = /^(\w+)[^"]*"([^"]+)"/.exec(String(input.Statement)) ?? [];
      return [{ action: `dynamodb:${STATEMENTS[kind as keyof typeof STATEMENTS]}`, resource: tableArn(table), input }];
    },
  },
  ofKeys: {
    operations: ['Decrypt', 'Encrypt', 'GenerateDataKey', 'GenerateDataKeyWithoutPlaintext', 'CreateGrant', 'DescribeKey', 'DisableKey', 'PutKeyPolicy', 'ScheduleKeyDeletion'],
    source: ACTIONS_OF_KMS,
    documented: true,
    authorizations: request => [same(request, keyArn(request.input.KeyId))],
  },
  ofReEncryption: {
    operations: ['ReEncrypt'],
    source: ACTIONS_OF_KMS,
    documented: true,
    authorizations: ({ input }) => [
      { action: 'kms:ReEncryptFrom', resource: keyArn(input.SourceKeyId), input: { EncryptionContext: input.SourceEncryptionContext } },
      { action: 'kms:ReEncryptTo', resource: keyArn(input.DestinationKeyId), input: { EncryptionContext: input.DestinationEncryptionContext } },
    ],
  },
  ofFunctions: {
    operations: ['Invoke'],
    source: 'https://docs.aws.amazon.com/lambda/latest/dg/lambda-api-permissions-ref.html',
    documented: true,
    authorizations: ({ input }) => {
      const name = String(input.FunctionName).replace(/^arn:.*:function:/, '');
      const qualified = input.Qualifier === undefined ? name : `${name}:${String(input.Qualifier)}`;
      return [{ action: 'lambda:InvokeFunction', resource: arnOf('lambda', `function:${qualified}`), input }];
    },
  },
  ofSecrets: {
    operations: ['GetSecretValue', 'PutSecretValue', 'DeleteSecret'],
    source: 'https://docs.aws.amazon.com/secretsmanager/latest/userguide/auth-and-access_iam-policies.html',
    documented: true,
    authorizations: request => [same(request, String(request.input.SecretId))],
  },
  ofParameters: {
    operations: ['GetParameter', 'PutParameter'],
    source: 'https://docs.aws.amazon.com/systems-manager/latest/userguide/sysman-paramstore-access.html',
    documented: true,
    authorizations: request => [same(request, arnOf('ssm', `parameter/${String(request.input.Name).replace(/^(arn:.*:parameter)?\//, '')}`))],
  },
  ofQueues: {
    operations: ['SendMessage', 'ReceiveMessage', 'PurgeQueue'],
    source: 'https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-retain-records.html',
    documented: true,
    authorizations: request => [same(request, String(request.input.QueueArn))],
  },
  ofLogs: {
    operations: ['CreateLogStream', 'PutLogEvents'],
    source: 'https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs.html',
    documented: true,
    authorizations: request => [same(request, `${String(request.input.LogGroupArn).replace(/:\*$/, '')}:log-stream:${String(request.input.LogStreamName)}`)],
  },
} as const satisfies Readonly<Record<string, Row>>;

/** What a service asks of a customer's key, in the name of who calls it. */
interface BehindRow extends Sourced {
  /** Of an authorization: does the service ask for it? */
  readonly of: RegExp;
  readonly service: 'dynamodb' | 'secretsmanager' | 'ssm' | 'sqs';
  readonly actions: readonly string[];
  /** When, in words. */
  readonly is: string;
  readonly context: (resource: string) => Readonly<Record<string, string>>;
}

export const BEHIND = {
  tables: {
    of: /^dynamodb:(Get|Update|Put|Delete|BatchGet|BatchWrite)Item$|^dynamodb:(Query|Scan)$/,
    service: 'dynamodb',
    actions: ['kms:Decrypt'],
    is: 'asked by DynamoDB in the caller\'s name, where a table has a customer\'s key; that this is all is said of the key that AWS manages, and not of the customer\'s',
    source: 'https://docs.aws.amazon.com/kms/latest/developerguide/services-dynamodb.html',
    documented: false,
    cases: ['policies refreshingEncrypted.read', 'policies readerEncrypted.read', 'policies withoutKey.read'],
    context: resource => ({ 'aws:dynamodb:tableName': resource.replace(/^.*table\//, ''), 'aws:dynamodb:subscriberId': ACCOUNT }),
  },
  secrets: {
    of: /^secretsmanager:GetSecretValue$/,
    service: 'secretsmanager',
    actions: ['kms:Decrypt'],
    is: 'asked by Secrets Manager in the caller\'s name, where a secret has a customer\'s key',
    source: 'https://docs.aws.amazon.com/secretsmanager/latest/userguide/security-encryption.html',
    documented: true,
    context: resource => ({ SecretARN: resource }),
  },
  parameters: {
    of: /^ssm:GetParameter$/,
    service: 'ssm',
    actions: ['kms:Decrypt'],
    is: 'asked by Parameter Store in the caller\'s name, for a `SecureString` under a customer\'s key',
    source: 'https://docs.aws.amazon.com/kms/latest/developerguide/services-parameter-store.html',
    documented: true,
    context: resource => ({ PARAMETER_ARN: resource }),
  },
  queues: {
    of: /^sqs:SendMessage$/,
    service: 'sqs',
    actions: ['kms:GenerateDataKey', 'kms:Decrypt'],
    is: 'asked by SQS where a queue has a customer\'s key; whose permission it takes where Lambda delivers a failure is not said',
    source: 'https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-key-management.html',
    documented: false,
    cases: ['refresher failing-encrypted'],
    context: resource => ({ 'aws:sqs:arn': resource }),
  },
} as const satisfies Readonly<Record<string, BehindRow>>;

/** All decisions for a request. It is allowed where each of them is. */
export function authorizationsOf(request: AwsRequest, { keys }: Place): readonly Authorization[] {
  const row = (Object.values(AUTHORIZATIONS) as readonly Row[]).find(({ operations }) => operations.includes(request.operation));
  if (!row) throw new Error(`What AWS authorizes for ${request.service}'s ${request.operation} is not known here.`);
  return row.authorizations(request).flatMap(authorization => {
    const key = keys.get(authorization.resource);
    return key === undefined ? [authorization] : [authorization, ...askedOfKey(authorization, key)];
  });
}

function askedOfKey({ action, resource }: Authorization, key: string): readonly Authorization[] {
  const row = (Object.values(BEHIND) as readonly BehindRow[]).find(({ of }) => of.test(action));
  if (!row) return [];
  const asked = { resource: key, input: { EncryptionContext: row.context(resource) }, via: `${row.service}.${REGION}.amazonaws.com` };
  return row.actions.map(ofKey => ({ action: ofKey, ...asked }));
}

/** The other resource that an authorization may be about, where no document says which. */
export function otherResourceOf({ action, resource }: Authorization): string | undefined {
  return action === 'lambda:InvokeFunction' && resource.endsWith(`:${LATEST}`) ? resource.slice(0, -LATEST.length - 1) : undefined;
}
