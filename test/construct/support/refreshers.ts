import { Stack, StackProps } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import * as secretsmanager from 'aws-cdk-lib/aws-secretsmanager';
import { ACCOUNT, newStack, REGION } from './stacks';
import { SharedTokenTable, TokenRefresher, TokenRefresherProps, TokenSource } from '../../../src';

export const TOKEN_URL = 'https://auth.example.com/oauth/token';
export const SECRET_ARN = `arn:aws:secretsmanager:${REGION}:${ACCOUNT}:secret:crm-client-AbCdEf`;
export const TABLE_NAME = { Ref: 'TokensTableFC8D39D1' };
export const TABLE_ARN = { 'Fn::GetAtt': ['TokensTableFC8D39D1', 'Arn'] };

export interface Setup {
  readonly stack: Stack;
  readonly tokens: SharedTokenTable;
}

export function setUp(props: StackProps = { env: { account: ACCOUNT, region: REGION } }): Setup {
  const stack = newStack(props);
  return { stack, tokens: new SharedTokenTable(stack, 'Tokens') };
}

/** A secret that is known by its ARN, once in each stack. */
export function credentials(stack: Stack): secretsmanager.ISecret {
  const id = 'Credentials';
  return stack.node.tryFindChild(id) as secretsmanager.ISecret | undefined ?? secretsmanager.Secret.fromSecretCompleteArn(stack, id, SECRET_ARN);
}

/** A source that needs nothing but a secret of this name. */
export function source(stack: Stack): TokenSource {
  return TokenSource.clientCredentials({ tokenUrl: TOKEN_URL, credentials: credentials(stack) });
}

/** The refresher of `crm`, without any warning unless the properties say otherwise. */
export function addCrm({ stack, tokens }: Setup, props: Partial<TokenRefresherProps> = {}): TokenRefresher {
  return tokens.addRefresher('Crm', { tokenId: 'crm', source: source(stack), ...props });
}

/** All properties of a resource of this kind whose logical id begins like this, of which there must be one. */
export function propertiesOfOne(stack: Stack, type: string, prefix = ''): { readonly [name: string]: unknown } {
  return one(stack, type, prefix).Properties ?? {};
}

export interface Resource {
  readonly Properties?: { readonly [name: string]: unknown };
  readonly DependsOn?: string[];
  readonly DeletionPolicy?: string;
}

export function one(stack: Stack, type: string, prefix = ''): Resource {
  const found = Object.entries(Template.fromStack(stack).findResources(type)).filter(([id]) => id.startsWith(prefix));
  expect(found.map(([id]) => id)).toEqual([expect.any(String)]);
  return found[0][1] as Resource;
}

export function idOf(stack: Stack, type: string, prefix = ''): string {
  const [id] = Object.keys(Template.fromStack(stack).findResources(type)).filter(candidate => candidate.startsWith(prefix));
  return id;
}
