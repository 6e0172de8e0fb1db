import type { DynaliteEngine } from './dynalite-engine';
import { isJsonObject, jsonObjects } from './json';
import type { TimeToLive } from './table-settings';

/** DynamoDB spares items whose expiry lies further back: it takes such a value for a mistake. */
const OLDEST_EXPIRY_SECONDS = 5 * 365 * 24 * 60 * 60;

/**
 * Deletes what DynamoDB's time to live would delete at `now`, and returns how many items that were.
 *
 * As there, the attribute counts in seconds and must be a number; one in milliseconds lies in the far future and is never due.
 */
export async function sweepTable(engine: DynaliteEngine, { tableName, attribute }: TimeToLive, now: Date): Promise<number> {
  const seconds = Math.floor(now.getTime() / 1000);
  const due = {
    ExpressionAttributeNames: { '#expiry': attribute },
    ExpressionAttributeValues: { ':now': { N: String(seconds) }, ':oldest': { N: String(seconds - OLDEST_EXPIRY_SECONDS) } },
  };
  const isDue = '#expiry < :now AND #expiry > :oldest';
  const keyNames = await keyAttributes(engine, tableName);

  let deleted = 0;
  let startKey: unknown;
  do {
    const page = (await engine.call('Scan', {
      TableName: tableName, FilterExpression: isDue, ...due, ...(startKey === undefined ? {} : { ExclusiveStartKey: startKey }),
    })).body;
    for (const item of jsonObjects(page.Items)) {
      const Key = Object.fromEntries(keyNames.map(name => [name, item[name]]));
      // Under the same condition again: somebody may have prolonged the item since the scan.
      const { status } = await engine.call('DeleteItem', { TableName: tableName, Key, ConditionExpression: isDue, ...due });
      if (status === 200) deleted += 1;
    }
    startKey = page.LastEvaluatedKey;
  } while (startKey !== undefined);
  return deleted;
}

async function keyAttributes(engine: DynaliteEngine, tableName: string): Promise<readonly string[]> {
  const { Table: table } = (await engine.call('DescribeTable', { TableName: tableName })).body;
  return isJsonObject(table) ? jsonObjects(table.KeySchema).map(element => String(element.AttributeName)) : [];
}
