import {
  EmbeddedDynamoDb, type EmbeddedClientConfig, type EmbeddedDynamoDbOptions, type EmbeddedTable, type TableFromTemplateOptions,
} from './embedded-dynamodb';
import type { TemplateSource } from './table-template';

/** What {@link startEmbeddedTable} needs: a template, and if you like any option of the database and of the table. */
export interface StartEmbeddedTableOptions extends EmbeddedDynamoDbOptions, TableFromTemplateOptions {
  /** The synthesized template (`Template.fromStack(stack).toJSON()`), or the path of its file in `cdk.out`. */
  readonly template: TemplateSource;
}

/** A table with a database of its own. */
export interface StartedEmbeddedTable extends EmbeddedTable {
  readonly endpoint: string;
  /** For `new DynamoDBClient(...)`. */
  readonly clientConfig: EmbeddedClientConfig;
  /** Deletes what is past its time to live at `now`, and returns how many items that were. */
  sweepExpired(now?: Date): Promise<number>;
  stop(): Promise<void>;
}

/**
 * Starts an embedded DynamoDB with the token table of your stack, in well under a second. Use it to test a function that shares a token.
 *
 * @example
 * const table = await startEmbeddedTable({ template: Template.fromStack(stack).toJSON() });
 * Object.assign(process.env, table.environment); // before the handler's module is loaded; or as the environment of a child process
 * // ... call the handler ...
 * await table.stop();
 */
export async function startEmbeddedTable({ template, ...options }: StartEmbeddedTableOptions): Promise<StartedEmbeddedTable> {
  const db = await EmbeddedDynamoDb.start(options);
  try {
    const table = await db.createTableFromTemplate(template, options);
    return {
      ...table,
      endpoint: db.endpoint,
      clientConfig: db.clientConfig,
      sweepExpired: async now => db.sweepExpired(now),
      stop: async () => db.stop(),
    };
  } catch (error) {
    await db.stop();
    throw error;
  }
}
