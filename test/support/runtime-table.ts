import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DeleteCommand, DynamoDBDocumentClient, GetCommand, PutCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { startTokenTable } from './embedded-table';
import { ENV } from '../../src/private/contract';
import { type FaultDecision, FaultProxy, type ProxiedRequest } from '../../testing-kit';

/** The embedded table as the runtime reaches it: through a proxy that a test can tell to break things, and beside it a way past the proxy. */
export class RuntimeTable {
  static async start(tableName?: string): Promise<RuntimeTable> {
    const clock = { ahead: 0 };
    const table = await startTokenTable({ now: () => Date.now() + clock.ahead, tableName });
    const requests: ProxiedRequest[] = [];
    const self: { faults: FaultDecision } = { faults: () => undefined };
    const proxy = await FaultProxy.start(table.endpoint, request => {
      requests.push(request);
      return self.faults(request);
    });
    const environment = { ...table.environment, AWS_ENDPOINT_URL_DYNAMODB: proxy.endpoint, [ENV.TABLE]: table.tableName };
    Object.assign(process.env, environment);
    const documents = DynamoDBDocumentClient.from(new DynamoDBClient(table.clientConfig));
    return new RuntimeTable(table.tableName, requests, self, clock, documents, async () => {
      for (const name of Object.keys(environment)) delete process.env[name];
      documents.destroy();
      await proxy.stop();
      await table.stop();
    });
  }

  private constructor(
    readonly name: string,
    /** Everything the runtime sent since the last `reset`. */
    readonly requests: ProxiedRequest[],
    private readonly proxy: { faults: FaultDecision },
    private readonly clock: { ahead: number },
    private readonly documents: DynamoDBDocumentClient,
    readonly stop: () => Promise<void>,
  ) {}

  set faults(decide: FaultDecision) {
    this.proxy.faults = decide;
  }

  /** Time passes at the table, and nowhere else. */
  pass(ms: number): void {
    this.clock.ahead += ms;
  }

  /** Ends all faults, forgets the requests, and sets the table's clock right. */
  reset(): void {
    this.clock.ahead = 0;
    this.proxy.faults = () => undefined;
    this.requests.length = 0;
  }

  operations(): string[] {
    return this.requests.map(request => request.operation);
  }

  async item(tokenId: string): Promise<Record<string, unknown> | undefined> {
    return (await this.documents.send(new GetCommand({ TableName: this.name, Key: { tokenId }, ConsistentRead: true }))).Item;
  }

  async put(item: { readonly tokenId: string } & Record<string, unknown>): Promise<void> {
    await this.documents.send(new PutCommand({ TableName: this.name, Item: item }));
  }

  async set(tokenId: string, attribute: string, value: unknown): Promise<void> {
    await this.documents.send(new UpdateCommand({
      TableName: this.name,
      Key: { tokenId },
      UpdateExpression: 'SET #attribute = :value',
      ExpressionAttributeNames: { '#attribute': attribute },
      ExpressionAttributeValues: { ':value': value },
    }));
  }

  async delete(tokenId: string): Promise<void> {
    await this.documents.send(new DeleteCommand({ TableName: this.name, Key: { tokenId } }));
  }
}
