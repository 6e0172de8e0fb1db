import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, GetCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';

/** What a test may know: never a token. */
export interface Statistics {
  readonly authCalls: number;
}

/** Of one scope. */
interface Item {
  readonly authCalls?: number;
  readonly liveToken?: string;
}

/** A request that names no scope is counted all the same. */
const NO_SCOPE = '(none)';

const DAY_S = 24 * 60 * 60;

/** What the authorization server remembers, shared by all its instances: one item for each scope. */
export class ServerState {
  private readonly documents = DynamoDBDocumentClient.from(new DynamoDBClient({}));

  constructor(private readonly tableName: string) {}

  async countAuthCall(scope: string): Promise<void> {
    await this.update(scope, 'ADD authCalls :one SET expireAfter = :later', { ':one': 1 });
  }

  /** From now on the API accepts this token, and no other of the scope. */
  async accept(scope: string, token: string): Promise<void> {
    await this.update(scope, 'SET liveToken = :token, expireAfter = :later', { ':token': token });
  }

  async revoke(scope: string): Promise<void> {
    await this.update(scope, 'REMOVE liveToken SET expireAfter = :later');
  }

  async liveToken(scope: string): Promise<string | undefined> {
    return (await this.read(scope)).liveToken;
  }

  async statistics(scope: string): Promise<Statistics> {
    return { authCalls: (await this.read(scope)).authCalls ?? 0 };
  }

  private async read(scope: string): Promise<Item> {
    const request = new GetCommand({ TableName: this.tableName, Key: { scope: scope || NO_SCOPE }, ConsistentRead: true });
    return (await this.documents.send(request)).Item ?? {};
  }

  private async update(scope: string, expression: string, values: Readonly<Record<string, unknown>> = {}): Promise<void> {
    await this.documents.send(new UpdateCommand({
      TableName: this.tableName,
      Key: { scope: scope || NO_SCOPE },
      UpdateExpression: expression,
      ExpressionAttributeValues: { ...values, ':later': Math.ceil(Date.now() / 1_000) + DAY_S },
    }));
  }
}
