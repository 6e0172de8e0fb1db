import { join } from 'node:path';
import { App, Aws, CfnParameter, Duration, NestedStack, Stack, StackProps, Stage } from 'aws-cdk-lib';
import { Match, Template } from 'aws-cdk-lib/assertions';
import * as ec2 from 'aws-cdk-lib/aws-ec2';
import * as kms from 'aws-cdk-lib/aws-kms';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as logs from 'aws-cdk-lib/aws-logs';
import * as scheduler from 'aws-cdk-lib/aws-scheduler';
import * as secretsmanager from 'aws-cdk-lib/aws-secretsmanager';
import { addCrm, idOf, one, propertiesOfOne, SECRET_ARN, setUp, source, TABLE_NAME, TOKEN_URL } from './support/refreshers';
import { ACCOUNT, newFunction, newStack, OTHER_ACCOUNT, REGION, variablesOf, warningIdsIn, warningsIn } from './support/stacks';
import { FirstToken, ISharedTokenTable, SharedTokenTable, TokenRefresherProps, TokenSource } from '../../src';
import { newPrebuiltFunction } from '../../src/private/prebuilt-refresher';

const FUNCTION = 'AWS::Lambda::Function';
const SCHEDULE = 'AWS::Scheduler::Schedule';
const TRIGGER = 'Custom::Trigger';
const EVERY_HALF_HOUR = scheduler.ScheduleExpression.rate(Duration.minutes(30));

describe('the function of a refresher', () => {
  test('is told its token, its table and its source', () => {
    const { stack, tokens } = setUp();
    const crm = addCrm({ stack, tokens });
    expect(variablesOf(stack, crm.function)).toEqual({
      SHARED_TOKEN_TABLE: TABLE_NAME,
      SHARED_TOKEN_ID: 'crm',
      SHARED_TOKEN_FUNCTION_TIMEOUT_MS: '30000',
      SHARED_TOKEN_SOURCE: JSON.stringify({ kind: 'client_credentials', tokenUrl: TOKEN_URL, credentials: { secretArn: SECRET_ARN } }),
    });
  });

  test('has no layer and 256 MB, and 30 seconds for reading a secret and asking a provider', () => {
    const { stack, tokens } = setUp();
    addCrm({ stack, tokens });
    expect(propertiesOfOne(stack, FUNCTION, 'TokensCrm')).toEqual({
      Code: expect.anything(),
      Description: 'Refreshes the shared token crm',
      Environment: expect.anything(),
      Handler: 'index.handler',
      LoggingConfig: { LogGroup: { Ref: expect.stringMatching(/^TokensCrmLogs/) } },
      MemorySize: 256,
      Role: { 'Fn::GetAtt': [expect.stringMatching(/^TokensCrmRole/), 'Arn'] },
      Runtime: expect.stringMatching(/^nodejs\d+\.x$/),
      Timeout: 30,
    });
  });

  test('runs on the newest Node.js that CDK knows for its region, so that this library pins none that Lambda retires', () => {
    const { stack, tokens } = setUp();
    addCrm({ stack, tokens });
    const latest = new lambda.Function(stack, 'Latest', {
      runtime: lambda.Runtime.NODEJS_LATEST, handler: 'index.handler', code: lambda.Code.fromAsset(join(__dirname, 'fixtures')),
    });
    expect(propertiesOfOne(stack, FUNCTION, 'TokensCrm').Runtime).toEqual(stack.resolve(latest.runtime.name));
  });

  test('logs into a group of its own, which keeps a month and goes with the refresher', () => {
    const { stack, tokens } = setUp();
    addCrm({ stack, tokens });
    expect(one(stack, 'AWS::Logs::LogGroup')).toMatchObject({ Properties: { RetentionInDays: 30 }, DeletionPolicy: 'Delete' });
  });

  test('is set up as the properties say', () => {
    const { stack, tokens } = setUp();
    const key = new kms.Key(stack, 'Key');
    const logGroup = new logs.LogGroup(stack, 'MyLogs');
    const crm = addCrm({ stack, tokens }, {
      timeout: Duration.seconds(60), memorySize: 512, runtime: lambda.Runtime.NODEJS_24_X, logGroup, environmentEncryption: key,
    });
    expect(propertiesOfOne(stack, FUNCTION, 'TokensCrm')).toMatchObject({
      KmsKeyArn: stack.resolve(key.keyArn),
      LoggingConfig: { LogGroup: stack.resolve(logGroup.logGroupName) },
      MemorySize: 512,
      Runtime: 'nodejs24.x',
      Timeout: 60,
    });
    expect(variablesOf(stack, crm.function).SHARED_TOKEN_FUNCTION_TIMEOUT_MS).toBe('60000');
    Template.fromStack(stack).resourceCountIs('AWS::Logs::LogGroup', 1);
  });

  test('is put into a VPC, and the deployment waits for the way out before it invokes it', () => {
    const { stack, tokens } = setUp();
    const vpc = new ec2.Vpc(stack, 'Vpc', { natGateways: 1, maxAzs: 1 });
    const group = new ec2.SecurityGroup(stack, 'Group', { vpc });
    addCrm({ stack, tokens }, { vpc, vpcSubnets: { subnetType: ec2.SubnetType.PRIVATE_WITH_EGRESS }, securityGroups: [group] });
    expect(propertiesOfOne(stack, FUNCTION, 'TokensCrm').VpcConfig).toEqual({
      SecurityGroupIds: [stack.resolve(group.securityGroupId)],
      SubnetIds: [stack.resolve(vpc.privateSubnets[0].subnetId)],
    });
    expect(one(stack, TRIGGER).DependsOn).toEqual(expect.arrayContaining([idOf(stack, 'AWS::EC2::Route', 'VpcPrivateSubnet1')]));
  });

  test('of a slow provider has a limit for its request, and time enough around it', () => {
    const { stack, tokens } = setUp();
    const crm = addCrm({ stack, tokens }, { authLimit: Duration.minutes(1) });
    expect(variablesOf(stack, crm.function)).toMatchObject({ SHARED_TOKEN_AUTH_LIMIT_MS: '60000', SHARED_TOKEN_FUNCTION_TIMEOUT_MS: '80000' });
  });

  test.each([[1, 21], [1_500, 22], [60_001, 81], [880_000, 900]])('with a limit of %d ms has a timeout of whole seconds: %d', (limitMs, timeout) => {
    const { stack, tokens } = setUp();
    const crm = addCrm({ stack, tokens }, { authLimit: Duration.millis(limitMs) });
    expect(propertiesOfOne(stack, FUNCTION, 'TokensCrm').Timeout).toBe(timeout);
    expect(variablesOf(stack, crm.function).SHARED_TOKEN_AUTH_LIMIT_MS).toBe(String(limitMs));
  });

  test.each<[string, Partial<TokenRefresherProps>, string]>([
    ['a limit', { authLimit: Duration.minutes(15) }, 'an `authLimit` that asks for a timeout of 920, '],
    ['a limit that is a little too long', { authLimit: Duration.millis(880_001) }, 'an `authLimit` that asks for a timeout of 901, '],
    ['a timeout', { timeout: Duration.seconds(901) }, 'a `timeout` of 901 seconds, '],
  ])('is refused %s beyond the 15 minutes of Lambda', (_name, props, got) => {
    expect(() => addCrm(setUp(), props)).toThrow(`Stack0/Tokens/Crm: A Lambda function runs for 900 seconds at most. Got ${got}`);
  });

  test('may have a limit and a timeout that are known only at deployment, and no limit alone', () => {
    const make = (props: Partial<TokenRefresherProps>) => addCrm(setUp(), props);
    const limit = (unit: 'seconds' | 'millis') => Duration[unit](new CfnParameter(newStack(), 'Limit', { type: 'Number' }).valueAsNumber);
    expect(() => make({ authLimit: limit('millis') })).toThrow(/Got an `authLimit` that is known only at deployment, without `timeout`/);
    expect(() => make({ timeout: limit('seconds'), authLimit: Duration.seconds(5) })).not.toThrow();
    expect(() => make({ timeout: Duration.minutes(1), authLimit: limit('millis') })).not.toThrow();
  });

  test.each([
    [Duration.seconds(0), undefined],
    [Duration.seconds(40), Duration.seconds(40)],
    [Duration.seconds(10), Duration.seconds(8)],
    [Duration.seconds(10), Duration.seconds(3)],
  ])('is refused a limit of %s in a timeout of %s', (authLimit, timeout) => {
    const { stack, tokens } = setUp();
    expect(() => addCrm({ stack, tokens }, { authLimit, timeout })).toThrow('An auth request ends before its function does.');
  });

  test('has a short timeout warned about: a refresh may take longer', () => {
    const { stack, tokens } = setUp();
    addCrm({ stack, tokens }, { timeout: Duration.seconds(4), schedule: EVERY_HALF_HOUR });
    expect(warningsIn(stack)).toEqual([['/Stack0/Tokens/Crm/Function', expect.stringMatching(/Got a timeout of 4000 ms, .*:functionTimeout\]/)]]);
  });

  test('describes itself within the limit of Lambda, however long the id is', () => {
    const { stack, tokens } = setUp();
    addCrm({ stack, tokens }, { tokenId: 'x'.repeat(2048) });
    expect(propertiesOfOne(stack, FUNCTION, 'TokensCrm').Description).toHaveLength(256);
  });

  test('keeps to what the environment of a function can hold', () => {
    const { stack, tokens } = setUp();
    const parameters = { comment: 'x'.repeat(4000) };
    addCrm({ stack, tokens }, {
      source: TokenSource.clientCredentials({
        tokenUrl: TOKEN_URL, parameters, credentials: secretsmanager.Secret.fromSecretCompleteArn(stack, 'Other', SECRET_ARN),
      }),
    });
    expect(() => Template.fromStack(stack)).toThrow(/Stack0\/Tokens\/Crm\/Function: Lambda limits a function's environment variables/);
  });

  test.each(['SHARED_TOKEN_ID', 'SHARED_TOKEN_SOURCE', 'SHARED_TOKEN_TABLE'])('cannot lose its variable %s without an error', (name) => {
    const { stack, tokens } = setUp();
    const crm = addCrm({ stack, tokens });
    (crm.function as lambda.Function).addEnvironment(name, 'mine');
    expect(() => Template.fromStack(stack)).toThrow(`The environment variable ${name} belongs to the shared token table (the `);
  });
});

test('a package without its bundle says how to get it', () => {
  const make = () => newPrebuiltFunction(newStack(), 'crm', { kind: 'settings', settings: { kind: 'http_request', url: TOKEN_URL } }, {}, __dirname);
  expect(make).toThrow(/The code of the refresher is missing from this package\. Got no file .*index\.js, .*npm run bundle/);
});

describe('a token', () => {
  test('has one refresher, and the error names it', () => {
    const { stack, tokens } = setUp();
    addCrm({ stack, tokens });
    expect(() => tokens.addRefresher('Again', { tokenId: 'crm', source: source(stack) }))
      .toThrow("Stack0/Tokens: A token has one refresher, and 'crm' has one. Got another one, 'Again', expected only Stack0/Tokens/Crm. Use the refresher");
  });

  const addTo = (tokens: ISharedTokenTable, scope: Stack) => tokens.addRefresher('Crm', { tokenId: 'crm', source: source(scope) });
  const named = (scope: Stack, id: string) => SharedTokenTable.fromTableName(scope, id, 'crm-tokens');
  const ARN = `arn:aws:dynamodb:${REGION}:${ACCOUNT}:table/crm-tokens`;
  const KNOWN = { env: { account: ACCOUNT, region: REGION } };

  test.each<[string, StackProps, (stack: Stack) => ISharedTokenTable, (stack: Stack, first: ISharedTokenTable) => ISharedTokenTable]>([
    ['is imported twice by its name', KNOWN, stack => named(stack, 'One'), stack => named(stack, 'Two')],
    ['is imported twice by its name, wherever the stack will be', {}, stack => named(stack, 'One'), stack => named(stack, 'Two')],
    ['is imported by its name and by its ARN', KNOWN, stack => named(stack, 'One'), stack => SharedTokenTable.fromTableArn(stack, 'Two', ARN)],
    ['is defined and imported', KNOWN, stack => new SharedTokenTable(stack, 'One', { tableName: 'crm-tokens' }), stack => named(stack, 'Two')],
    [
      'is defined and imported by its attribute', {},
      stack => new SharedTokenTable(stack, 'One'), (stack, first) => SharedTokenTable.fromTableName(stack, 'Two', first.tableName),
    ],
    [
      'is defined and imported by the attribute with its ARN', {},
      stack => new SharedTokenTable(stack, 'One'), (stack, first) => SharedTokenTable.fromTableArn(stack, 'Two', first.tableArn),
    ],
  ])('has one refresher also where its table %s: in one stack and in two', (_name, props, makeOne, makeTwo) => {
    for (const isApart of [false, true]) {
      const app = new App();
      const stack = newStack(props, app);
      const other = isApart ? newStack(props, app) : stack;
      const first = makeOne(stack);
      addTo(first, stack);
      const two = makeTwo(other, first);
      expect(() => addTo(two, other)).toThrow(/Two: A token has one refresher, and 'crm' has one\. Got another one, 'Crm', expected only Stack0\/One\/Crm\./);
    }
  });

  test('has one refresher also where the name of its table is a parameter', () => {
    const { stack } = setUp();
    const name = new CfnParameter(stack, 'Name').valueAsString;
    addTo(SharedTokenTable.fromTableName(stack, 'One', name), stack);
    expect(() => addTo(SharedTokenTable.fromTableName(stack, 'Two', name), stack)).toThrow(/expected only Stack0\/One\/Crm\./);
  });

  test.each<[string, StackProps, StackProps, (stack: Stack) => ISharedTokenTable]>([
    ['name in another region', KNOWN, { env: { account: ACCOUNT, region: 'us-east-1' } }, stack => named(stack, 'Tokens')],
    ['name in another account', KNOWN, { env: { account: OTHER_ACCOUNT, region: REGION } }, stack => named(stack, 'Tokens')],
    ['name in a stack that may be anywhere', KNOWN, {}, stack => named(stack, 'Tokens')],
    ['logical id', KNOWN, KNOWN, stack => new SharedTokenTable(stack, 'Tokens')],
    ['name of a parameter', KNOWN, KNOWN, stack => SharedTokenTable.fromTableName(stack, 'Tokens', new CfnParameter(stack, 'Name').valueAsString)],
    ['expression with the name of its stack', KNOWN, KNOWN, stack => SharedTokenTable.fromTableName(stack, 'Tokens', `${Aws.STACK_NAME}-tokens`)],
  ])('has a refresher of its own where another stack has a table of the same %s', (_name, props, otherProps, makeTable) => {
    const app = new App();
    expect(() => {
      for (const stackProps of [props, otherProps]) {
        const stack = newStack(stackProps, app);
        addTo(makeTable(stack), stack);
      }
    }).not.toThrow();
  });

  test('has a refresher in each stage whose place is told at deployment', () => {
    const app = new App();
    expect(() => {
      for (const id of ['Test', 'Live']) {
        const stack = new Stack(new Stage(app, id), 'Stack');
        addTo(named(stack, 'Tokens'), stack);
      }
    }).not.toThrow();
  });

  test('of another table or id has a refresher of its own', () => {
    const { stack, tokens } = setUp();
    addCrm({ stack, tokens });
    expect(() => {
      tokens.addRefresher('Erp', { tokenId: 'erp', source: source(stack) });
      new SharedTokenTable(stack, 'Others').addRefresher('Crm', { tokenId: 'crm', source: source(stack) });
    }).not.toThrow();
  });

  test.each(['*', 'bot-*'])('is one: %j is none', (tokenId) => {
    const { stack, tokens } = setUp();
    expect(() => addCrm({ stack, tokens }, { tokenId })).toThrow(`Stack0/Tokens/Crm: A refresher refreshes one token. Got '${tokenId}', expected an id without '*'.`);
  });

  test.each(['', 'a?b', 'a${b', 'tökenĀ', '{{resolve:ssm:a}}', new CfnParameter(newStack(), 'Id').valueAsString])('has an id that a policy can name: %j is none', (tokenId) => {
    const { stack, tokens } = setUp();
    expect(() => addCrm({ stack, tokens }, { tokenId })).toThrow(/^Stack0\/Tokens\/Crm: /);
  });
});

test('what is known in plain JavaScript only: a refresher without a source says so', () => {
  const add = (what: unknown) => expect(() => addCrm(setUp(), { source: what as TokenSource }));
  for (const nothing of [undefined, null]) add(nothing).toThrow(/^Stack0\/Tokens\/Crm: A refresher gets its tokens from a source\. Got no `source`, expected what a method of `TokenSource` returns/);
  add({ url: TOKEN_URL }).toThrow(/Got a `source` that is none/);
  add(TokenSource.fromFunction(undefined as unknown as lambda.IFunction)).toThrow(/^Stack0\/Tokens\/Crm: A function of yours is a refresher once it is passed\. Got nothing/);
});

describe('properties that cannot work are errors:', () => {
  const group = (stack: Stack) => ec2.SecurityGroup.fromSecurityGroupId(stack, 'Group', 'sg-1');

  test.each<[string, (stack: Stack) => Partial<TokenRefresherProps>, RegExp]>([
    ['a window without a schedule', () => ({ timeWindow: scheduler.TimeWindow.off() }), /A time window is one of a schedule\. Got `timeWindow` without `schedule`/],
    ['a first token that does not exist', () => ({ firstToken: 'LATER' as FirstToken }), /no such way to get the first token\. Got 'LATER', expected FirstToken\.ASYNC/],
    ['subnets without a VPC', () => ({ vpcSubnets: {} }), /Got `vpcSubnets` without `vpc`/],
    ['security groups without a VPC', stack => ({ securityGroups: [group(stack)] }), /Got `securityGroups` without `vpc`/],
    ['an old Node.js', () => ({ runtime: lambda.Runtime.NODEJS_18_X }), /needs Node\.js 20 or later\. Got nodejs18\.x/],
    ['another language', () => ({ runtime: lambda.Runtime.PYTHON_3_13 }), /written for Node\.js\. Got python3\.13.*TokenSource\.fromFunction/],
  ])('%s', (_name, props, message) => {
    const { stack, tokens } = setUp();
    expect(() => addCrm({ stack, tokens }, props(stack))).toThrow(/^Stack0\/Tokens\/Crm: /);
    const again = setUp();
    expect(() => addCrm(again, props(again.stack))).toThrow(message);
  });
});

describe('a refresher that nothing invokes once the app is deployed', () => {
  test('is warned about', () => {
    const { stack, tokens } = setUp();
    addCrm({ stack, tokens });
    expect(warningsIn(stack)).toEqual([['/Stack0/Tokens/Crm', expect.stringMatching(/no schedule, and no reader.*`refresher\.attachTo`.*:unusedRefresher\]/)]]);
  });

  test.each<[string, (setup: ReturnType<typeof setUp>) => void]>([
    ['a schedule', setup => addCrm(setup, { schedule: EVERY_HALF_HOUR })],
    ['a reader', setup => addCrm(setup).attachTo(newFunction(setup.stack, 'Fn'))],
    ['a principal', setup => addCrm(setup).grantRead(newFunction(setup.stack, 'Fn'))],
    ['a container with its environment', setup => void addCrm(setup).environment],
  ])('is not one that has %s', (_name, use) => {
    const setup = setUp();
    use(setup);
    expect(warningsIn(setup.stack)).toEqual([]);
  });
});

describe('a refresher works', () => {
  test.each<[string, (app: App) => Stack]>([
    ['in a region-agnostic stack', app => newStack({}, app)],
    ['in a nested stack', app => new NestedStack(newStack({}, app), 'Nested')],
  ])('%s', (_name, make) => {
    const stack = make(new App());
    const tokens = new SharedTokenTable(stack, 'Tokens');
    addCrm({ stack, tokens }, { schedule: EVERY_HALF_HOUR });
    expect(propertiesOfOne(stack, FUNCTION, 'TokensCrm').Environment).toMatchObject({ Variables: { SHARED_TOKEN_TABLE: TABLE_NAME } });
    for (const type of [SCHEDULE, TRIGGER]) Template.fromStack(stack).resourceCountIs(type, 1);
  });

  test('with a table that is imported', () => {
    const { stack } = setUp();
    const crm = SharedTokenTable.fromTableName(stack, 'Imported', 'crm-tokens').addRefresher('Crm', { tokenId: 'crm', source: source(stack), schedule: EVERY_HALF_HOUR });
    expect(variablesOf(stack, crm.function).SHARED_TOKEN_TABLE).toBe('crm-tokens');
    expect(warningsIn(stack)).toEqual([]);
  });

  test('with a table of another account, which is told that it needs a policy', () => {
    const { stack } = setUp();
    const arn = `arn:aws:dynamodb:${REGION}:${OTHER_ACCOUNT}:table/crm-tokens`;
    const crm = SharedTokenTable.fromTableArn(stack, 'Imported', arn).addRefresher('Crm', { tokenId: 'crm', source: source(stack), schedule: EVERY_HALF_HOUR });
    expect(variablesOf(stack, crm.function).SHARED_TOKEN_TABLE).toBe(arn);
    expect(warningIdsIn(stack)).toEqual(['crossAccountPrincipal']);
  });

  test('with a secret of another stack, which is imported by its ARN alone', () => {
    const app = new App();
    const secrets = newStack({}, app);
    const stack = newStack({}, app);
    const credentials = new secretsmanager.Secret(secrets, 'Secret');
    const crm = new SharedTokenTable(stack, 'Tokens').addRefresher('Crm', { tokenId: 'crm', source: TokenSource.clientCredentials({ tokenUrl: TOKEN_URL, credentials }) });
    const exported = Object.values(Template.fromStack(secrets).findOutputs('*', { Export: Match.anyValue() })).map(({ Value }) => Value);
    expect(exported).toEqual([{ Ref: idOf(secrets, 'AWS::SecretsManager::Secret') }]);
    expect(variablesOf(stack, crm.function).SHARED_TOKEN_SOURCE)
      .toEqual({ 'Fn::Join': ['', [expect.stringMatching(/"secretArn":"$/), { 'Fn::ImportValue': expect.any(String) }, '"}}']] });
  });
});

test('two refreshers of one stack share nothing but what invokes them at deployment', () => {
  const { stack, tokens } = setUp();
  addCrm({ stack, tokens }, { schedule: EVERY_HALF_HOUR });
  tokens.addRefresher('Erp', { tokenId: 'erp', source: source(stack), schedule: EVERY_HALF_HOUR });
  const template = Template.fromStack(stack);
  template.resourceCountIs(SCHEDULE, 2);
  template.resourceCountIs(TRIGGER, 2);
  template.resourceCountIs(FUNCTION, 3);
  expect(propertiesOfOne(stack, FUNCTION, 'AWSCDKTrigger')).toBeDefined();
});
