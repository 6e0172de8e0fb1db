import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { App, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { rowsBelow } from './support/document';
import { EXAMPLE_APPS, exampleApp } from './support/example-apps';
import { Finding, rowsOf, unneeded, unsuppressed } from './support/findings';
import { RuleName, RULES, violationsOf } from './support/safe-defaults';
import { SCENARIOS, scenarioStack } from './support/scenarios';
import { EXCEPTIONS } from './support/suppressions';
import { Json, jsonOf } from './support/template';

/*
 * Rules of our own for what the constructs render, beside those of cdk-nag: see safe-defaults.ts. Each has a template here that breaks it.
 */
jest.mock('aws-cdk-lib', () => {
  const { withKeptApps } = jest.requireActual<typeof import('./support/example-apps')>('./support/example-apps');
  return withKeptApps(jest.requireActual('aws-cdk-lib'));
});

const INTEG = join(__dirname, '..', 'integ');

/** The templates of the integration tests; but what CDK adds in order to ask AWS (`...DeployAssert...`) is no stack of ours. */
const SNAPSHOTS = readdirSync(INTEG).filter(name => name.endsWith('.snapshot')).flatMap(folder => readdirSync(join(INTEG, folder))
  .filter(name => name.endsWith('.template.json') && !name.includes('DeployAssert')).map(name => join(folder, name)));

const templateOf = (name: string): Json => Template.fromStack(scenarioStack(name)).toJSON() as Json;

const stacksIn = (app: App) => app.node.findAll().filter((construct): construct is Stack => Stack.isStack(construct));

const checked = new Map<string, readonly Finding[]>();

beforeAll(() => {
  for (const name of EXAMPLE_APPS) {
    checked.set(`examples/${name}`, stacksIn(exampleApp(name)).flatMap(stack => violationsOf(stack.stackName, Template.fromStack(stack).toJSON() as Json)));
  }
  for (const name of Object.keys(SCENARIOS)) checked.set(name, violationsOf(name, templateOf(name)));
  for (const name of SNAPSHOTS) checked.set(name, violationsOf(basename(name, '.template.json'), JSON.parse(readFileSync(join(INTEG, name), 'utf8')) as Json));
});

test('the stacks of all integration tests are looked at', () => {
  expect(SNAPSHOTS).toHaveLength(3);
});

test.each([...EXAMPLE_APPS.map(name => `examples/${name}`), ...Object.keys(SCENARIOS), ...SNAPSHOTS])('nothing breaks a rule but what may, for a reason: %s', name => {
  expect(unsuppressed(checked.get(name)!, EXCEPTIONS)).toEqual([]);
});

test('each exception is needed', () => {
  expect(unneeded(EXCEPTIONS, [...checked.values()].flat())).toEqual([]);
});

test('docs/security-checks.md lists the exceptions, with their resources and reasons', () => {
  expect(rowsBelow('Exceptions')).toEqual(rowsOf(EXCEPTIONS));
});

describe('a template that breaks a rule is found, by that rule alone:', () => {
  /** A refresher with a schedule, a reader, and all that belongs to them. */
  const base = templateOf('Prebuilt');
  const FUNCTION_ID = idIn(base, 'AWS::Lambda::Function', 'TokensCrm');
  const ALIAS_ID = idIn(base, 'AWS::Lambda::Alias', 'TokensCrm');
  const ROLE_ARN = { 'Fn::GetAtt': [idIn(base, 'AWS::IAM::Role', 'TokensCrmRole'), 'Arn'] };

  interface Break {
    readonly rule: RuleName;
    readonly what: string;
    /** The resource, by its type and the beginning of its logical id. */
    readonly of?: readonly [type: string, prefix: string];
    /** Where, from the resource on; without one, from all of them. */
    readonly at: string;
    /** What stands there instead; nothing, if undefined. */
    readonly value: unknown;
    /** Where it is found, if not at the resource itself: the beginning of a logical id. */
    readonly found?: string;
    /** Rules that it breaks with that. */
    readonly also?: readonly RuleName[];
  }

  const TABLE = ['AWS::DynamoDB::GlobalTable', 'Tokens'] as const;
  const REFRESHER = ['AWS::Lambda::Function', 'TokensCrmFunction'] as const;
  const READER = ['AWS::Lambda::Function', 'Reader'] as const;
  const REFRESHER_ROLE = ['AWS::IAM::Role', 'TokensCrmRole'] as const;
  const REFRESHER_POLICY = ['AWS::IAM::Policy', 'TokensCrmRole'] as const;
  const SCHEDULER_ROLE = ['AWS::IAM::Role', 'TokensCrmSchedulerRole'] as const;
  const SCHEDULER_POLICY = ['AWS::IAM::Policy', 'TokensCrmSchedulerRole'] as const;
  const SCHEDULE = ['AWS::Scheduler::Schedule', 'TokensCrm'] as const;
  const QUEUE = ['AWS::SQS::Queue', 'TokensCrm'] as const;
  const QUEUE_POLICY = ['AWS::SQS::QueuePolicy', 'TokensCrm'] as const;
  const CONFIG = ['AWS::Lambda::EventInvokeConfig', 'TokensCrmFunctionEventInvokeConfig'] as const;
  const ALIAS_CONFIG = ['AWS::Lambda::EventInvokeConfig', 'TokensCrmScheduleAlias'] as const;
  const VERSION_CONFIG = ['AWS::Lambda::EventInvokeConfig', 'TokensCrmFunctionCurrentVersion'] as const;
  const LOGS = ['AWS::Logs::LogGroup', 'TokensCrm'] as const;

  const REPLICA = 'Properties.Replicas.0';
  const TRUST = 'Properties.AssumeRolePolicyDocument.Statement.0';
  const STATEMENT = 'Properties.PolicyDocument.Statement.0';

  const BREAKS: readonly Break[] = [
    { rule: 'table-encryption', what: 'a key that is named and not used', of: TABLE, at: `${REPLICA}.SSESpecification`, value: { KMSMasterKeyId: 'key' } },
    { rule: 'table-encryption', what: 'encryption by KMS turned off', of: TABLE, at: 'Properties.SSESpecification', value: { SSEEnabled: false } },
    {
      rule: 'table-recovery', what: 'no backups', of: TABLE, at: `${REPLICA}.PointInTimeRecoverySpecification.PointInTimeRecoveryEnabled`, value: false,
    },
    { rule: 'table-recovery', what: 'backups not mentioned', of: TABLE, at: `${REPLICA}.PointInTimeRecoverySpecification`, value: undefined },
    { rule: 'table-protection', what: 'no protection', of: TABLE, at: `${REPLICA}.DeletionProtectionEnabled`, value: false },
    { rule: 'table-protection', what: 'deleted with its stack', of: TABLE, at: 'DeletionPolicy', value: 'Delete' },
    { rule: 'table-protection', what: 'no policy, by which CloudFormation deletes it', of: TABLE, at: 'DeletionPolicy', value: undefined },
    { rule: 'table-protection', what: 'deleted when it is replaced', of: TABLE, at: 'UpdateReplacePolicy', value: 'Delete' },
    { rule: 'table-access', what: 'a policy that lets in another account', of: TABLE, at: `${REPLICA}.ResourcePolicy`, value: { PolicyDocument: {} } },
    { rule: 'table-stream', what: 'a stream', of: TABLE, at: 'Properties.StreamSpecification', value: { StreamViewType: 'NEW_IMAGE' } },
    { rule: 'table-stream', what: 'a stream of Kinesis', of: TABLE, at: `${REPLICA}.KinesisStreamSpecification`, value: { StreamArn: 'stream' } },
    { rule: 'table-expiry', what: 'items that stay', of: TABLE, at: 'Properties.TimeToLiveSpecification.Enabled', value: false },
    { rule: 'table-expiry', what: 'another attribute', of: TABLE, at: 'Properties.TimeToLiveSpecification.AttributeName', value: 'expiresAt' },
    { rule: 'table-billing', what: 'capacity that is paid for', of: TABLE, at: 'Properties.BillingMode', value: 'PROVISIONED' },

    { rule: 'refresher-role', what: 'a role of somebody else', of: REFRESHER, at: 'Properties.Role', value: 'arn:aws:iam::111111111111:role/admin' },
    { rule: 'refresher-role', what: 'a role that a reader has, too', of: READER, at: 'Properties.Role', value: ROLE_ARN, found: 'TokensCrmFunction' },
    { rule: 'refresher-failures', what: 'failures that are dropped', of: CONFIG, at: 'Properties.DestinationConfig', value: undefined, found: 'TokensCrmFunction' },
    { rule: 'refresher-failures', what: 'failures of the schedule that are dropped', of: ALIAS_CONFIG, at: 'Properties.Qualifier', value: '1', found: 'TokensCrmFunction' },
    { rule: 'refresher-failures', what: 'failures of a deployment that are dropped', of: VERSION_CONFIG, at: 'Properties.Qualifier', value: '1', found: 'TokensCrmFunction' },
    { rule: 'refresher-failures', what: 'retries by default', of: CONFIG, at: 'Properties.MaximumRetryAttempts', value: undefined, found: 'TokensCrmFunction' },
    { rule: 'refresher-failures', what: 'events that are hours old', of: CONFIG, at: 'Properties.MaximumEventAgeInSeconds', value: 21_600, found: 'TokensCrmFunction' },
    {
      rule: 'refresher-access',
      what: 'a service that may invoke it',
      at: 'Bad',
      found: 'TokensCrmFunction',
      value: { Type: 'AWS::Lambda::Permission', Properties: { FunctionName: { 'Fn::GetAtt': [FUNCTION_ID, 'Arn'] } } },
    },
    {
      rule: 'refresher-access',
      what: 'a service that may invoke it as its schedule does',
      at: 'Bad',
      found: 'TokensCrmFunction',
      value: { Type: 'AWS::Lambda::Permission', Properties: { FunctionName: { Ref: ALIAS_ID } } },
    },
    {
      rule: 'refresher-access',
      what: 'an address',
      at: 'Bad',
      found: 'TokensCrmFunction',
      value: { Type: 'AWS::Lambda::Url', Properties: { TargetFunctionArn: { Ref: FUNCTION_ID } } },
    },

    { rule: 'function-log', what: 'a log that Lambda makes', of: REFRESHER, at: 'Properties.LoggingConfig', value: undefined },
    { rule: 'function-secrets', what: 'a secret in a variable', of: READER, at: 'Properties.Environment.Variables.SECRET', value: '{{resolve:secretsmanager:crm:SecretString}}' },
    { rule: 'function-secrets', what: 'a parameter in a variable', of: READER, at: 'Properties.Environment.Variables.SECRET', value: { 'Fn::Sub': '{{resolve:ssm-secure:/crm/client}}' } },
    { rule: 'function-runtime', what: 'a Node.js that Lambda retires', of: REFRESHER, at: 'Properties.Runtime', value: 'nodejs20.x' },
    { rule: 'function-runtime', what: 'another language, which nobody has looked at', of: REFRESHER, at: 'Properties.Runtime', value: 'python3.13' },
    { rule: 'log-retention', what: 'logs for ever', of: LOGS, at: 'Properties.RetentionInDays', value: undefined },
    { rule: 'log-retention', what: 'logs for ten years', of: LOGS, at: 'Properties.RetentionInDays', value: 3_653 },

    { rule: 'policy-action', what: 'all actions', of: REFRESHER_POLICY, at: `${STATEMENT}.Action`, value: 'logs:*' },
    { rule: 'policy-action', what: 'all actions but one', of: REFRESHER_POLICY, at: `${STATEMENT}.NotAction`, value: 'iam:PassRole' },
    { rule: 'policy-resource', what: 'all resources', of: REFRESHER_POLICY, at: `${STATEMENT}.Resource`, value: '*' },
    {
      rule: 'policy-resource',
      what: 'resources by a pattern',
      of: REFRESHER_POLICY,
      at: `${STATEMENT}.Resource`,
      value: ['a', { 'Fn::Sub': 'arn:${AWS::Partition}:logs:eu-west-1:111111111111:log-group:crm-?' }],
    },
    { rule: 'policy-managed', what: 'a policy of AWS', of: REFRESHER_ROLE, at: 'Properties.ManagedPolicyArns', value: ['arn:aws:iam::aws:policy/AdministratorAccess'] },
    { rule: 'role-trust', what: 'an account', of: REFRESHER_ROLE, at: `${TRUST}.Principal`, value: { AWS: 'arn:aws:iam::222222222222:root' } },
    { rule: 'role-trust', what: 'two services', of: REFRESHER_ROLE, at: `${TRUST}.Principal.Service`, value: ['lambda.amazonaws.com', 'edgelambda.amazonaws.com'] },
    { rule: 'role-trust', what: 'a service and an account', of: REFRESHER_ROLE, at: `${TRUST}.Principal.AWS`, value: '222222222222' },
    { rule: 'role-trust', what: 'a second statement', of: REFRESHER_ROLE, at: 'Properties.AssumeRolePolicyDocument.Statement.1', value: { Effect: 'Allow' } },
    { rule: 'role-trust', what: 'more than to take the role', of: REFRESHER_ROLE, at: `${TRUST}.Action`, value: ['sts:AssumeRole', 'sts:TagSession'] },

    { rule: 'queue-encryption', what: 'no encryption', of: QUEUE, at: 'Properties.SqsManagedSseEnabled', value: false },
    { rule: 'queue-tls', what: 'plain text for some actions', of: QUEUE_POLICY, at: `${STATEMENT}.Action`, value: 'sqs:SendMessage', found: 'TokensCrmFailures' },
    { rule: 'queue-tls', what: 'plain text for most principals', of: QUEUE_POLICY, at: `${STATEMENT}.Principal`, value: { AWS: '222222222222' }, found: 'TokensCrmFailures' },
    { rule: 'queue-tls', what: 'plain text on one more condition', of: QUEUE_POLICY, at: `${STATEMENT}.Condition.StringEquals`, value: {}, found: 'TokensCrmFailures' },
    { rule: 'queue-tls', what: 'the policy of another queue', of: QUEUE_POLICY, at: 'Properties.Queues', value: ['https://sqs.example.com/other'], found: 'TokensCrmFailures' },
    { rule: 'queue-access', what: 'somebody who is let in', of: QUEUE_POLICY, at: 'Properties.PolicyDocument.Statement.1', value: { Effect: 'Allow', Principal: '*' }, found: 'TokensCrmFailures' },
    { rule: 'queue-retention', what: 'four days by default', of: QUEUE, at: 'Properties.MessageRetentionPeriod', value: undefined },

    { rule: 'schedule-target', what: 'something else that is invoked', of: SCHEDULE, at: 'Properties.Target.Arn', value: 'arn:aws:lambda:eu-west-1:111111111111:function:other', also: ['schedule-role'] },
    { rule: 'schedule-role', what: 'the role of the function', of: SCHEDULE, at: 'Properties.Target.RoleArn', value: ROLE_ARN, also: ['refresher-role', 'schedule-deputy'] },
    { rule: 'schedule-role', what: 'another function', of: SCHEDULER_POLICY, at: `${STATEMENT}.Resource`, value: ['one', 'two'], found: 'TokensCrmSchedule' },
    { rule: 'schedule-role', what: 'another action', of: SCHEDULER_POLICY, at: `${STATEMENT}.Action`, value: 'lambda:GetFunction', found: 'TokensCrmSchedule' },
    { rule: 'schedule-deputy', what: 'schedules of any account', of: SCHEDULER_ROLE, at: `${TRUST}.Condition.StringEquals.aws:SourceAccount`, value: undefined, found: 'TokensCrmSchedule' },
    { rule: 'schedule-deputy', what: 'schedules of any group', of: SCHEDULER_ROLE, at: `${TRUST}.Condition.StringEquals.aws:SourceArn`, value: undefined, found: 'TokensCrmSchedule' },
    {
      rule: 'schedule-deputy',
      what: 'a schedule in place of its group, for which the scheduler could not take the role',
      of: SCHEDULER_ROLE,
      at: `${TRUST}.Condition.StringEquals.aws:SourceArn`,
      value: 'arn:<AWS::Partition>:scheduler:eu-west-1:111111111111:schedule/default/crm',
      found: 'TokensCrmSchedule',
    },
    { rule: 'schedule-failures', what: 'failures that are dropped', of: SCHEDULE, at: 'Properties.Target.DeadLetterConfig', value: undefined, also: ['schedule-role'] },
    { rule: 'schedule-failures', what: 'retries by default', of: SCHEDULE, at: 'Properties.Target.RetryPolicy', value: undefined },
  ];

  test('each rule has one', () => {
    expect(Object.keys(RULES).filter(rule => !BREAKS.some(one => one.rule === rule))).toEqual([]);
  });

  test.each(BREAKS)('$rule: $what', ({ rule, of, at, value, found = of?.[1], also = [] }) => {
    const broken = structuredClone(base);
    setAt(broken, ['Resources', ...(of ? [idIn(broken, ...of)] : []), ...at.split('.')], value);
    const known = violationsOf('Stack', base);
    const added = violationsOf('Stack', broken).filter(one => !known.some(({ construct, finding }) => construct === one.construct && finding === one.finding));
    const byRule = new Map(added.map(({ construct, finding }) => [finding.replace(/\[.*/, ''), construct]));
    expect([...byRule.keys()].sort()).toEqual([rule, ...also].sort());
    expect(byRule.get(rule)).toMatch(new RegExp(`^${found}`));
  });
});

function idIn(template: Json, type: string, prefix: string): string {
  const found = Object.entries(jsonOf(template.Resources)).find(([id, resource]) => jsonOf(resource).Type === type && id.startsWith(prefix));
  if (!found) throw new Error(`There is no ${type} ${prefix}...`);
  return found[0];
}

function setAt(container: unknown, [name, ...rest]: readonly string[], value: unknown): void {
  const holder = container as Record<string, unknown>;
  if (rest.length > 0) return setAt(holder[name], rest, value);
  if (value === undefined && !(name in holder)) throw new Error(`There is no ${name} that could be removed.`);
  if (value === undefined) delete holder[name];
  else holder[name] = value;
}
