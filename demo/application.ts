import { App, Stack } from 'aws-cdk-lib';
import type { CfnFunction, IFunction } from 'aws-cdk-lib/aws-lambda';
import { CfnSecret, Secret } from 'aws-cdk-lib/aws-secretsmanager';
import type { DemoMode } from './options';
import { AUTH_LIMIT_MS, CONSUMER_TIMEOUT_S } from './settings';
import { Synthesis, type SynthesizedFunction } from './synthesis';
import { OrdersStack } from '../examples/refreshers/orders-stack';
import { SendMessageStack } from '../examples/send-message/send-message-stack';
import type { DeployedStack } from '../local-aws/deployed-stack';
import { ENV } from '../src/private/contract';

/** What was synthesized. */
export interface Application {
  readonly stack: DeployedStack;
  /** The function that uses the token. */
  readonly consumer: SynthesizedFunction;
  /** The function that refreshes it, where that is another one. */
  readonly refresher: RefresherFunction | undefined;
}

export interface RefresherFunction extends SynthesizedFunction {
  /** The secret with its credentials. */
  readonly secretName: string;
}

/** Where the third party is, and where all is deployed. */
export interface Surroundings {
  readonly authUrl: string;
  readonly apiUrl: string;
  readonly region: string;
}

/** Synthesizes the example app of a mode into `outdir`, as `cdk synth` does. */
export function synthesizeApplication(mode: DemoMode, outdir: string, surroundings: Surroundings): Application {
  const app = new App({ outdir });
  return mode === 'refresher' ? withRefresher(app, surroundings) : reactive(app, surroundings);
}

function reactive(app: App, { authUrl, apiUrl, region }: Surroundings): Application {
  const stack = new SendMessageStack(app, 'SendMessage', { authUrl, apiUrl });
  stack.sendMessage.addEnvironment('AUTH_LIMIT_MS', String(AUTH_LIMIT_MS));
  setTimeoutOf(stack.sendMessage, CONSUMER_TIMEOUT_S);
  const synthesis = new Synthesis(app, region);
  return { stack: synthesis.stackOf(stack), consumer: synthesis.functionOf(stack.sendMessage), refresher: undefined };
}

function withRefresher(app: App, { authUrl, apiUrl, region }: Surroundings): Application {
  const secrets = new Stack(app, 'CrmSecrets');
  const credentials = new Secret(secrets, 'CrmClient', { description: 'JSON with clientId and clientSecret' });
  const stack = new OrdersStack(app, 'Orders', { tokenUrl: authUrl, apiUrl, credentials });
  setTimeoutOf(stack.orders, CONSUMER_TIMEOUT_S);
  const refresher = stack.crm.function.node.defaultChild as CfnFunction;
  refresher.addPropertyOverride(`Environment.Variables.${ENV.AUTH_LIMIT_MS}`, String(AUTH_LIMIT_MS));
  const synthesis = new Synthesis(app, region);
  const secretName = synthesis.stackOf(secrets).nameOf(secrets.getLogicalId(credentials.node.defaultChild as CfnSecret));
  return {
    stack: synthesis.stackOf(stack),
    consumer: synthesis.functionOf(stack.orders),
    refresher: { ...synthesis.functionOf(stack.crm.function), secretName },
  };
}

function setTimeoutOf(fn: IFunction, seconds: number): void {
  (fn.node.defaultChild as CfnFunction).timeout = seconds;
}
