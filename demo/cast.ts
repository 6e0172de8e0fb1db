import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { synthesizeApplication, type RefresherFunction } from './application';
import type { CleanUp } from './clean-up';
import { Fleet } from './fleet';
import { layOutFunction } from './lambda-layout';
import type { DemoMode } from './options';
import { ProtectedApi } from './protected-api';
import { Refresher } from './refresher';
import { RunLog } from './run-log';
import { AUTH_LATENCY_MS, tokenLifeMs } from './settings';
import { TokenServer, type OAuthClient } from './token-server';
import { InvokeApi } from '../local-aws/invoke-api';
import { SecretsServer } from '../local-aws/secrets-server';
import { deploymentInvocation } from '../local-aws/template-invocations';
import { EmbeddedDynamoDb } from '../testing-kit';

/** Who takes part. No function environment runs yet. */
export interface Cast {
  readonly tokens: TokenServer;
  readonly log: RunLog;
  readonly fleet: Fleet;
  /** In the mode `refresher`. */
  readonly refresher: Refresher | undefined;
  /** Does what the template has done at its deployment. */
  deploy(): Promise<void>;
}

/** What a cast is for. */
export interface CastOptions {
  readonly mode: DemoMode;
  readonly instances: number;
  /** Where the functions are laid out. */
  readonly folder: string;
}

/** Starts the servers, synthesizes the app of the mode and lays its functions out. What it starts is registered with `cleanUp`. */
export async function assembleCast({ mode, instances, folder }: CastOptions, cleanUp: CleanUp): Promise<Cast> {
  const client = mode === 'refresher' ? { id: 'orders', secret: randomUUID() } : undefined;
  const tokens = cleanUp.stopLater(await TokenServer.start({ latencyMs: AUTH_LATENCY_MS, tokenLifeMs: tokenLifeMs(instances), client }));
  const api = cleanUp.stopLater(await ProtectedApi.start(tokens));
  const dynamoDb = cleanUp.stopLater(await EmbeddedDynamoDb.start());
  const { region } = dynamoDb.clientConfig;
  const application = synthesizeApplication(mode, join(folder, 'cdk.out'), { authUrl: tokens.tokenUrl, apiUrl: api.url, region });
  const { stack, consumer, refresher } = application;
  const [table] = stack.logicalIdsOf('AWS::DynamoDB::GlobalTable');
  await dynamoDb.createTableFromTemplate(stack.template, { logicalId: table, tableName: stack.nameOf(table) });

  const log = new RunLog(mode);
  const fleetOf = (endpoints: Readonly<Record<string, string>>): Fleet =>
    cleanUp.stopLater(new Fleet(layOutFunction(join(folder, 'consumer'), consumer, endpoints), log));
  if (!refresher || !client) return { tokens, log, fleet: fleetOf(dynamoDb.environment), refresher: undefined, deploy: async () => undefined };

  const secrets = cleanUp.stopLater(await secretsWith(refresher, client));
  const lambda = cleanUp.stopLater(await InvokeApi.start());
  // It alone is told where the secrets are.
  const endpoints = { ...dynamoDb.environment, AWS_ENDPOINT_URL_SECRETS_MANAGER: secrets.url };
  const asked = cleanUp.stopLater(new Refresher(layOutFunction(join(folder, 'refresher'), refresher, endpoints), log));
  lambda.define(refresher.name, asked.invoke);
  return {
    tokens,
    log,
    fleet: fleetOf({ ...dynamoDb.environment, ...lambda.environment }),
    refresher: asked,
    deploy: async () => {
      const { functionArn, payload } = deploymentInvocation(stack);
      await lambda.send(functionArn, payload);
    },
  };
}

async function secretsWith({ secretName }: RefresherFunction, { id, secret }: OAuthClient): Promise<SecretsServer> {
  const secrets = await SecretsServer.start();
  secrets.put(secretName, JSON.stringify({ clientId: id, clientSecret: secret }));
  return secrets;
}
