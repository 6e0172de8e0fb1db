import { randomBytes } from 'node:crypto';
import { DynamoDBClient, type DynamoDBClientConfig, type DynamoDBServiceException } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, GetCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import { isBadCredentials } from './bad-credentials';
import { claimRequest, commitRequest, lookRequest, readRequest, releaseRequest, renewRequest, type UpdateRequest } from './dynamodb-requests';
import type { DataKeys } from './encryption/data-keys';
import { kmsDataKeys } from './encryption/kms-data-keys';
import { noCipher, tokenCipher } from './encryption/token-cipher';
import { SharedTokenError, type SharedTokenErrorCode } from './errors';
import type { Host, TableClock } from './host';
import type { OperatorStore } from './operator/operator-store';
import { tokenError } from './token-error';
import { parseItem } from './token-item';
import { afterWrite, TableTrouble, type TokenStore, type WriteReply } from './token-store';
import { ENV, KEY_SEPARATOR } from '../src/private/contract';

/*
 * The only file that knows the SDK's client for DynamoDB.
 */

const ARN = /^arn:[^:]+:dynamodb:([^:]+):/;

/** DynamoDB says "not applied, come back later" in these ways. */
const THROTTLED = new Set(['ProvisionedThroughputExceededException', 'ThrottlingException', 'RequestLimitExceeded', 'TransactionConflictException']);

/** Answers that no retry cures, with what to do. */
const FINAL: Readonly<Record<string, readonly [SharedTokenErrorCode, string]>> = {
  ResourceNotFoundException: ['TABLE_NOT_FOUND', `does not exist in this account and region: deploy it, or check ${ENV.TABLE}.`],
  AccessDeniedException: ['ACCESS_DENIED', 'refuses this function: attach it (attachTo), or grant its role this token id and the table\'s key.'],
  ValidationException: ['TABLE_REQUEST_REFUSED', 'refused a request as malformed: its key must be the string "tokenId", and an item fit into 400 KB.'],
};

const BAD_CREDENTIALS = ['ACCESS_DENIED', 'does not accept these AWS credentials: they are missing, refused or expired.'] as const;
const NO_REGION = ['TABLE_NOT_CONFIGURED', 'cannot be found without a region: set AWS_REGION.'] as const;

/**
 * A number that JavaScript does not hold exactly becomes none: rounded, it would never match what is stored, and a claim would be sent over and over. The SDK
 * itself throws at some of them, even where an attribute is none of ours.
 */
const NUMBERS = {
  wrapNumbers(text: string): number {
    const number = Number(text);
    return String(number) === text || text.replace(/^[-0.]+|\D|0+$/g, '').length <= SAFE_DIGITS ? number : NaN;
  },
};
/** So many significant digits are the same ones after any double. */
const SAFE_DIGITS = 15;
/** An SDK from before the end of 2024 takes no function, but would wrap each number: then its own way has to do. */
const READING = unmarshall({ one: { N: '1' } }, NUMBERS).one === 1 ? NUMBERS : {};

/** Makes the store for one table, given by name or ARN, and behind that by the key that encrypts its tokens, if there is one. */
export function createDynamoDbTokenStore(reference: string, host: Host, clock: TableClock): TokenStore {
  const [table = '', key] = reference.split(KEY_SEPARATOR);
  const client = clientOf(table, host, clock);
  const keys = key ? counted(kmsDataKeys(key)) : undefined;
  // The name alone: who reads the table of another account knows it by its ARN.
  const cipher = keys ? tokenCipher(table.slice(table.lastIndexOf('/') + 1), keys, randomBytes) : noCipher;

  const parse = async (tokenId: string, attributes: Readonly<Record<string, unknown>> | undefined, signal: AbortSignal) => {
    if (!attributes) return undefined;
    return { ...parseItem(tokenId, await cipher.open(tokenId, attributes, signal)), isToEncrypt: cipher.isPlain(attributes.refreshToken) };
  };

  const read: TokenStore['read'] = async (tokenId, abortSignal) => {
    try {
      const { Item } = await client.send(new GetCommand(readRequest(table, tokenId)), { abortSignal });
      return await parse(tokenId, Item, abortSignal);
    } catch (error) {
      throw translate(error, table, tokenId);
    }
  };
  type RequestOf<T> = (table: string, tokenId: string, what: T) => UpdateRequest;
  const writeBy = <T>(requestOf: RequestOf<T>) => async (tokenId: string, what: T, abortSignal: AbortSignal): Promise<WriteReply> => {
    try {
      const request = requestOf(table, tokenId, what);
      const values = await cipher.seal(tokenId, request.ExpressionAttributeValues, abortSignal);
      const { Attributes } = await client.send(new UpdateCommand({ ...request, ExpressionAttributeValues: values }), { abortSignal });
      return { applied: true, item: await afterWrite(parse(tokenId, Attributes, abortSignal)) };
    } catch (error) {
      if (nameOf(error) !== 'ConditionalCheckFailedException') throw translate(error, table, tokenId);
      // The item on which the condition failed. The document client leaves it as it came; an engine that gives none is asked by a consistent read.
      const { Item } = error as { readonly Item?: Parameters<typeof unmarshall>[0] };
      return { applied: false, item: Item ? await parse(tokenId, unmarshall(Item, READING), abortSignal) : await read(tokenId, abortSignal) };
    }
  };
  const claim = writeBy(claimRequest);

  return {
    read,
    async claim(tokenId, what, signal) {
      await cipher.prepare(tokenId, what.lease.id, signal);
      return claim(tokenId, what, signal);
    },
    commit: writeBy(commitRequest),
    renew: writeBy(renewRequest),
    release: writeBy(releaseRequest),
    waitsFor: () => keys?.underWay() ? 'key' : 'table',
  };
}

/** Counts what is under way, for who waits in vain. */
function counted(keys: DataKeys): DataKeys & { underWay(): number } {
  let underWay = 0;
  const count = async <T>(call: Promise<T>): Promise<T> => {
    underWay++;
    return call.finally(() => { underWay--; });
  };
  return {
    generate: async (...args) => count(keys.generate(...args)),
    decrypt: async (...args) => count(keys.decrypt(...args)),
    underWay: () => underWay,
  };
}

/** The same table for operators. They name no token, so they need not know what encrypts it. */
export function createOperatorStore(reference: string, host: Host, clock: TableClock): OperatorStore {
  const [table = ''] = reference.split(KEY_SEPARATOR);
  const client = clientOf(table, host, clock);
  return {
    async look(tokenId, abortSignal) {
      try {
        return (await client.send(new GetCommand(lookRequest(table, tokenId)), { abortSignal })).Item;
      } catch (error) {
        throw translate(error, table, tokenId);
      }
    },
    async mend(tokenId, requestOf, abortSignal) {
      try {
        await client.send(new UpdateCommand(requestOf(table, tokenId)), { abortSignal });
        return true;
      } catch (error) {
        if (nameOf(error) === 'ConditionalCheckFailedException') return false;
        throw translate(error, table, tokenId);
      }
    },
  };
}

function clientOf(table: string, host: Host, clock: TableClock): DynamoDBDocumentClient {
  const region = ARN.exec(table)?.[1];
  // A retry of the SDK's would hide that the first attempt may have been applied; the protocol sends again itself, and knows its own writes.
  const config: DynamoDBClientConfig = { maxAttempts: 1, ...(region && { region }) };
  // A copy: the SDK writes its own defaults into it.
  const client = DynamoDBDocumentClient.from(new DynamoDBClient(config), { unmarshallOptions: { ...READING } });
  learnTheTablesTime(client, host, clock);
  return client;
}

/** Every reply of the table, refusals included, says in its `Date` header what time it is there. */
function learnTheTablesTime(client: DynamoDBDocumentClient, host: Host, clock: TableClock): void {
  client.middlewareStack.add(next => async args => {
    const sentAt = host.now();
    const result = await next(args);
    const { headers } = result.response as { readonly headers?: Readonly<Record<string, string>> };
    if (headers?.date !== undefined) clock.learn(Date.parse(headers.date), sentAt, host.now());
    return result;
  }, { step: 'deserialize', priority: 'low' });
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : '';
}

/** Tells trouble that passes from errors that somebody has to mend. */
function translate(error: unknown, table: string, tokenId: string): Error {
  if (error instanceof SharedTokenError || error instanceof TableTrouble) return error;
  const name = nameOf(error);
  const cause = withoutRequest(error);
  const final = cause.message === 'Region is missing' ? NO_REGION : isBadCredentials(cause) ? BAD_CREDENTIALS : Object.hasOwn(FINAL, name) && FINAL[name];
  const [code, what] = final || [];
  return code ? tokenError(tokenId, code, `the table "${table}" ${what}`, { cause }) : new TableTrouble(THROTTLED.has(name), cause);
}

/** The SDK hangs request and response on its errors, and those hold tokens. */
function withoutRequest(error: unknown): Error {
  const { name, message, $metadata } = error as Partial<DynamoDBServiceException>;
  return Object.assign(new Error(message), { name, requestId: $metadata?.requestId });
}
