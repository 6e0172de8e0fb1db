import { App, Duration, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import * as cloudfront from 'aws-cdk-lib/aws-cloudfront';
import * as ec2 from 'aws-cdk-lib/aws-ec2';
import * as ecr from 'aws-cdk-lib/aws-ecr';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as kms from 'aws-cdk-lib/aws-kms';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as destinations from 'aws-cdk-lib/aws-lambda-destinations';
import * as logs from 'aws-cdk-lib/aws-logs';
import * as scheduler from 'aws-cdk-lib/aws-scheduler';
import * as sqs from 'aws-cdk-lib/aws-sqs';
import { addCrm, idOf, one, propertiesOfOne, setUp, Setup, TABLE_ARN, TABLE_NAME } from './support/refreshers';
import { ACCOUNT, newFunction, newStack, propertiesOf, REGION, statementsIn, variablesOf, warningIdsIn, warningsIn } from './support/stacks';
import { FirstToken, SharedTokenTable, TokenRefresher, TokenRefresherProps, TokenSource } from '../../src';

/*
 * TokenSource.fromFunction: a function of the user's that is a refresher.
 */
const CONFIG = 'AWS::Lambda::EventInvokeConfig';
const EVERY_HALF_HOUR = scheduler.ScheduleExpression.rate(Duration.minutes(30));

function adopt({ tokens }: Pick<Setup, 'tokens'>, fn: lambda.IFunction, props: Partial<TokenRefresherProps> = {}): TokenRefresher {
  return tokens.addRefresher('Crm', { tokenId: 'crm', source: TokenSource.fromFunction(fn), schedule: EVERY_HALF_HOUR, ...props });
}

function adopted(props: Partial<TokenRefresherProps> = {}, fnProps: Partial<lambda.FunctionProps> = {}) {
  const setup = setUp();
  const fn = newFunction(setup.stack, 'Fn', fnProps);
  return { ...setup, fn, crm: adopt(setup, fn, props) };
}

describe('a function that is a refresher', () => {
  test('gets layer and environment, and no settings of a source', () => {
    const { stack, fn, crm } = adopted();
    expect(propertiesOf(stack, fn).Layers).toEqual([{ Ref: expect.stringMatching(/^SharedTokenTableRuntime/) }]);
    expect(variablesOf(stack, fn)).toEqual({ SHARED_TOKEN_TABLE: TABLE_NAME, SHARED_TOKEN_ID: 'crm', SHARED_TOKEN_FUNCTION_TIMEOUT_MS: '15000' });
    expect(crm.function).toBe(fn);
    expect(crm.grantPrincipal).toBe(fn.role);
    expect(warningsIn(stack)).toEqual([]);
  });

  test('may refresh its token and report failures, and nothing else', () => {
    const { stack, crm } = adopted();
    expect(statementsIn(stack, 'FnServiceRole')).toEqual([
      {
        Effect: 'Allow',
        Action: ['dynamodb:GetItem', 'dynamodb:UpdateItem'],
        Resource: TABLE_ARN,
        Condition: { 'ForAllValues:StringEquals': { 'dynamodb:LeadingKeys': ['crm'] }, 'Null': { 'dynamodb:LeadingKeys': 'false' } },
      },
      { Effect: 'Allow', Action: 'sqs:SendMessage', Resource: stack.resolve(crm.failureQueue.queueArn) },
    ]);
  });

  test('has schedule, first token, failure queue and bounded retries like the one that comes with the library', () => {
    const { stack, fn } = adopted();
    const template = Template.fromStack(stack);
    const functionId = stack.getLogicalId(fn.node.defaultChild as lambda.CfnFunction);
    expect(propertiesOfOne(stack, 'AWS::Lambda::Alias')).toEqual({ FunctionName: { Ref: functionId }, FunctionVersion: '$LATEST', Name: 'scheduled' });
    template.hasResourceProperties('AWS::Scheduler::Schedule', { Target: { Arn: { Ref: idOf(stack, 'AWS::Lambda::Alias') } } });
    template.hasResourceProperties('Custom::Trigger', { HandlerArn: { Ref: idOf(stack, 'AWS::Lambda::Version') }, InvocationType: 'Event', Timeout: '30000' });
    const configs = Object.values(template.findResources(CONFIG)).map(({ Properties }) => Properties);
    expect(configs).toHaveLength(3);
    for (const config of configs) {
      expect(config).toMatchObject({
        DestinationConfig: { OnFailure: { Destination: { 'Fn::GetAtt': [idOf(stack, 'AWS::SQS::Queue'), 'Arn'] } } },
        FunctionName: { Ref: functionId },
        MaximumEventAgeInSeconds: 900,
        MaximumRetryAttempts: 2,
      });
    }
  });

  test('is invoked at deployment once its policies are there, wherever its role is from', () => {
    const setup = setUp();
    const role = iam.Role.fromRoleArn(setup.stack, 'Role', `arn:aws:iam::${ACCOUNT}:role/refresher`);
    adopt(setup, newFunction(setup.stack, 'Fn', { role }));
    expect(one(setup.stack, 'Custom::Trigger').DependsOn).toEqual(expect.arrayContaining([idOf(setup.stack, 'AWS::IAM::Policy', 'Role')]));
  });

  test('has a short timeout warned about', () => {
    expect(warningIdsIn(adopted({}, { timeout: Duration.seconds(3) }).stack)).toEqual(['functionTimeout']);
  });

  test("with Lambda's own timeout is waited for as long as that and a start take", () => {
    expect(propertiesOfOne(adopted({ firstToken: FirstToken.REQUIRED }, { timeout: undefined }).stack, 'Custom::Trigger').Timeout).toBe('18000');
  });

  test('is asked like any other', () => {
    const { stack, fn, crm } = adopted();
    const reader = newFunction(stack, 'Reader');
    crm.attachTo(reader);
    const functionId = stack.getLogicalId(fn.node.defaultChild as lambda.CfnFunction);
    expect(variablesOf(stack, reader).SHARED_TOKEN_REFRESHERS).toEqual({ 'Fn::Join': ['', ['{"crm":"', { Ref: functionId }, '"}']] });
    expect(statementsIn(stack, 'ReaderServiceRole')[1]).toMatchObject({ Action: 'lambda:InvokeFunction', Resource: { 'Fn::GetAtt': [functionId, 'Arn'] } });
  });

  test('does not ask itself', () => {
    const { fn, crm } = adopted();
    expect(() => crm.attachTo(fn)).toThrow(/does not ask itself/);
  });

  test('may share its role with a function that asks it', () => {
    const setup = setUp();
    const role = new iam.Role(setup.stack, 'Role', { assumedBy: new iam.ServicePrincipal('lambda.amazonaws.com') });
    const crm = adopt(setup, newFunction(setup.stack, 'Fn', { role }));
    expect(() => crm.attachTo(newFunction(setup.stack, 'Reader', { role }))).not.toThrow();
  });

  test('may use further tokens of the table', () => {
    const { stack, tokens, fn } = adopted();
    tokens.attachTo(fn, { tokenIds: ['erp'] });
    expect(warningsIn(stack)).toEqual([]);
  });

  test('may be one that others define as a SingletonFunction', () => {
    const setup = setUp();
    const fn = new lambda.SingletonFunction(setup.stack, 'Fn', {
      uuid: 'e2b1a7f0-0000-4000-8000-000000000000',
      runtime: lambda.Runtime.NODEJS_22_X,
      handler: 'index.handler',
      code: lambda.Code.fromInline('exports.handler = async () => {};'),
      timeout: Duration.seconds(15),
    });
    const crm = adopt(setup, fn);
    expect(crm.function).toBe(fn);
    expect(propertiesOfOne(setup.stack, 'AWS::Lambda::Function', 'Singleton').Environment).toMatchObject({ Variables: { SHARED_TOKEN_ID: 'crm' } });
    Template.fromStack(setup.stack).resourceCountIs('AWS::Scheduler::Schedule', 1);
    expect(() => crm.attachTo(fn)).toThrow(/does not ask itself/);
  });

  test.each<[string, (stack: Stack) => Partial<lambda.FunctionProps>]>([
    ['in another language', () => ({ runtime: lambda.Runtime.PYTHON_3_13, code: lambda.Code.fromInline('def handler(event, context): pass') })],
    ['from a container image', stack => ({
      runtime: lambda.Runtime.FROM_IMAGE,
      handler: lambda.Handler.FROM_IMAGE,
      code: lambda.Code.fromEcrImage(ecr.Repository.fromRepositoryName(stack, 'Repository', 'refresher')),
    })],
  ])('%s gets no layer, and the usual warning', (_name, fnProps) => {
    const setup = setUp();
    const fn = newFunction(setup.stack, 'Fn', fnProps(setup.stack));
    adopt(setup, fn);
    expect(propertiesOf(setup.stack, fn).Layers).toBeUndefined();
    expect(variablesOf(setup.stack, fn).SHARED_TOKEN_ID).toBe('crm');
    expect(warningIdsIn(setup.stack)).toEqual(['noLayer']);
  });
});

describe('a function of another stack', () => {
  test('needs the stack of the table, which needs nothing of it', () => {
    const app = new App();
    const tables = newStack({}, app);
    const stack = newStack({}, app);
    const fn = newFunction(stack, 'Fn');
    const crm = adopt({ tokens: new SharedTokenTable(tables, 'Tokens') }, fn);
    crm.attachTo(newFunction(stack, 'Reader'));
    expect(Object.values(Template.fromStack(tables).toJSON().Resources as { [id: string]: { Type: string } }).map(({ Type }) => Type)).toEqual(['AWS::DynamoDB::GlobalTable']);
    for (const type of ['AWS::Scheduler::Schedule', 'Custom::Trigger', 'AWS::SQS::Queue']) Template.fromStack(stack).resourceCountIs(type, 1);
    expect(stack.dependencies).toEqual([tables]);
    expect(tables.dependencies).toEqual([]);
    expect(warningsIn(stack)).toEqual([]);
  });
});

describe('asynchronous invocations that are configured already', () => {
  test('stay as they are, and those that drop failures are warned about', () => {
    const { stack } = adopted({}, { retryAttempts: 0 });
    const configs = Object.values(Template.fromStack(stack).findResources(CONFIG, { Properties: { Qualifier: '$LATEST' } })).map(({ Properties }) => Properties);
    expect(configs).toEqual([expect.objectContaining({ MaximumRetryAttempts: 0 })]);
    expect(configs[0]).not.toHaveProperty('DestinationConfig');
    expect(warningsIn(stack)).toEqual([['/Stack0/Fn', expect.stringMatching(/configured already, and stay as they are.*`onFailure`.*:lostFailures\]/)]]);
  });

  test('of a version, too', () => {
    const { stack } = adopted({}, { currentVersionOptions: { retryAttempts: 1 } });
    expect(warningsIn(stack)).toEqual([['/Stack0/Fn/CurrentVersion', expect.stringMatching(/:lostFailures\]/)]]);
    Template.fromStack(stack).resourceCountIs(CONFIG, 3);
  });

  test('are no matter where failures go somewhere', () => {
    const setup = setUp();
    const onFailure = new destinations.SqsDestination(new sqs.Queue(setup.stack, 'Mine'));
    adopt(setup, newFunction(setup.stack, 'Fn', { onFailure, currentVersionOptions: { onFailure } }));
    expect(warningsIn(setup.stack)).toEqual([]);
  });

  test('are warned about where only success goes somewhere', () => {
    const setup = setUp();
    const onSuccess = new destinations.SqsDestination(new sqs.Queue(setup.stack, 'Mine'));
    adopt(setup, newFunction(setup.stack, 'Fn', { onSuccess }));
    expect(warningIdsIn(setup.stack)).toEqual(['lostFailures']);
  });

  test('cannot be configured a second time afterwards: CDK says so', () => {
    const { fn } = adopted();
    expect(() => fn.configureAsyncInvoke({ retryAttempts: 0 })).toThrow(/EventInvokeConfig has already been configured/);
  });
});

describe('an alias of the name that the schedule has', () => {
  const MESSAGE = /Stack0\/Tokens\/Crm: The schedule invokes the refresher through an alias of its own, 'scheduled'\. Got another alias of this name, Stack\d\/\S+, expected no other/;
  const scheduled = (scope: Stack, fn: lambda.Function) => new lambda.CfnAlias(scope, 'Scheduled', { name: 'scheduled', functionName: fn.functionArn, functionVersion: '1' });

  test.each<[string, (setup: Setup, fn: lambda.Function) => void]>([
    ['before', (setup, fn) => {
      fn.addAlias('scheduled');
      adopt(setup, fn);
    }],
    ['after', (setup, fn) => {
      adopt(setup, fn);
      fn.addAlias('scheduled');
    }],
    ['by the ARN of the function', (setup, fn) => {
      adopt(setup, fn);
      scheduled(setup.stack, fn);
    }],
  ])('is refused: %s', (_name, make) => {
    const setup = setUp();
    make(setup, newFunction(setup.stack, 'Fn'));
    expect(() => Template.fromStack(setup.stack)).toThrow(MESSAGE);
  });

  test('is refused for the function that comes with the library', () => {
    const setup = setUp();
    (addCrm(setup, { schedule: EVERY_HALF_HOUR }).function as lambda.Function).addAlias('scheduled');
    expect(() => Template.fromStack(setup.stack)).toThrow(MESSAGE);
  });

  test('is refused in another stack', () => {
    const { stack, fn } = adopted();
    scheduled(newStack({ env: { account: ACCOUNT, region: REGION } }, stack.node.root as App), fn);
    expect(() => Template.fromStack(stack)).toThrow(MESSAGE);
  });

  test('is refused for a function that is named', () => {
    const { stack } = adopted({}, { functionName: 'refresher' });
    new lambda.CfnAlias(stack, 'Scheduled', { name: 'scheduled', functionName: 'refresher', functionVersion: '1' });
    expect(() => Template.fromStack(stack)).toThrow(MESSAGE);
  });

  test.each<[string, Partial<TokenRefresherProps>, (fn: lambda.Function) => void]>([
    ['of another name', {}, fn => fn.addAlias('live')],
    ['without a schedule', { schedule: undefined }, fn => fn.addAlias('scheduled')],
    ['of another function', {}, fn => newFunction(Stack.of(fn), 'Other').addAlias('scheduled')],
  ])('is another matter %s', (_name, props, make) => {
    const { stack, fn } = adopted(props);
    make(fn);
    expect(() => Template.fromStack(stack)).not.toThrow();
  });
});

describe('what cannot be a refresher is refused:', () => {
  test.each<[string, (stack: Stack) => lambda.IFunction, RegExp]>([
    ['an imported function', stack => lambda.Function.fromFunctionName(stack, 'Fn', 'refresher'), /gets environment variables.*Got the imported function Stack0\/Fn, which can be given none/],
    ['an alias', stack => newFunction(stack, 'Fn').addAlias('live'), /Got Stack0\/Fn\/Aliaslive, an alias or a version, expected the function, Stack0\/Fn\. /],
    ['a version', stack => newFunction(stack, 'Fn').currentVersion, /Got Stack0\/Fn\/CurrentVersion, an alias or a version/],
    ['a function on an old Node.js', stack => newFunction(stack, 'Fn', { runtime: lambda.Runtime.NODEJS_18_X }), /Stack0\/Fn: The runtime needs Node\.js 20 or later/],
    [
      'a function at the edge',
      stack => new cloudfront.experimental.EdgeFunction(stack, 'Fn', {
        runtime: lambda.Runtime.NODEJS_22_X, handler: 'index.handler', code: lambda.Code.fromInline('exports.handler = async () => {};'),
      }),
      /Lambda@Edge allows neither environment variables nor layers/,
    ],
  ])('%s', (_name, make, message) => {
    const setup = setUp({ env: { account: ACCOUNT, region: REGION } });
    const fn = make(setup.stack);
    expect(() => adopt(setup, fn)).toThrow(message);
  });

  test('a function that is one already', () => {
    const { tokens, fn } = adopted();
    expect(() => tokens.addRefresher('Erp', { tokenId: 'erp', source: TokenSource.fromFunction(fn) }))
      .toThrow('Stack0/Tokens/Erp: A function refreshes one token. Got Stack0/Fn, which is a refresher already');
  });

  test('a function of another table', () => {
    const setup = setUp();
    const fn = newFunction(setup.stack, 'Fn');
    new SharedTokenTable(setup.stack, 'Others').attachTo(fn);
    expect(() => adopt(setup, fn)).toThrow(/SHARED_TOKEN_TABLE of this function already names another table/);
  });

  test('a function whose token is set to another', () => {
    const setup = setUp();
    const fn = newFunction(setup.stack, 'Fn', { environment: { SHARED_TOKEN_ID: 'erp' } });
    expect(() => adopt(setup, fn)).toThrow('The environment variable SHARED_TOKEN_ID belongs to the shared token table (the token that the function refreshes)');
  });

  test.each<[string, (stack: Stack) => Partial<TokenRefresherProps>]>([
    ['`timeout`', () => ({ timeout: Duration.seconds(30) })],
    ['`vpc`, `vpcSubnets`', stack => ({ vpc: new ec2.Vpc(stack, 'Vpc'), vpcSubnets: {} })],
    ['`securityGroups`', () => ({ securityGroups: [] })],
    ['`logGroup`, `runtime`', stack => ({ runtime: lambda.Runtime.NODEJS_22_X, logGroup: new logs.LogGroup(stack, 'Log') })],
    ['`memorySize`, `environmentEncryption`', stack => ({ memorySize: 128, environmentEncryption: new kms.Key(stack, 'Key') })],
  ])('properties of the function that comes with the library: %s', (names, props) => {
    const setup = setUp();
    const fn = newFunction(setup.stack, 'Fn');
    expect(() => adopt(setup, fn, props(setup.stack)))
      .toThrow(`Stack0/Tokens/Crm: A function of yours is as you defined it. Got ${names} beside \`TokenSource.fromFunction\``);
    expect(variablesOf(setup.stack, fn)).toEqual({});
  });
});
