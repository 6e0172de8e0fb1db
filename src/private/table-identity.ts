import { Stack, Stage, Token, Tokenization, Reference as CfnReference } from 'aws-cdk-lib';
import * as dynamodb from 'aws-cdk-lib/aws-dynamodb';
import { IConstruct } from 'constructs';
import { Referred } from './reference';

/**
 * By which a table is known to be the same under two constructs of an app: one defines and another imports it, or two import it.
 *
 * What is known only at deployment counts as the same where it is the same attribute of the same resource, or the same expression in the same stack. Two values
 * that merely look alike in the templates of two stacks (`{ Ref: Table }`, the name of the stack) do not.
 */
export function identityOf(scope: IConstruct, { name, arn, env }: Referred): string {
  const resource = resourceOf(name) ?? resourceOf(arn);
  if (resource && !isTable(resource)) return `${resource.node.addr}:${textOf(scope, name)}`;
  const tableName = resource ? resource.tableName : name;
  if (resource && (tableName === undefined || Token.isUnresolved(tableName))) return resource.node.addr;
  const { account, region } = resource ? Stack.of(resource) : env;
  return [account, region, tableName!].map(value => textOf(resource ?? scope, value)).join(':');
}

/** Whose attribute a value is, where it is one and nothing else. */
export function resourceOf(value: unknown): IConstruct | undefined {
  const token = Token.isUnresolved(value) ? Tokenization.reverse(value, { failConcat: false }) : undefined;
  return CfnReference.isReference(token) ? token.target : undefined;
}

function isTable(resource: IConstruct): resource is dynamodb.CfnTable | dynamodb.CfnGlobalTable {
  return dynamodb.CfnTable.isCfnResource(resource) && 'tableName' in resource;
}

/**
 * The stacks of a stage that name no account or region are deployed to the same, as CDK assumes for their references, too. All else that is not known is of its
 * stack.
 */
function textOf(scope: IConstruct, value: string): string {
  const text: unknown = Stack.of(scope).resolve(value);
  if (typeof text === 'string' && !text.includes('{{resolve:')) return text;
  const json = JSON.stringify(text);
  const isOfEnvironment = ['{"Ref":"AWS::AccountId"}', '{"Ref":"AWS::Region"}'].includes(json);
  return `${isOfEnvironment ? Stage.of(scope)?.node.addr ?? scope.node.root.node.addr : Stack.of(scope).node.addr}${json}`;
}
