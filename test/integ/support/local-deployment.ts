import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App, type CfnElement, Stack } from 'aws-cdk-lib';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { CfnSecret } from 'aws-cdk-lib/aws-secretsmanager';
import type { IConstruct } from 'constructs';
import { carryEsModule } from './es-module';
import { FunctionUrl } from './function-url';
import { CleanUp } from '../../../demo/clean-up';
import { FunctionPool } from '../../../demo/function-pool';
import { layOutFunction } from '../../../demo/lambda-layout';
import { Synthesis } from '../../../demo/synthesis';
import type { DeployedStack } from '../../../local-aws/deployed-stack';
import { InvokeApi } from '../../../local-aws/invoke-api';
import { KmsServer } from '../../../local-aws/kms-server';
import { SecretsServer } from '../../../local-aws/secrets-server';
import { EmbeddedDynamoDb } from '../../../testing-kit';
import { ServerState } from '../handlers/server-state';
import { StandInProvider } from '../handlers/stand-in-provider';
import type { AuthorizationServer } from '../stacks/authorization-server';
import { SERVER_ENV } from '../stacks/contract';

const CLIENT = JSON.stringify({ clientId: 'integ', clientSecret: 'made-up' });

/** Where everything is. `url` stands for the URLs of all functions that have one. */
interface Services {
  readonly dynamoDb: EmbeddedDynamoDb;
  readonly secrets: SecretsServer;
  readonly kms: KmsServer;
  readonly lambda: InvokeApi;
  readonly url: FunctionUrl;
}

/**
 * A stack of an integration test, run from its template and assets on this machine: each function environment is a process, the tables are embedded, and secrets,
 * keys and Lambda's Invoke are local. There are no policies, and nothing happens by itself: neither deployment nor schedule.
 */
export class LocalDeployment<S extends Stack> {
  static async start<T extends Stack>(declare: (app: App) => T): Promise<LocalDeployment<T>> {
    const cleanUp = new CleanUp();
    const folder = mkdtempSync(join(tmpdir(), 'integ-'));
    cleanUp.add(() => rmSync(folder, { recursive: true, force: true }));
    const services: Services = {
      dynamoDb: cleanUp.stopLater(await EmbeddedDynamoDb.start()),
      secrets: cleanUp.stopLater(await SecretsServer.start()),
      kms: cleanUp.stopLater(await KmsServer.start()),
      lambda: cleanUp.stopLater(await InvokeApi.start()),
      url: cleanUp.stopLater(await FunctionUrl.start()),
    };
    const app = new App({ outdir: join(folder, 'cdk.out') });
    const stack = declare(app);
    const synthesis = new Synthesis(app, services.dynamoDb.clientConfig.region);
    const deployment = new LocalDeployment(stack, synthesis, services, { cleanUp, folder });
    await deployment.createTables();
    deployment.storeSecrets();
    deployment.createKeys();
    deployment.defineFunctions();
    return deployment;
  }

  private readonly deployed: DeployedStack;
  private readonly pools = new Map<string, FunctionPool>();

  private constructor(
    readonly stack: S,
    readonly synthesis: Synthesis,
    private readonly services: Services,
    private readonly parts: { readonly cleanUp: CleanUp; readonly folder: string },
  ) {
    this.deployed = synthesis.stackOf(stack);
  }

  /** For clients of this process. */
  get environment(): Readonly<Record<string, string>> {
    const { dynamoDb, secrets, kms, lambda: api } = this.services;
    return { ...kms.environment, ...dynamoDb.environment, AWS_ENDPOINT_URL_SECRETS_MANAGER: secrets.url, ...api.environment };
  }

  /** The variables of a function, with addresses that lead somewhere. */
  variablesOf(fn: lambda.IFunction): Record<string, string> {
    const variables = Object.entries(this.synthesis.functionOf(fn).variables);
    return Object.fromEntries(variables.map(([name, value]) => [name, this.withLocalUrl(value)]));
  }

  /** Has this process's clients come here. */
  enter(): void {
    Object.assign(process.env, this.environment);
    this.parts.cleanUp.add(() => {
      for (const name of Object.keys(this.environment)) delete process.env[name];
    });
  }

  /** Answers requests to the URL of the server in this process: a machine with two cores has no room for an environment for each. */
  serve({ function: fn }: AuthorizationServer): StandInProvider {
    const variables = this.variablesOf(fn);
    const provider = new StandInProvider(new ServerState(variables[SERVER_ENV.TABLE] ?? ''), variables[SERVER_ENV.SECRET] ?? '');
    this.services.url.handle = async event => provider.answer(event);
    return provider;
  }

  /** The physical name of what a construct makes. */
  nameOf(construct: IConstruct): string {
    return this.deployed.nameOf(this.stack.getLogicalId(construct.node.defaultChild as CfnElement));
  }

  /** Invokes a function; rejects where it fails. */
  async invoke(fn: lambda.IFunction, event: object): Promise<unknown> {
    const { name } = this.synthesis.functionOf(fn);
    const pool = this.pools.get(name);
    if (!pool) throw new Error(`The stack has no function ${name}.`);
    const { payload, functionError } = await pool.invoke(event);
    if (functionError) throw new Error(`${name} failed: ${JSON.stringify(payload)}`);
    return payload;
  }

  async stop(): Promise<void> {
    await this.parts.cleanUp.run();
  }

  private withLocalUrl(value: string): string {
    const { url } = this.services;
    return value.replace(/https:\/\/[^/]+\.lambda-url\.example\.com\//g, url.url);
  }

  private async createTables(): Promise<void> {
    for (const logicalId of this.deployed.logicalIdsOf('AWS::DynamoDB::GlobalTable')) {
      await this.services.dynamoDb.createTableFromTemplate(this.deployed.template, { logicalId, tableName: this.deployed.nameOf(logicalId) });
    }
  }

  private storeSecrets(): void {
    const secrets = this.stack.node.findAll().filter(construct => construct instanceof CfnSecret);
    for (const secret of secrets) this.services.secrets.put(this.deployed.nameOf(this.stack.getLogicalId(secret)), CLIENT);
  }

  private createKeys(): void {
    for (const logicalId of this.deployed.logicalIdsOf('AWS::KMS::Key')) {
      this.services.kms.createKey(this.deployed.text({ 'Fn::GetAtt': [logicalId, 'Arn'] }).split('/')[1]);
    }
  }

  private defineFunctions(): void {
    for (const fn of this.stack.node.findAll().filter(construct => construct instanceof lambda.Function)) {
      const { name } = this.synthesis.functionOf(fn);
      const { services, parts } = this;
      const settings = layOutFunction(join(parts.folder, name), this.synthesis.functionOf(fn), { ...this.environment, ...this.variablesOf(fn) });
      const variables = { ...settings.variables, ...carryEsModule(settings.taskRoot) };
      const pool = parts.cleanUp.stopLater(new FunctionPool({ ...settings, variables }, () => undefined));
      this.pools.set(name, pool);
      services.lambda.define(name, async ({ payload, qualifier }) => pool.invoke(payload, qualifier));
    }
  }
}
