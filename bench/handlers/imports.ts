/* eslint-disable @typescript-eslint/no-require-imports -- what is measured is `require`, one after the other */
const timed = (load: () => unknown): number => {
  const start = performance.now();
  load();
  return performance.now() - start;
};

const client = (): unknown => {
  const { DynamoDBClient } = require('@aws-sdk/client-dynamodb') as typeof import('@aws-sdk/client-dynamodb');
  const { DynamoDBDocumentClient } = require('@aws-sdk/lib-dynamodb') as typeof import('@aws-sdk/lib-dynamodb');
  return DynamoDBDocumentClient.from(new DynamoDBClient({}));
};

/** What each takes, in milliseconds, in a function that has loaded what stands before it. */
const imports = {
  sdk: timed(() => [require('@aws-sdk/client-dynamodb'), require('@aws-sdk/lib-dynamodb')]),
  client: timed(client),
  runtime: timed(() => require('cdk-shared-token-table/runtime')),
  oauth: timed(() => require('cdk-shared-token-table/runtime/oauth')),
};

export const handler = async (): Promise<typeof imports> => imports;
