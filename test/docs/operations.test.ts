import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb';
import { OPERATOR_READABLE_ATTRIBUTES } from '../../src/private/contract';
import { outputOf, REPOSITORY } from '../support/command';
import { startTokenTable } from '../support/embedded-table';
import { stopAfterEach } from '../support/stop-after-each';

/*
 * The commands of docs/operations.md are ones that exist, and that the grant of operators allows.
 */
const stopLater = stopAfterEach();
const text = readFileSync(join(REPOSITORY, 'docs', 'operations.md'), 'utf8');

test('each use of shared-token is one that its usage names', async () => {
  const usage = await outputOf(process.execPath, [join(REPOSITORY, 'runtime', 'operator', 'shared-token.js'), '--help'], { cwd: REPOSITORY });
  const known = [...usage.matchAll(/^ {2}([a-z][a-z-]+) {2,}/gm)].map(match => match[1]);
  const used = new Set([...text.matchAll(/shared-token ([a-z-]+) (?:crm|<tokenId>)/g)].map(match => match[1]));
  expect(known).toEqual(['state', 'end-lease', 'clear-failure', 'expire']);
  expect([...used].sort()).toEqual([...known].sort());
});

test('get-item by the AWS CLI asks for what an operator may see, and the table takes it as it is written', async () => {
  const command = /^aws dynamodb get-item --table-name Tokens --key '(.+)' --consistent-read \\\n {2}--projection-expression '(.+)'$/m.exec(text);
  const [key = '', projection = ''] = command?.slice(1) ?? [];
  expect(projection.split(', ')).toEqual(OPERATOR_READABLE_ATTRIBUTES);
  const table = stopLater(await startTokenTable());
  const client = new DynamoDBClient(table.clientConfig);
  const Key = JSON.parse(key) as Record<string, { S: string }>;
  // A reserved word would be refused.
  const request = new GetItemCommand({ TableName: table.tableName, Key, ConsistentRead: true, ProjectionExpression: projection });
  const { $metadata } = await client.send(request);
  client.destroy();
  expect([Object.keys(Key), $metadata.httpStatusCode]).toEqual([['tokenId'], 200]);
});
