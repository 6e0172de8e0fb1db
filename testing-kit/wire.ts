/*
 * What DynamoDB's wire protocol looks like, as far as a server or proxy has to know: JSON over HTTP, the operation's name in a header.
 */
import { randomUUID } from 'node:crypto';
import { isJsonObject, parseJsonObject, type JsonObject } from './json';
import type { HttpReply, HttpRequest } from './loopback-server';

export const CONTENT_TYPE = 'application/x-amz-json-1.0';
const TARGET_PREFIX = 'DynamoDB_20120810.';
const ERROR_NAMESPACE = 'com.amazonaws.dynamodb.v20120810#';

/** One request to the table, as somebody who watches sees it. */
export interface DynamoDbRequest {
  /** For example `UpdateItem`; empty when the request names none. */
  readonly operation: string;
  /** The request's JSON; empty when it holds none. */
  readonly body: JsonObject;
}

/** One request with the answer that it got. */
export interface DynamoDbExchange extends DynamoDbRequest {
  /** HTTP status: 200, 400 for errors of the caller (a failed condition too), 500 for errors of the table. */
  readonly status: number;
  /** The answer's JSON. */
  readonly reply: JsonObject;
  /** For example `ConditionalCheckFailedException`; absent where the request succeeded. */
  readonly error?: string;
}

export function targetOf(operation: string): string {
  return TARGET_PREFIX + operation;
}

export function readRequest(request: HttpRequest): DynamoDbRequest {
  const target = request.headers['x-amz-target'];
  const operation = typeof target === 'string' ? target.split('.')[1] : undefined;
  return { operation: operation ?? '', body: parseJsonObject(request.body) };
}

/** The body, where it is JSON but no object: dynalite answers whatever is no JSON, and stumbles over this. */
export function malformedBody({ body }: HttpRequest): string | undefined {
  try {
    return isJsonObject(JSON.parse(body.toString())) ? undefined : shortened(body.toString());
  } catch {
    return undefined;
  }
}

function shortened(text: string): string {
  return text.length > 100 ? `${text.slice(0, 100)}...` : text;
}

export function readExchange(request: DynamoDbRequest, { status, body }: HttpReply): DynamoDbExchange {
  const reply = parseJsonObject(body);
  const type = reply.__type;
  return { ...request, status, reply, ...(typeof type === 'string' ? { error: type.split('#').pop() ?? type } : {}) };
}

export function jsonReply(status: number, value: JsonObject): HttpReply {
  const body = Buffer.from(JSON.stringify(value));
  return { status, body, headers: { 'content-type': CONTENT_TYPE, 'content-length': body.length, 'x-amzn-requestid': randomUUID() } };
}

/** An error as DynamoDB words it: `type` is what the SDK makes the error's name. */
export function errorReply(status: number, type: string, message: string): HttpReply {
  return jsonReply(status, { __type: ERROR_NAMESPACE + type, message });
}
