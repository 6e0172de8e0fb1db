import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, GetCommand } from '@aws-sdk/lib-dynamodb';
import { App, Stack } from 'aws-cdk-lib';
import type { CfnFunction } from 'aws-cdk-lib/aws-lambda';
import { Secret, type CfnSecret } from 'aws-cdk-lib/aws-secretsmanager';
import { CleanUp } from '../../../demo/clean-up';
import { Fleet } from '../../../demo/fleet';
import type { FunctionSettings, InvocationResult } from '../../../demo/function-environment';
import { layOutFunction } from '../../../demo/lambda-layout';
import { Refresher } from '../../../demo/refresher';
import { RunLog, type Instance } from '../../../demo/run-log';
import { CONSUMER_TIMEOUT_S, PARALLEL_STARTS } from '../../../demo/settings';
import { Synthesis } from '../../../demo/synthesis';
import type { OAuthClient, TokenServer } from '../../../demo/token-server';
import type { OrdersStackProps } from '../../../examples/refreshers/orders-props';
import type { OrdersStack } from '../../../examples/refreshers/orders-stack';
import type { OwnRefresherStack } from '../../../examples/refreshers/own-refresher-stack';
import { AsyncInvocations, type FailureRecord } from '../../../local-aws/async-invocations';
import type { DeployedStack } from '../../../local-aws/deployed-stack';
import { InvokeApi, type InvocationRequest } from '../../../local-aws/invoke-api';
import { SecretsServer } from '../../../local-aws/secrets-server';
import { deploymentInvocation, scheduledInvocation, type TemplateInvocation } from '../../../local-aws/template-invocations';
import { EmbeddedDynamoDb } from '../../../testing-kit';
import { startThirdParty } from '../../support/third-party';
import { until } from '../../support/until';

/** What is deployed, and how many use it. */
export interface DeploymentOptions {
  readonly stack: new (scope: App, id: string, props: OrdersStackProps) => OrdersStack | OwnRefresherStack;
  readonly consumers: number;
  readonly tokenLifeMs: number;
}

/** The token, as the table holds it. */
export interface StoredToken {
  readonly accessToken: string;
  readonly generation: number;
}

/** Keeps every line. */
class FullLog extends RunLog {
  readonly lines: string[] = [];

  override noteLine(instance: Instance, line: string): ReturnType<RunLog['noteLine']> {
    this.lines.push(line);
    return super.noteLine(instance, line);
  }
}

interface Parts {
  readonly tokens: TokenServer;
  readonly lambda: InvokeApi;
  readonly secrets: SecretsServer;
  readonly secret: { readonly name: string; readonly arn: string };
  readonly client: OAuthClient;
  readonly stack: DeployedStack;
  readonly functions: { readonly consumer: FunctionSettings; readonly refresher: FunctionSettings };
  readonly refresherName: string;
  readonly fleet: Fleet;
  readonly log: FullLog;
  readonly readToken: () => Promise<StoredToken | undefined>;
  /** The table's time, and so everybody's. */
  readonly clock: { ahead: number };
}

/** A stack of `examples/refreshers`, run from what was synthesized alone: each function environment is a process, and all services are local ones. */
export class DeployedRefresher {
  static async start({ stack: StackClass, consumers, tokenLifeMs }: DeploymentOptions): Promise<DeployedRefresher> {
    const cleanUp = new CleanUp();
    const folder = mkdtempSync(join(tmpdir(), 'refresher-test-'));
    cleanUp.add(() => rmSync(folder, { recursive: true, force: true }));

    const client = { id: 'orders', secret: randomUUID() };
    const { tokens, api } = await startThirdParty(client, tokenLifeMs);
    cleanUp.stopLater(tokens);
    cleanUp.stopLater(api);
    const clock = { ahead: 0 };
    const dynamoDb = cleanUp.stopLater(await EmbeddedDynamoDb.start({ now: () => Date.now() + clock.ahead }));
    const secrets = cleanUp.stopLater(await SecretsServer.start());
    const lambda = cleanUp.stopLater(await InvokeApi.start());

    const app = new App({ outdir: join(folder, 'cdk.out') });
    const secretsStack = new Stack(app, 'CrmSecrets');
    const credentials = new Secret(secretsStack, 'CrmClient');
    const construct = new StackClass(app, 'Orders', { tokenUrl: tokens.tokenUrl, apiUrl: api.url, credentials });
    // On a machine with other things to do, the first invocations of all at once take their time.
    (construct.orders.node.defaultChild as CfnFunction).timeout = CONSUMER_TIMEOUT_S;
    const synthesis = new Synthesis(app, dynamoDb.clientConfig.region);
    const stack = synthesis.stackOf(construct);
    const secretId = secretsStack.getLogicalId(credentials.node.defaultChild as CfnSecret);
    const secret = { name: synthesis.stackOf(secretsStack).nameOf(secretId), arn: synthesis.stackOf(secretsStack).text({ Ref: secretId }) };

    const [table] = stack.logicalIdsOf('AWS::DynamoDB::GlobalTable');
    const { tableName } = await dynamoDb.createTableFromTemplate(stack.template, { logicalId: table, tableName: stack.nameOf(table) });
    const documents = DynamoDBDocumentClient.from(new DynamoDBClient(dynamoDb.clientConfig));
    cleanUp.add(() => documents.destroy());

    const refresher = synthesis.functionOf(construct.crm.function);
    const functions = {
      consumer: layOutFunction(join(folder, 'consumer'), synthesis.functionOf(construct.orders), { ...dynamoDb.environment, ...lambda.environment }),
      // It alone is told where the secrets are.
      refresher: layOutFunction(join(folder, 'refresher'), refresher, { ...dynamoDb.environment, AWS_ENDPOINT_URL_SECRETS_MANAGER: secrets.url }),
    };
    const log = new FullLog('refresher');
    const fleet = cleanUp.stopLater(new Fleet(functions.consumer, log));
    const readToken = async (): Promise<StoredToken | undefined> =>
      (await documents.send(new GetCommand({ TableName: tableName, Key: { tokenId: 'crm' } }))).Item as StoredToken | undefined;

    const deployed = new DeployedRefresher(cleanUp, {
      tokens, lambda, secrets, secret, client, stack, functions, refresherName: refresher.name, fleet, log, readToken, clock,
    });
    deployed.storeCredentials(client.secret);
    await deployed.replaceRefresher();
    await fleet.start(consumers, PARALLEL_STARTS, () => undefined);
    return deployed;
  }

  readonly asynchronous: AsyncInvocations;
  private refresher: Refresher | undefined;
  private running = 0;
  private readonly seenTokens = new Set<string>();

  private constructor(private readonly cleanUp: CleanUp, readonly parts: Parts) {
    this.asynchronous = new AsyncInvocations(parts.stack, async ms => this.pass(ms));
  }

  /** How many auth calls the provider got, and how often the refresher was invoked, by whomever. */
  get counts(): { readonly authCalls: number; readonly invocations: number } {
    return { authCalls: this.parts.tokens.authCalls.length, invocations: this.parts.lambda.requests.length };
  }

  /** What arrived in the refresher's failure queue. */
  get failures(): readonly FailureRecord[] {
    const { stack } = this.parts;
    return stack.logicalIdsOf('AWS::SQS::Queue').flatMap(logicalId => this.asynchronous.messagesOf(stack.text({ 'Fn::GetAtt': [logicalId, 'Arn'] })));
  }

  /** How old the newest token is, by everybody's clock. */
  get tokenAgeMs(): number {
    return this.now() - (this.parts.tokens.liveToken?.issuedAt ?? 0);
  }

  now(): number {
    return Date.now() + this.parts.clock.ahead;
  }

  /** Time passes, as far as the table's clock says. */
  pass(ms: number): void {
    this.parts.clock.ahead += ms;
  }

  storeCredentials(clientSecret: string): void {
    const { secrets, secret, client } = this.parts;
    secrets.put(secret.name, JSON.stringify({ clientId: client.id, clientSecret }));
  }

  /** Puts new environments in the place of the refresher's, as a deployment does. */
  async replaceRefresher(variables: Readonly<Record<string, string>> = {}): Promise<void> {
    const { functions, log, lambda, refresherName } = this.parts;
    await this.refresher?.stop();
    const settings = { ...functions.refresher, variables: { ...functions.refresher.variables, ...variables } };
    const refresher = this.refresher = this.cleanUp.stopLater(new Refresher(settings, log));
    lambda.define(refresherName, this.asynchronous.around(async request => {
      this.running++;
      return refresher.invoke(request).finally(() => { this.running--; });
    }));
  }

  /** Does what the template has done at its deployment. */
  async deploy(): Promise<void> {
    await this.send(deploymentInvocation(this.parts.stack));
  }

  /** Runs the schedule. */
  async runSchedule(at = new Date(this.now())): Promise<void> {
    await this.send(scheduledInvocation(this.parts.stack, at));
  }

  /** Delivers again what was delivered, one after the other and each kind of event once. */
  async redeliver(requests: readonly InvocationRequest[]): Promise<void> {
    const { functions, lambda } = this.parts;
    const functionArn = functions.refresher.functionArn;
    const different = new Map(requests.map(({ qualifier, payload }) => {
      const event = { functionArn: qualifier === undefined ? functionArn : `${functionArn}:${qualifier}`, payload: JSON.stringify(payload) };
      return [JSON.stringify(event), event];
    }));
    for (const event of different.values()) {
      await lambda.send(event.functionArn, event.payload);
      await this.settled();
    }
  }

  /** One invocation of every consumer, all at once. */
  async callAll(): Promise<InvocationResult[]> {
    const { fleet } = this.parts;
    return Promise.all(fleet.instances.map(async instance => fleet.environment(instance).invoke({})));
  }

  /** Resolves when no invocation of the refresher is under way. */
  async settled(): Promise<void> {
    await this.asynchronous.settled();
    await until('no invocation of the refresher is under way', () => this.running === 0);
  }

  async storedToken(): Promise<StoredToken> {
    const token = await this.parts.readToken();
    if (token?.accessToken === undefined) throw new Error('The table holds no token.');
    this.seenTokens.add(token.accessToken);
    return token;
  }

  /** Which generation each consumer took up last. The log comes through a pipe, and may be late. */
  generationsInUse(): (number | undefined)[] {
    const { fleet, log } = this.parts;
    return fleet.instances.map(instance => log.events.filter(event => event.instance === instance && event.type === 'adopted').at(-1)?.generation);
  }

  /** All that anybody may read: logs, what the refresher was invoked with, what failed. */
  readableText(): string {
    const { log, lambda } = this.parts;
    return [...log.lines, JSON.stringify(lambda.requests), JSON.stringify([this.failures, this.asynchronous.dropped])].join('\n');
  }

  /** What must not be in it. */
  secretTexts(): string[] {
    const { id, secret } = this.parts.client;
    return [secret, Buffer.from(`${id}:${secret}`).toString('base64'), ...this.seenTokens];
  }

  async stop(): Promise<void> {
    await this.cleanUp.run();
  }

  private async send({ functionArn, payload }: TemplateInvocation): Promise<void> {
    await this.parts.lambda.send(functionArn, payload);
  }
}
