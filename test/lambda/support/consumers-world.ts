import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, GetCommand, PutCommand } from '@aws-sdk/lib-dynamodb';
import { App } from 'aws-cdk-lib';
import { ConsumersStack, MEMORY_MB, type Kind } from './consumers-stack';
import { Scenario } from './scenario';
import { CleanUp } from '../../../demo/clean-up';
import { Synthesis } from '../../../demo/synthesis';
import type { NodeMajor } from '../../../local-aws/lambda/environment-variables';
import type { ExecutionEnvironment, ExecutionEnvironmentOptions } from '../../../local-aws/lambda/execution-environment';
import { LocalLambda } from '../../../local-aws/lambda/local-lambda';
import { EmbeddedDynamoDb, type JsonObject } from '../../../testing-kit';

/** One request to the table. */
interface Exchange {
  readonly tokenId: string | undefined;
  readonly operation: string;
  /** Such as `ConditionalCheckFailedException`; undefined: it was carried out. */
  readonly error: string | undefined;
}

/** The runtime is in their bundle. */
const NEEDS_NO_LAYER: ReadonlySet<Kind> = new Set<Kind>(['ES module bundle with Lambda\'s SDK', 'bundle with all in it']);

/** What a test may have otherwise than the template. */
type StartedHow = Pick<ExecutionEnvironmentOptions, 'concurrency' | 'staysAwake' | 'variables'>;

interface Parts {
  readonly lambda: LocalLambda;
  readonly dynamoDb: EmbeddedDynamoDb;
  readonly documents: DynamoDBDocumentClient;
  readonly tableName: string;
  readonly stack: ConsumersStack;
  readonly synthesis: Synthesis;
}

/** Consumers as a stack declares them, synthesized once: code, layer, variables and table come from template and assets alone. */
export class ConsumersWorld {
  static async start(kinds: readonly Kind[]): Promise<ConsumersWorld> {
    const cleanUp = new CleanUp();
    try {
      return await ConsumersWorld.build(kinds, cleanUp);
    } catch (error) {
      await cleanUp.run();
      throw error;
    }
  }

  private static async build(kinds: readonly Kind[], cleanUp: CleanUp): Promise<ConsumersWorld> {
    const folder = mkdtempSync(join(tmpdir(), 'lambda-test-'));
    cleanUp.add(() => rmSync(folder, { recursive: true, force: true }));
    const exchanges: Exchange[] = [];
    const dynamoDb = cleanUp.stopLater(await EmbeddedDynamoDb.start({
      onReply: ({ operation, body, error }) => exchanges.push({ operation, error, tokenId: tokenIdOf(body) }),
    }));

    const app = new App({ outdir: join(folder, 'cdk.out') });
    const stack = new ConsumersStack(app, 'Consumers', kinds);
    const synthesis = new Synthesis(app, dynamoDb.clientConfig.region);
    const deployed = synthesis.stackOf(stack);
    const [logicalId] = deployed.logicalIdsOf('AWS::DynamoDB::GlobalTable');
    if (logicalId === undefined) throw new Error('The stack has no table.');
    const { tableName } = await dynamoDb.createTableFromTemplate(deployed.template, { logicalId, tableName: deployed.nameOf(logicalId) });

    const documents = DynamoDBDocumentClient.from(new DynamoDBClient(dynamoDb.clientConfig));
    cleanUp.add(() => documents.destroy());
    const lambda = LocalLambda.open();
    cleanUp.add(async () => lambda.close());
    return new ConsumersWorld(cleanUp, exchanges, { lambda, dynamoDb, documents, tableName, stack, synthesis });
  }

  private readonly scenarios: Scenario[] = [];

  private constructor(private readonly cleanUp: CleanUp, readonly exchanges: readonly Exchange[], private readonly parts: Parts) {}

  /** A token of its own for a test. */
  async scenario(): Promise<Scenario> {
    const scenario = await Scenario.begin(this, `token-${this.scenarios.length + 1}`);
    this.scenarios.push(scenario);
    return scenario;
  }

  /** Ends what the last test began. */
  async endScenario(): Promise<void> {
    await this.scenarios.at(-1)?.end();
  }

  /** A cold start of a function as the template declares it, with more variables. */
  async start(kind: Kind, node: NodeMajor, { variables, ...how }: StartedHow): Promise<ExecutionEnvironment> {
    const { lambda, dynamoDb, stack, synthesis } = this.parts;
    const fn = synthesis.functionOf(stack.functionOf(kind, node));
    return lambda.start({
      node,
      name: fn.name,
      code: fn.codeAsset,
      layer: NEEDS_NO_LAYER.has(kind) ? undefined : fn.layerAsset,
      handler: fn.handler,
      timeoutMs: fn.timeoutMs,
      memoryMb: MEMORY_MB,
      variables: { ...fn.variables, ...dynamoDb.environment, ...variables },
      ...how,
    });
  }

  async put(item: Readonly<Record<string, unknown>>): Promise<void> {
    await this.parts.documents.send(new PutCommand({ TableName: this.parts.tableName, Item: item }));
  }

  async item(tokenId: string): Promise<Readonly<Record<string, unknown>>> {
    const { documents, tableName } = this.parts;
    const { Item: item } = await documents.send(new GetCommand({ TableName: tableName, Key: { tokenId }, ConsistentRead: true }));
    if (!item) throw new Error(`The table has no item ${tokenId}.`);
    return item;
  }

  /** All that any function wrote to its log. */
  logs(): string {
    return this.scenarios.flatMap(({ environments }) => environments.flatMap(({ logs }) => logs)).join('\n');
  }

  /** What must not stand there. */
  secrets(): string[] {
    return this.scenarios.map(({ clientSecret }) => clientSecret);
  }

  async stop(): Promise<void> {
    await this.cleanUp.run();
  }
}

/** Of what the consumers ask: they read and write, and never put. */
function tokenIdOf({ Key: key }: JsonObject): string | undefined {
  return (key as { readonly tokenId?: { readonly S: string } } | undefined)?.tokenId?.S;
}
