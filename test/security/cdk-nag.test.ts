import { App, CfnParameter, Stack } from 'aws-cdk-lib';
import * as dynamodb from 'aws-cdk-lib/aws-dynamodb';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as secretsmanager from 'aws-cdk-lib/aws-secretsmanager';
import * as sqs from 'aws-cdk-lib/aws-sqs';
import { AwsSolutionsChecks, HIPAASecurityChecks, NIST80053R5Checks, PCIDSS321Checks, ServerlessChecks } from 'cdk-nag';
import { findingsOf } from './support/cdk-nag';
import { rowsBelow } from './support/document';
import { EXAMPLE_APPS, exampleApp } from './support/example-apps';
import { Finding, rowsOf, unneeded, unsuppressed } from './support/findings';
import { SCENARIOS, scenarioStack } from './support/scenarios';
import { OTHER_PACKS, SUPPRESSIONS } from './support/suppressions';
import { newFunction } from '../construct/support/stacks';

/*
 * cdk-nag's pack AwsSolutions, over the example apps and over each branch in which the constructs render resources. What cdk-nag does not look at (tables of
 * the type GlobalTable, schedules, trust policies, CDK's own helpers) is in safe-defaults.test.ts.
 */
jest.mock('aws-cdk-lib', () => {
  const { withKeptApps } = jest.requireActual<typeof import('./support/example-apps')>('./support/example-apps');
  return withKeptApps(jest.requireActual('aws-cdk-lib'));
});

const KEY = { name: 'id', type: dynamodb.AttributeType.STRING };

const checked = new Map<string, readonly Finding[]>();

beforeAll(() => {
  for (const name of EXAMPLE_APPS) checked.set(`examples/${name}`, findingsOf(exampleApp(name), AwsSolutionsChecks));
  for (const name of Object.keys(SCENARIOS)) checked.set(name, findingsOf(scenarioStack(name).node.root as App, AwsSolutionsChecks));
});

test('all examples are looked at', () => {
  expect(EXAMPLE_APPS).toEqual(['read-only', 'refreshers', 'send-message']);
});

test.each([...EXAMPLE_APPS.map(name => `examples/${name}`), ...Object.keys(SCENARIOS)])('finds nothing but what is suppressed, for a reason: %s', name => {
  expect(unsuppressed(checked.get(name)!, SUPPRESSIONS)).toEqual([]);
});

test('each suppression is needed', () => {
  expect(unneeded(SUPPRESSIONS, [...checked.values()].flat())).toEqual([]);
});

describe('these checks can fail:', () => {
  const BAD: readonly [string, (stack: Stack) => unknown, string][] = [
    ['a queue without TLS', stack => new sqs.Queue(stack, 'Bad'), 'AwsSolutions-SQS4'],
    ['a table without point-in-time recovery', stack => new dynamodb.Table(stack, 'Bad', { partitionKey: KEY }), 'AwsSolutions-DDB3'],
    ['a secret that does not rotate', stack => new secretsmanager.Secret(stack, 'Bad'), 'AwsSolutions-SMG4'],
    [
      'a function on an old runtime',
      stack => newFunction(stack, 'Bad', { runtime: lambda.Runtime.NODEJS_20_X }),
      'AwsSolutions-L1',
    ],
    [
      'a policy for all resources',
      stack => new iam.Policy(stack, 'Bad', {
        users: [new iam.User(stack, 'User')], statements: [new iam.PolicyStatement({ actions: ['dynamodb:GetItem'], resources: ['*'] })],
      }),
      'AwsSolutions-IAM5[Resource::*]',
    ],
  ];

  test.each(BAD)('%s is found', (_name, make, finding) => {
    const app = new App();
    make(new Stack(app, 'Stack'));
    expect(unsuppressed(findingsOf(app, AwsSolutionsChecks), SUPPRESSIONS)).toContainEqual({ stack: 'Stack', construct: 'Bad/Resource', finding });
  });

  test('a rule that cannot be judged is found', () => {
    const app = new App();
    const stack = new Stack(app, 'Stack');
    (newFunction(stack, 'Bad').node.defaultChild as lambda.CfnFunction).runtime = new CfnParameter(stack, 'Runtime').valueAsString;
    expect(findingsOf(app, AwsSolutionsChecks)).toContainEqual(
      { stack: 'Stack', construct: 'Bad/Resource', finding: expect.stringMatching(/^AwsSolutions-L1, not judged: /) },
    );
  });

  test('a finding that a stack suppresses by itself is found', () => {
    const app = new App();
    const queue = new sqs.Queue(new Stack(app, 'Stack'), 'Bad');
    (queue.node.defaultChild as sqs.CfnQueue).addMetadata('cdk_nag', { rules_to_suppress: [{ id: 'AwsSolutions-SQS4', reason: 'because it is ours' }] });
    expect(findingsOf(app, AwsSolutionsChecks).map(({ finding }) => finding)).toContain('AwsSolutions-SQS4, suppressed elsewhere: because it is ours');
  });

  test('a suppression is of one finding at one construct, and of one stack where it names one', () => {
    const found = { stack: 'Stack', construct: 'Queue/Resource', finding: 'AwsSolutions-SQS3' };
    const others = [{ ...found, construct: 'Other/Resource' }, { ...found, finding: 'AwsSolutions-SQS4' }];
    const [anywhere, here] = ['Queue/Resource', 'Stack/Queue/Resource'].map(construct => [{ finding: found.finding, constructs: [construct], reason: 'None.' }]);
    expect(unsuppressed([found, { ...found, stack: 'Other' }, ...others], anywhere)).toEqual(others);
    expect(unsuppressed([found, { ...found, stack: 'Other' }, ...others], here)).toEqual([{ ...found, stack: 'Other' }, ...others]);
  });

  test('a suppression that nothing needs is found', () => {
    const needless = { finding: 'AwsSolutions-SQS4', constructs: ['Tokens/Crm/Failures/Resource'], reason: 'None.' };
    expect(unneeded([needless], [...checked.values()].flat())).toEqual(['AwsSolutions-SQS4 at Tokens/Crm/Failures/Resource']);
    expect(unneeded([{ ...needless, isForThisCdk: false }], [...checked.values()].flat())).toEqual([]);
  });
});

test('cdk-nag knows nothing of AWS::DynamoDB::GlobalTable: once it does, the rules of our own about it can go', () => {
  const app = new App();
  new dynamodb.TableV2(new Stack(app, 'Stack'), 'Bad', {
    partitionKey: KEY, pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: false }, deletionProtection: false,
  });
  expect(findingsOf(app, AwsSolutionsChecks)).toEqual([]);
});

test('what other packs find in our constructs is known, and why it stays', () => {
  const packs = [NIST80053R5Checks, HIPAASecurityChecks, PCIDSS321Checks, ServerlessChecks];
  const rules = packs.flatMap(Pack => Object.keys(SCENARIOS).flatMap(name => findingsOf(scenarioStack(name).node.root as App, Pack)))
    .filter(({ construct }) => /^Tokens\/|\/SharedTokenRefresher\//.test(construct)).map(({ finding }) => finding.replace(/^.*?-/, ''));
  // The last depends on the version of CDK, as its counterpart among the suppressions does.
  expect([...new Set([...rules, 'LambdaLatestVersion'])].sort()).toEqual(Object.keys(OTHER_PACKS).sort());
});

describe('docs/security-checks.md', () => {
  test('lists the suppressions, with their constructs and reasons', () => {
    expect(rowsBelow('What cdk-nag finds')).toEqual(rowsOf(SUPPRESSIONS));
  });

  test('lists what other packs find', () => {
    expect(rowsBelow('What other packs find')).toEqual(Object.entries(OTHER_PACKS).map(([rule, verdict]) => `| \`${rule}\` | ${verdict} |`));
  });
});
