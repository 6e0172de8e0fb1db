import type { WireItem } from './wire-values';
import type { RuntimeTable } from '../../support/runtime-table';

/*
 * The embedded table by its wire protocol alone: the SDK would refuse, round or lose what others may have written.
 */

async function send(operation: string, body: object): Promise<{ readonly status: number; readonly reply: Readonly<Record<string, unknown>> }> {
  const response = await fetch(process.env.AWS_ENDPOINT_URL_DYNAMODB!, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-amz-json-1.0',
      'x-amz-target': `DynamoDB_20120810.${operation}`,
      'x-amz-date': '20261130T000000Z',
      'authorization': 'AWS4-HMAC-SHA256 Credential=embedded/20261130/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0',
    },
    body: JSON.stringify(body),
  });
  return { status: response.status, reply: await response.json() as Readonly<Record<string, unknown>> };
}

/** Stores an item; false where the table itself refuses it. */
export async function putWire(table: RuntimeTable, tokenId: string, attributes: WireItem): Promise<boolean> {
  const { status, reply } = await send('PutItem', { TableName: table.name, Item: { ...attributes, tokenId: { S: tokenId } } });
  if (status === 200) return true;
  if (String(reply.__type).includes('ValidationException')) return false;
  throw new Error(`The table answered ${status}: ${JSON.stringify(reply)}`);
}

/** What is stored, without its key. */
export async function getWire(table: RuntimeTable, tokenId: string): Promise<WireItem | undefined> {
  const { status, reply } = await send('GetItem', { TableName: table.name, Key: { tokenId: { S: tokenId } }, ConsistentRead: true });
  if (status !== 200) throw new Error(`The table answered ${status}: ${JSON.stringify(reply)}`);
  const item = reply.Item as WireItem | undefined;
  return item && Object.fromEntries(Object.entries(item).filter(([name]) => name !== 'tokenId'));
}
