import { randomUUID } from 'node:crypto';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DecryptCommand, GenerateDataKeyCommand, KMSClient } from '@aws-sdk/client-kms';
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import {
  BatchGetCommand, DeleteCommand, DynamoDBDocumentClient, ExecuteStatementCommand, GetCommand, PutCommand, QueryCommand, ScanCommand,
  TransactGetCommand, TransactWriteCommand, UpdateCommand,
} from '@aws-sdk/lib-dynamodb';
import { type CallName, type Probe, TOKENS } from './probes';
import { SharedToken } from '../../../lambda-runtime';
import { claimRequest, clearFailureRequest, endLeaseRequest, expireRequest, lookRequest, readRequest } from '../../../lambda-runtime/dynamodb-requests';
import { ENV, KEY_SEPARATOR } from '../../../src/private/contract';
import { PROBER_ENV } from '../stacks/contract';

// Nothing is sent twice: a probe is one request.
const documents = DynamoDBDocumentClient.from(new DynamoDBClient({ maxAttempts: 1 }));
const lambda = new LambdaClient({ maxAttempts: 1 });
const secrets = new SecretsManagerClient({ maxAttempts: 1 });
const kms = new KMSClient({ maxAttempts: 1 });
const [table = '', key] = (process.env[ENV.TABLE] ?? '').split(KEY_SEPARATOR);

/** A token that nobody has claimed yet, for `TOKENS.NEW`. */
const UNCLAIMED = `bot-${randomUUID()}`;

/** What an operator says that was seen, so that nothing is changed. */
const NEVER_SEEN = { id: 'never', until: 1, at: 1, count: -1, generation: -1, issuedAt: 1 };

/** Makes the call of a probe. */
export async function makeCall({ call, tokenId = '', qualifier }: Probe): Promise<unknown> {
  return CALLS[call](tokenId === TOKENS.NEW ? UNCLAIMED : tokenId, qualifier);
}

const CALLS: Readonly<Record<CallName, (tokenId: string, qualifier: string | undefined) => Promise<unknown>>> = {
  /** Reads by the runtime's own request. */
  readAsRuntime: async tokenId => documents.send(new GetCommand(readRequest(table, tokenId))),

  /** One attribute more than readers may see. */
  readRefreshToken: async tokenId => {
    const { ProjectionExpression, ExpressionAttributeNames, ...request } = readRequest(table, tokenId);
    return documents.send(new GetCommand({
      ...request, ProjectionExpression: `${ProjectionExpression}, #secret`, ExpressionAttributeNames: { ...ExpressionAttributeNames, '#secret': 'refreshToken' },
    }));
  },

  readWholeItem: async tokenId => documents.send(new GetCommand({ TableName: table, Key: { tokenId } })),

  readInBatch: async tokenId => documents.send(new BatchGetCommand({ RequestItems: { [table]: { Keys: [{ tokenId }] } } })),

  readInTransaction: async tokenId => documents.send(new TransactGetCommand({ TransactItems: [{ Get: { TableName: table, Key: { tokenId } } }] })),

  /** The same, of what may be seen. */
  readReadableInTransaction: async tokenId => {
    const { ConsistentRead, ...Get } = readRequest(table, tokenId); // a transaction is consistent without being asked
    return documents.send(new TransactGetCommand({ TransactItems: [{ Get }] }));
  },

  readByPartiQl: async tokenId => documents.send(new ExecuteStatementCommand({
    Statement: `SELECT refreshToken FROM "${table}" WHERE tokenId = ?`, Parameters: [tokenId],
  })),

  query: async tokenId => documents.send(new QueryCommand({
    TableName: table, KeyConditionExpression: 'tokenId = :id', ExpressionAttributeValues: { ':id': tokenId }, ProjectionExpression: 'tokenId',
  })),

  scan: async () => documents.send(new ScanCommand({ TableName: table, ProjectionExpression: 'tokenId' })),

  putItem: async tokenId => documents.send(new PutCommand({ TableName: table, Item: { tokenId } })),

  deleteItem: async tokenId => documents.send(new DeleteCommand({ TableName: table, Key: { tokenId } })),

  writeInTransaction: async tokenId => documents.send(new TransactWriteCommand({
    TransactItems: [{ Put: { TableName: table, Item: { tokenId } } }],
  })),

  /** A write whose condition never holds: only its policy matters. */
  update: async tokenId => documents.send(new UpdateCommand({
    TableName: table,
    Key: { tokenId },
    UpdateExpression: 'SET #meta = :meta',
    ConditionExpression: 'attribute_exists(#never)',
    ExpressionAttributeNames: { '#meta': 'meta', '#never': 'never' },
    ExpressionAttributeValues: { ':meta': {} },
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  })),

  /** The runtime's own claim of a token that nobody has yet. It is refused, and tells the item, where there is one. */
  claimFirst: async tokenId => {
    const now = Date.now();
    const lease = { id: randomUUID(), since: now, until: now + 1_000, holder: 'prober' };
    const claim = { lease, base: undefined, ended: undefined, endured: undefined, failure: undefined, expireAfter: Math.ceil(now / 1_000) + 3_600 };
    return documents.send(new UpdateCommand(claimRequest(table, tokenId, claim)));
  },

  /** All that a consumer does, with the key of the tokens. */
  getToken: async tokenId => new SharedToken(tokenId).get(),

  makeDataKey: async tokenId => makeDataKey({ table, tokenId }),

  makeDataKeyOfOtherTable: async tokenId => makeDataKey({ table: `${table}-other`, tokenId }),

  makeDataKeyOfNothing: async () => makeDataKey({}),

  readDataKey: async tokenId => {
    const EncryptionContext = { table, tokenId };
    const { CiphertextBlob } = await makeDataKey(EncryptionContext);
    return kms.send(new DecryptCommand({ KeyId: key, CiphertextBlob, EncryptionContext }));
  },

  look: async tokenId => documents.send(new GetCommand(lookRequest(table, tokenId))),

  endLease: async tokenId => documents.send(new UpdateCommand(endLeaseRequest(table, tokenId, NEVER_SEEN))),

  clearFailure: async tokenId => documents.send(new UpdateCommand(clearFailureRequest(table, tokenId, NEVER_SEEN))),

  expire: async tokenId => documents.send(new UpdateCommand(expireRequest(table, tokenId, NEVER_SEEN, Date.now()))),

  endLeaseForOldItem: async tokenId => documents.send(new UpdateCommand({
    ...endLeaseRequest(table, tokenId, NEVER_SEEN), ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  })),

  endLeaseForNewItem: async tokenId => documents.send(new UpdateCommand({ ...endLeaseRequest(table, tokenId, NEVER_SEEN), ReturnValues: 'ALL_NEW' })),

  endLeaseForOldItemInTransaction: async tokenId => {
    const { ReturnValues, ...Update } = endLeaseRequest(table, tokenId, NEVER_SEEN); // which transactions do not have
    return documents.send(new TransactWriteCommand({ TransactItems: [{ Update: { ...Update, ReturnValuesOnConditionCheckFailure: 'ALL_OLD' } }] }));
  },

  setToken: async tokenId => documents.send(new UpdateCommand({
    TableName: table,
    Key: { tokenId },
    UpdateExpression: 'SET accessToken = :token',
    ConditionExpression: 'lease.id = :never',
    ExpressionAttributeValues: { ':token': 'of an operator', ':never': NEVER_SEEN.id },
  })),

  compareToken: async tokenId => documents.send(new UpdateCommand({
    TableName: table,
    Key: { tokenId },
    UpdateExpression: 'REMOVE lease',
    ConditionExpression: 'begins_with(accessToken, :guess) AND lease.id = :never',
    ExpressionAttributeValues: { ':guess': 'a', ':never': NEVER_SEEN.id },
  })),

  /** Asks the refresher as the runtime does, or by one of the names that the schedule and a deployment use. */
  invokeRefresher: async (_, qualifier) => lambda.send(new InvokeCommand({
    FunctionName: process.env[PROBER_ENV.REFRESHER], Payload: JSON.stringify({ asked: {} }), ...(qualifier !== undefined && { Qualifier: qualifier }),
  })),

  /** A secret that is none of its business. */
  readSecret: async () => secrets.send(new GetSecretValueCommand({ SecretId: process.env[PROBER_ENV.SECRET] })),
};

async function makeDataKey(EncryptionContext: Record<string, string>) {
  return kms.send(new GenerateDataKeyCommand({ KeyId: key, KeySpec: 'AES_256', EncryptionContext }));
}
