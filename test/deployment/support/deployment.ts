import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { PutSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { DynamoDBDocumentClient, GetCommand } from '@aws-sdk/lib-dynamodb';
import { Stack, type CfnElement } from 'aws-cdk-lib';
import type { IConstruct } from 'constructs';
import { askAws } from './aws';
import { CdkToolkit } from './cdk-toolkit';
import { ExampleApp, STACK_NAMES, type StackName } from './example-app';
import { LocalCloud } from './local-cloud';
import { StackThirdParty } from './stack-third-party';
import { CleanUp } from '../../../demo/clean-up';

/** How an invocation ended. */
export interface Invocation {
  /** Absent where nobody waits for it. */
  readonly payload?: unknown;
  /** Lambda's word for an error of the function. */
  readonly error?: string | undefined;
  /** The end of what the function printed. */
  readonly log: string;
}

/** How to invoke. */
export interface InvocationOptions {
  readonly event?: unknown;
  /** Whether nobody waits for the answer. */
  readonly asynchronous?: boolean;
}

/** The examples, on their way into a local cloud: an account that is prepared, and a third party for each stack. */
export class Deployment {
  static async start(): Promise<Deployment> {
    const cleanUp = new CleanUp();
    try {
      const client = { id: 'orders', secret: randomUUID() };
      const parties = new Map<StackName, StackThirdParty>();
      for (const stack of STACK_NAMES) {
        // These do not send their credentials where the server of the demo looks for them.
        parties.set(stack, cleanUp.stopLater(await StackThirdParty.start(stack === 'SendMessage' || stack === 'Report' ? undefined : client)));
      }
      const cloud = cleanUp.stopLater(await LocalCloud.start());
      const deployment = new Deployment(cleanUp, cloud, parties, client.id);
      await deployment.toolkit.bootstrap();
      const { app } = deployment;
      await deployment.toolkit.deploy(app.outdir, app.secrets.stackName);
      await deployment.storeCredentials(client.secret);
      return deployment;
    } catch (error) {
      await cleanUp.run();
      throw error;
    }
  }

  readonly app: ExampleApp;
  readonly toolkit: CdkToolkit;
  readonly lambda: LambdaClient;
  readonly dynamoDb: DynamoDBClient;
  readonly documents: DynamoDBDocumentClient;
  private readonly secrets: SecretsManagerClient;
  private readonly known = new Map<string, Promise<ReadonlyMap<string, string>>>();

  private constructor(
    private readonly cleanUp: CleanUp,
    readonly cloud: LocalCloud,
    private readonly parties: ReadonlyMap<StackName, StackThirdParty>,
    private readonly clientId: string,
  ) {
    this.toolkit = new CdkToolkit(cloud);
    this.app = this.synthesize('cdk.out');
    this.lambda = new LambdaClient(cloud.clientConfig);
    this.dynamoDb = new DynamoDBClient(cloud.clientConfig);
    this.secrets = new SecretsManagerClient(cloud.clientConfig);
    this.documents = DynamoDBDocumentClient.from(this.dynamoDb);
  }

  thirdParty(stack: StackName): StackThirdParty {
    const party = this.parties.get(stack);
    if (!party) throw new Error(`${stack} has no third party`);
    return party;
  }

  /** @param layer what the runtime's layer holds, if not what this library brings */
  synthesize(name: string, layer?: string): ExampleApp {
    const outdir = join(this.cloud.folder, name);
    return new ExampleApp({ outdir, endpoints: stack => this.thirdParty(stack), ...(layer !== undefined && { layer }) });
  }

  async deploy(...stacks: readonly Stack[]): Promise<void> {
    await this.toolkit.deploy(this.app.outdir, ...stacks.map(({ stackName }) => stackName));
  }

  /** The name that a resource was given when it was created first; as CloudFormation says. */
  async physicalId(construct: IConstruct): Promise<string> {
    const stack = Stack.of(construct);
    const known = this.known.get(stack.stackName) ?? this.physicalIds(stack);
    this.known.set(stack.stackName, known);
    const id = (await known).get(logicalIdOf(construct));
    if (id === undefined) throw new Error(`${stack.stackName} has no resource for ${construct.node.path}`);
    return id;
  }

  /** Of all resources that a stack has now, by their logical ids. */
  async physicalIds({ stackName }: Stack): Promise<ReadonlyMap<string, string>> {
    const [{ StackResources }] = await askAws<[{ StackResources: { LogicalResourceId: string; PhysicalResourceId: string }[] }]>(
      this.cloud, ['cloudformation', 'describe_stack_resources', { StackName: stackName }],
    );
    return new Map(StackResources.map(({ LogicalResourceId, PhysicalResourceId }) => [LogicalResourceId, PhysicalResourceId]));
  }

  /** @param fn its name or ARN, or the function of the app */
  async invoke(fn: string | IConstruct, { event = {}, asynchronous = false }: InvocationOptions = {}): Promise<Invocation> {
    const { Payload, FunctionError, LogResult } = await this.lambda.send(new InvokeCommand({
      FunctionName: typeof fn === 'string' ? fn : await this.physicalId(fn),
      InvocationType: asynchronous ? 'Event' : 'RequestResponse',
      LogType: asynchronous ? 'None' : 'Tail',
      Payload: JSON.stringify(event),
    }));
    const text = Buffer.from(Payload ?? []).toString();
    return { ...(text && { payload: JSON.parse(text) as unknown }), error: FunctionError, log: Buffer.from(LogResult ?? '', 'base64').toString() };
  }

  /** Several at once. */
  async invokeAtOnce(count: number, fn: IConstruct): Promise<readonly Invocation[]> {
    return Promise.all(Array.from({ length: count }, async () => this.invoke(fn)));
  }

  /** What the schedule of a stack would invoke now: its own target and input, as EventBridge Scheduler has them. */
  async scheduledRun(schedule: IConstruct): Promise<{ readonly functionArn: string; readonly event: unknown }> {
    const [{ Target }] = await askAws<[{ Target: { Arn: string; Input: string } }]>(
      this.cloud, ['scheduler', 'get_schedule', { Name: await this.physicalId(schedule) }],
    );
    // The scheduler writes whole seconds.
    const time = new Date().toISOString().replace(/\.\d+/, '');
    return { functionArn: Target.Arn, event: JSON.parse(Target.Input.replace('<aws.scheduler.scheduled-time>', time)) as unknown };
  }

  /** The item of a token, as the account's owner sees it. */
  async item(table: IConstruct, tokenId = 'crm'): Promise<Record<string, unknown> | undefined> {
    const { Item } = await this.documents.send(new GetCommand({ TableName: await this.physicalId(table), Key: { tokenId }, ConsistentRead: true }));
    return Item;
  }

  async stop(): Promise<void> {
    await this.cleanUp.run();
  }

  /** Fills the secret, as a person does before the first deployment. */
  private async storeCredentials(clientSecret: string): Promise<void> {
    const SecretId = await this.physicalId(this.app.credentials);
    await this.secrets.send(new PutSecretValueCommand({ SecretId, SecretString: JSON.stringify({ clientId: this.clientId, clientSecret }) }));
  }
}

/** That the API accepted the token of each. */
export function expectAllServed(invocations: readonly Invocation[]): void {
  expect(invocations.map(({ payload }) => payload)).toEqual(invocations.map(() => ({ statusCode: 200, body: '{"status":"sent"}' })));
}

/** @param construct one that is made of a resource of the same name */
function logicalIdOf(construct: IConstruct): string {
  return Stack.of(construct).getLogicalId((construct.node.defaultChild ?? construct) as CfnElement);
}
