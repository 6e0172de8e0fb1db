import { types } from 'node:util';
import { DynamoDBClient, DynamoDBServiceException, UpdateItemCommand, type UpdateItemCommandInput } from '@aws-sdk/client-dynamodb';
import type { EmbeddedClientConfig } from '../../testing-kit';

/** A client that tries once: a second attempt of the SDK would hide what the first one met. */
export function singleAttemptClient(config: EmbeddedClientConfig): DynamoDBClient {
  return new DynamoDBClient({ ...config, maxAttempts: 1 });
}

/** The claim of a lease, reduced to the one condition that makes it exclusive. */
export function claim(tableName: string, leaseId: string, more: Partial<UpdateItemCommandInput> = {}): UpdateItemCommand {
  return new UpdateItemCommand({
    TableName: tableName,
    Key: { tokenId: { S: 'crm' } },
    UpdateExpression: 'SET lease = :lease',
    ConditionExpression: 'attribute_not_exists(lease)',
    ExpressionAttributeValues: { ':lease': { S: leaseId } },
    ...more,
  });
}

/** The error with which `call` rejects; fails where it does not reject. */
export async function errorOf(call: Promise<unknown>): Promise<Error> {
  const outcome = await call.then(value => ({ value }), (error: unknown) => error);
  if (types.isNativeError(outcome)) return outcome; // not instanceof: jest runs tests in a realm with an Error of its own
  throw new Error(`Expected a rejection, got ${JSON.stringify(outcome)}`);
}

/** The HTTP status with which the table refused; absent where no answer came. */
export function statusOf(error: Error): number | undefined {
  return error instanceof DynamoDBServiceException ? error.$metadata.httpStatusCode : undefined;
}
