import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, GetCommand } from '@aws-sdk/lib-dynamodb';

/** The variable's name, put in when this is bundled: with an import the baseline would hold the whole contract. */
declare const TABLE_VARIABLE: string;

const table = DynamoDBDocumentClient.from(new DynamoDBClient({}));

/** The baseline: one read of the token's item by the AWS SDK, in milliseconds. */
export const handler = async (): Promise<{ readonly firstCall: number }> => {
  const start = performance.now();
  const { Item: item } = await table.send(new GetCommand({ TableName: process.env[TABLE_VARIABLE], Key: { tokenId: 'crm' }, ConsistentRead: true }));
  if (typeof item?.accessToken !== 'string') throw new Error('There is no token.');
  return { firstCall: performance.now() - start };
};
