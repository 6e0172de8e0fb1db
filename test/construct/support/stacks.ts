import { App, Duration, Stack, StackProps } from 'aws-cdk-lib';
import { Annotations, Match, Template } from 'aws-cdk-lib/assertions';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';

/** A statement as a template shows it. */
export interface Statement {
  readonly Effect: string;
  readonly Action: unknown;
  readonly Resource: unknown;
  readonly Condition?: unknown;
}

/** A function as a template shows it. */
export interface FunctionProperties {
  readonly Environment?: { readonly Variables: { readonly [name: string]: unknown } };
  readonly Layers?: unknown[];
}

export const ACCOUNT = '111111111111';
export const OTHER_ACCOUNT = '222222222222';
export const REGION = 'eu-west-1';

export function newStack(props: StackProps = {}, app: App = new App()): Stack {
  return new Stack(app, `Stack${app.node.children.length}`, props);
}

/** A function that is attached without any warning, unless the properties say otherwise. */
export function newFunction(scope: Construct, id: string, props: Partial<lambda.FunctionProps> = {}): lambda.Function {
  return new lambda.Function(scope, id, {
    runtime: lambda.Runtime.NODEJS_22_X,
    handler: 'index.handler',
    code: lambda.Code.fromInline('exports.handler = async () => {};'),
    timeout: Duration.seconds(15),
    ...props,
  });
}

/** All statements of all policies in the stack, in order; or of those whose logical id begins like this. */
export function statementsIn(stack: Stack, prefix = ''): Statement[] {
  const template = Template.fromStack(stack);
  const policies = ['AWS::IAM::Policy', 'AWS::IAM::ManagedPolicy'].flatMap(type => Object.entries(template.findResources(type)))
    .filter(([id]) => id.startsWith(prefix)).map(([, policy]) => policy);
  return policies.flatMap(policy => policy.Properties.PolicyDocument.Statement as Statement[]);
}

/** The warnings of this library, as `[construct path, message]`. */
export function warningsIn(stack: Stack): [string, string][] {
  return Annotations.fromStack(stack).findWarning('*', Match.anyValue())
    .map(({ id, entry }): [string, string] => [id, String(entry.data)])
    .filter(([, message]) => message.includes('[ack: cdk-shared-token-table:'));
}

/** The ids of this library's warnings. */
export function warningIdsIn(stack: Stack): string[] {
  return warningsIn(stack).map(([, message]) => /\[ack: cdk-shared-token-table:(\w+)\]/.exec(message)![1]);
}

export function variablesOf(stack: Stack, fn: Construct): { readonly [name: string]: unknown } {
  return propertiesOf(stack, fn).Environment?.Variables ?? {};
}

export function propertiesOf(stack: Stack, construct: Construct): FunctionProperties {
  const logicalId = stack.getLogicalId(construct.node.defaultChild as lambda.CfnFunction);
  return Template.fromStack(stack).toJSON().Resources[logicalId].Properties;
}
