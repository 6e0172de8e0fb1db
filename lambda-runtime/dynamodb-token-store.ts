import { DynamoDBClient, type DynamoDBClientConfig, type DynamoDBServiceException } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, GetCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import { claimRequest, commitRequest, readRequest, releaseRequest, type UpdateRequest } from './dynamodb-requests';
import { SharedTokenError, type SharedTokenErrorCode } from './errors';
import type { Host, TableClock } from './host';
import { parseItem } from './token-item';
import { TableTrouble, type TokenStore, type WriteReply } from './token-store';

/*
 * The only file that knows the AWS SDK.
 */

const ARN = /^arn:[^:]+:dynamodb:([^:]+):/;

/** DynamoDB says "not applied, come back later" in these ways. */
const THROTTLED = new Set(['ProvisionedThroughputExceededException', 'ThrottlingException', 'RequestLimitExceeded', 'TransactionConflictException']);

/** Answers that no retry cures, with what to do. */
const FINAL: Readonly<Record<string, readonly [SharedTokenErrorCode, string]>> = {
  ResourceNotFoundException: ['TABLE_NOT_FOUND', 'does not exist in this account and region. Check SHARED_TOKEN_TABLE and the region, or deploy the table.'],
  AccessDeniedException: ['ACCESS_DENIED', 'refuses this function. Attach it (attachTo) or grant its role access to this token id, and to the table\'s key.'],
  UnrecognizedClientException: ['ACCESS_DENIED', 'does not accept these AWS credentials.'],
  ExpiredTokenException: ['ACCESS_DENIED', 'says that these AWS credentials have expired.'],
  CredentialsProviderError: ['ACCESS_DENIED', 'cannot be called: no AWS credentials were found.'],
  ValidationException: ['TABLE_REQUEST_REFUSED', 'refused a request as malformed: its key must be the string "tokenId", and the item must fit into 400 KB.'],
};

/** Makes the store for one table, given by name or ARN. */
export function createDynamoDbTokenStore(table: string, host: Host, clock: TableClock): TokenStore {
  const region = ARN.exec(table)?.[1];
  const config: DynamoDBClientConfig = {
    // A retry of the SDK's would hide that the first attempt may have been applied; the protocol sends again itself, and knows its own writes.
    maxAttempts: 1,
    ...(region === undefined ? {} : { region }),
  };
  const client = DynamoDBDocumentClient.from(new DynamoDBClient(config), { marshallOptions: { removeUndefinedValues: true } });
  learnTheTablesTime(client, host, clock);

  const update = async (tokenId: string, request: UpdateRequest, signal: AbortSignal): Promise<WriteReply> => {
    try {
      const reply = await client.send(new UpdateCommand(request), { abortSignal: signal });
      return { applied: true, item: parseItem(tokenId, reply.Attributes) };
    } catch (error) {
      if (!isNamed(error, 'ConditionalCheckFailedException')) throw translate(error, table, tokenId);
      return { applied: false, item: await itemOf(error, tokenId, signal) };
    }
  };
  const read: TokenStore['read'] = async (tokenId, signal) => {
    try {
      const reply = await client.send(new GetCommand(readRequest(table, tokenId)), { abortSignal: signal });
      return parseItem(tokenId, reply.Item);
    } catch (error) {
      throw translate(error, table, tokenId);
    }
  };
  /** The item on which a condition failed. The document client leaves it as it came; an engine that gives none is asked by a consistent read. */
  const itemOf = async (error: unknown, tokenId: string, signal: AbortSignal) => {
    const item = (error as { readonly Item?: Parameters<typeof unmarshall>[0] }).Item;
    return item === undefined ? read(tokenId, signal) : parseItem(tokenId, unmarshall(item));
  };

  return {
    read,
    claim: (tokenId, claim, signal) => update(tokenId, claimRequest(table, tokenId, claim), signal),
    commit: (tokenId, commit, signal) => update(tokenId, commitRequest(table, tokenId, commit), signal),
    release: (tokenId, release, signal) => update(tokenId, releaseRequest(table, tokenId, release), signal),
  };
}

/** Every reply of the table, refusals included, says in its `Date` header what time it is there. */
function learnTheTablesTime(client: DynamoDBDocumentClient, host: Host, clock: TableClock): void {
  client.middlewareStack.add(next => async args => {
    const sentAt = host.now();
    const result = await next(args);
    const { headers } = result.response as { readonly headers?: Readonly<Record<string, string>> };
    if (headers?.date !== undefined) clock.learn(Date.parse(headers.date), sentAt, host.now());
    return result;
  }, { step: 'deserialize', priority: 'low', name: 'learnTheTablesTime' });
}

function isNamed(error: unknown, name: string): boolean {
  return error instanceof Error && error.name === name;
}

/** Tells trouble that passes from errors that somebody has to mend. */
function translate(error: unknown, table: string, tokenId: string): Error {
  if (error instanceof SharedTokenError) return error;
  const name = error instanceof Error ? error.name : '';
  const final = Object.hasOwn(FINAL, name) ? FINAL[name] : undefined;
  const cause = withoutRequest(error);
  if (final === undefined) return new TableTrouble(THROTTLED.has(name), cause);
  return new SharedTokenError(final[0], `Token "${tokenId}": the table "${table}" ${final[1]}`, { tokenId, cause });
}

/** The SDK hangs request and response on its errors, and those hold tokens. */
function withoutRequest(error: unknown): Error {
  const { name, message, $metadata } = error as Partial<DynamoDBServiceException>;
  return Object.assign(new Error(message), { name, requestId: $metadata?.requestId });
}
