import { App, Duration, Stack, type CfnElement } from 'aws-cdk-lib';
import { TableEncryptionV2 } from 'aws-cdk-lib/aws-dynamodb';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as kms from 'aws-cdk-lib/aws-kms';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as scheduler from 'aws-cdk-lib/aws-scheduler';
import * as secretsmanager from 'aws-cdk-lib/aws-secretsmanager';
import * as sqs from 'aws-cdk-lib/aws-sqs';
import * as ssm from 'aws-cdk-lib/aws-ssm';
import type { IConstruct } from 'constructs';
import { ACCOUNT, arnOf, REGION, TABLE } from './aws-request';
import type { Cloud, PolicyStatement, Principal } from './iam';
import { DeployedStack, type Template } from '../../../local-aws/deployed-stack';
import { SharedTokenTable, TokenAccess, type TokenRefresher, TokenSource } from '../../../src';

/** How a table keeps its tokens. */
export const KINDS = ['plain', 'at rest', 'encrypted'] as const;
export type Kind = typeof KINDS[number];

/** What is granted for, by the form of its conditions. `crm` is the token of the refresher. */
export const SELECTIONS = { ids: ['crm', 'a b'], pattern: ['bot-*'], both: ['crm', 'bot-*'], all: ['*'] } as const;
export type Selection = keyof typeof SELECTIONS;

/** Who has a grant. */
export const LEVELS = ['reading', 'refreshing', 'operating'] as const;
export type Level = typeof LEVELS[number];

/** What a stack has for a test. */
export interface PolicyStack {
  readonly cloud: Cloud;
  /** A role for each grant. */
  readonly granted: Readonly<Record<Level, Readonly<Record<Selection, Principal>>>>;
  /** A role for each grant for `crm` alone. */
  readonly single: Readonly<Record<Level, Principal>>;
  /** Functions that `attachTo` gave what they need, for the token `crm`: of the table, and of the refresher. */
  readonly attached: { readonly reading: Principal; readonly refreshing: Principal; readonly asking: Principal };
  /** `refresher.grantRead`. */
  readonly asking: Principal;
  /** The function of the refresher. */
  readonly refresher: Principal;
  /** The scheduler's role. */
  readonly schedule: Principal;
  /** What requests name. */
  readonly names: {
    readonly refresherName: string;
    readonly secretArn: string;
    readonly parameterName: string;
    readonly queueArn: string;
    readonly logGroupArn: string;
    /** At rest, and of the tokens. */
    readonly tableKey: string | undefined;
    readonly tokenKey: string | undefined;
  };
}

const PARAMETER = 'crm/client';

/** Synthesizes a table of a kind, everything that can be granted, and a refresher; and resolves what its template says. */
export function policyStackOf(kind: Kind): PolicyStack {
  const stack = new Stack(new App(), 'Stack', { env: { account: ACCOUNT, region: REGION } });
  const keyOf = (id: string) => new kms.Key(stack, id);
  const tableKey = kind === 'at rest' ? keyOf('TableKey') : undefined;
  const tokenKey = kind === 'encrypted' ? keyOf('TokenKey') : undefined;
  const otherKey = kind === 'plain' ? undefined : keyOf('OtherKey');
  const tokens = new SharedTokenTable(stack, 'Tokens', {
    tableName: TABLE,
    ...(tableKey && { encryption: TableEncryptionV2.customerManagedKey(tableKey) }),
    tokenEncryptionKey: tokenKey,
  });

  const grant = (level: Level, name: string, ids: readonly string[]) => {
    const role = newRole(stack, `${level}-${name}`);
    if (level === 'reading') tokens.grantRead(role, ...ids);
    else if (level === 'refreshing') tokens.grantRefresh(role, ...ids);
    else tokens.grantOperate(role, ...ids);
    return [name, role] as const;
  };
  const roles = Object.fromEntries(LEVELS.map(level => [
    level, Object.fromEntries(Object.entries(SELECTIONS).map(([selection, ids]) => grant(level, selection, ids))),
  ])) as Record<Level, Record<Selection, iam.Role>>;
  const single = Object.fromEntries(LEVELS.map(level => [level, grant(level, 'single', ['crm'])[1]])) as Record<Level, iam.Role>;

  const attached = { reading: newFunction(stack, 'Reading'), refreshing: newFunction(stack, 'Refreshing'), asking: newFunction(stack, 'Asking') };
  tokens.attachTo(attached.reading, { access: TokenAccess.READ, tokenIds: ['crm'] });
  tokens.attachTo(attached.refreshing, { access: TokenAccess.REFRESH, tokenIds: ['crm'] });
  const secret = new secretsmanager.Secret(stack, 'Secret', { encryptionKey: otherKey });
  const refresher = tokens.addRefresher('Refresher', {
    tokenId: 'crm',
    // Where tokens are encrypted the credentials are in a parameter, and the failures encrypted, too: each way once.
    source: TokenSource.refreshToken({
      tokenUrl: 'https://auth.example.com/token',
      ...(kind === 'encrypted'
        ? { credentialsParameter: ssm.StringParameter.fromSecureStringParameterAttributes(stack, 'Parameter', { parameterName: `/${PARAMETER}`, encryptionKey: otherKey }) }
        : { credentials: secret }),
    }),
    schedule: scheduler.ScheduleExpression.rate(Duration.minutes(30)),
    ...(kind === 'encrypted' && { failureQueue: new sqs.Queue(stack, 'Failures', { encryption: sqs.QueueEncryption.KMS, encryptionMasterKey: otherKey }) }),
  });
  refresher.attachTo(attached.asking);
  const asking = newRole(stack, 'asking');
  refresher.grantRead(asking);
  return new Resolved(stack, { roles, single, attached, asking, refresher, tokens, secret, tableKey, tokenKey, otherKey }).stack;
}

interface Parts {
  readonly roles: Record<Level, Record<Selection, iam.Role>>;
  readonly single: Record<Level, iam.Role>;
  readonly attached: Record<'reading' | 'refreshing' | 'asking', lambda.Function>;
  readonly asking: iam.Role;
  readonly refresher: TokenRefresher;
  readonly tokens: SharedTokenTable;
  readonly secret: secretsmanager.Secret;
  readonly tableKey: kms.Key | undefined;
  readonly tokenKey: kms.Key | undefined;
  readonly otherKey: kms.Key | undefined;
}

/** The template of a stack, and what becomes of it. */
class Resolved {
  readonly stack: PolicyStack;
  private readonly deployed: DeployedStack;

  constructor(private readonly source: Stack, parts: Parts) {
    const template = (source.node.root as App).synth().getStackByName(source.stackName).template as Template;
    this.deployed = new DeployedStack(template, { stackName: source.stackName, region: REGION });
    const { roles, single, attached, asking, refresher, tokens, secret, tableKey, tokenKey, otherKey } = parts;
    const text = (value: string) => this.deployed.text(source.resolve(value));
    const arnOfKey = (key: kms.Key | undefined) => key && text(key.keyArn);
    const queueArn = text(refresher.failureQueue.queueArn);
    const keys = [
      [text(tokens.tableArn), arnOfKey(tableKey)],
      ...(['queues', 'secrets', 'parameters'] as const).map(what => [
        { queues: tokenKey && queueArn, secrets: text(secret.secretArn), parameters: tokenKey && arnOf('ssm', `parameter/${PARAMETER}`) }[what], arnOfKey(otherKey),
      ]),
    ].filter((pair): pair is [string, string] => pair.every(part => part !== undefined));
    const mapped = <K extends string, T, R>(of: Record<K, T>, to: (value: T) => R) => (
      Object.fromEntries(Object.entries(of).map(([name, value]) => [name, to(value as T)])) as Record<K, R>);
    this.stack = {
      cloud: { account: ACCOUNT, keys: new Map(keys), resourcePolicies: this.keyPolicies() },
      granted: mapped(roles, selections => mapped(selections, role => this.principal(role))),
      single: mapped(single, role => this.principal(role)),
      attached: mapped(attached, fn => this.principal(fn.role!)),
      asking: this.principal(asking),
      refresher: this.principal((refresher.function as lambda.Function).role!),
      schedule: this.principal(refresher.node.findChild('SchedulerRole')),
      names: {
        refresherName: text(refresher.function.functionName),
        secretArn: text(secret.secretArn),
        parameterName: `/${PARAMETER}`,
        queueArn,
        logGroupArn: text((refresher.function as lambda.Function).logGroup.logGroupArn),
        tableKey: arnOfKey(tableKey),
        tokenKey: arnOfKey(tokenKey),
      },
    };
  }

  /** What the policies of a role say; CDK attaches them by its name. Managed ones are AWS's, for the log of a function alone. */
  private principal(role: IConstruct): Principal {
    const logicalId = this.source.getLogicalId(role.node.defaultChild as CfnElement);
    const name = this.deployed.nameOf(logicalId);
    const { Policies, ManagedPolicyArns = [] } = this.deployed.resolve(this.deployed.properties(logicalId)) as {
      readonly Policies?: unknown; readonly ManagedPolicyArns?: readonly unknown[];
    };
    const others = [...(Policies ? ['inline'] : []), ...ManagedPolicyArns.filter(arn => !JSON.stringify(arn).includes('AWSLambdaBasicExecutionRole')),
      ...this.deployed.logicalIdsOf('AWS::IAM::ManagedPolicy')];
    if (others.length > 0) throw new Error(`${logicalId} has policies that are not looked at: ${JSON.stringify(others)}`);
    const documents = this.deployed.logicalIdsOf('AWS::IAM::Policy').map(id => this.deployed.resolve(this.deployed.properties(id)) as {
      readonly Roles: readonly string[]; readonly PolicyDocument: { readonly Statement: readonly PolicyStatement[] };
    });
    const statements = documents.filter(({ Roles }) => Roles.includes(name)).flatMap(({ PolicyDocument }) => PolicyDocument.Statement);
    return { arn: `arn:aws:iam::${ACCOUNT}:role/${name}`, statements };
  }

  /** By which a key lets in who has permission by policies of the account. */
  private keyPolicies(): Map<string, readonly PolicyStatement[]> {
    return new Map(this.deployed.logicalIdsOf('AWS::KMS::Key').map(id => {
      const { Statement } = this.deployed.resolve(this.deployed.properties(id).KeyPolicy) as { readonly Statement: readonly PolicyStatement[] };
      return [this.deployed.text({ 'Fn::GetAtt': [id, 'Arn'] }), Statement];
    }));
  }
}

function newRole(stack: Stack, id: string): iam.Role {
  return new iam.Role(stack, id, { assumedBy: new iam.ServicePrincipal('ecs-tasks.amazonaws.com') });
}

function newFunction(stack: Stack, id: string): lambda.Function {
  return new lambda.Function(stack, id, {
    runtime: lambda.Runtime.NODEJS_22_X, handler: 'index.handler', code: lambda.Code.fromInline('exports.handler = async () => {};'), timeout: Duration.seconds(15),
  });
}
