import { CfnParameter, Duration, Stack, StackProps, TimeZone } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import * as scheduler from 'aws-cdk-lib/aws-scheduler';
import * as secretsmanager from 'aws-cdk-lib/aws-secretsmanager';
import * as sqs from 'aws-cdk-lib/aws-sqs';
import { addCrm, idOf, one, propertiesOfOne, SECRET_ARN, setUp, source, TOKEN_URL } from './support/refreshers';
import { ACCOUNT, newFunction, OTHER_ACCOUNT, REGION, warningsIn } from './support/stacks';
import { FirstToken, TokenRefresherProps, TokenSource } from '../../src';

const FUNCTION = 'AWS::Lambda::Function';
const CONFIG = 'AWS::Lambda::EventInvokeConfig';
const SCHEDULE = 'AWS::Scheduler::Schedule';
const TRIGGER = 'Custom::Trigger';
const QUEUE = 'AWS::SQS::Queue';
const EVERY_HALF_HOUR = scheduler.ScheduleExpression.rate(Duration.minutes(30));

describe('a schedule', () => {
  test('invokes an alias that is its own, with its time, and few retries that end in the queue', () => {
    const { stack, tokens } = setUp();
    const crm = addCrm({ stack, tokens }, { schedule: EVERY_HALF_HOUR });
    const alias = idOf(stack, 'AWS::Lambda::Alias');
    expect(propertiesOfOne(stack, SCHEDULE)).toEqual({
      FlexibleTimeWindow: { Mode: 'OFF' },
      ScheduleExpression: 'rate(30 minutes)',
      ScheduleExpressionTimezone: 'Etc/UTC',
      State: 'ENABLED',
      Target: {
        Arn: { Ref: alias },
        DeadLetterConfig: { Arn: stack.resolve(crm.failureQueue.queueArn) },
        Input: '{"tokenId":"crm","since":"<aws.scheduler.scheduled-time>"}',
        RetryPolicy: { MaximumEventAgeInSeconds: 900, MaximumRetryAttempts: 2 },
        RoleArn: { 'Fn::GetAtt': [idOf(stack, 'AWS::IAM::Role', 'TokensCrmSchedulerRole'), 'Arn'] },
      },
    });
    expect(propertiesOfOne(stack, 'AWS::Lambda::Alias')).toEqual({
      FunctionName: { Ref: idOf(stack, FUNCTION, 'TokensCrm') },
      FunctionVersion: '$LATEST',
      Name: 'scheduled',
    });
    expect(stack.resolve(crm.schedule!.scheduleArn)).toEqual({ 'Fn::GetAtt': [idOf(stack, SCHEDULE), 'Arn'] });
  });

  test('keeps its time zone and its window', () => {
    const { stack, tokens } = setUp();
    addCrm({ stack, tokens }, {
      schedule: scheduler.ScheduleExpression.cron({ minute: '0', hour: '3', timeZone: TimeZone.EUROPE_BERLIN }),
      timeWindow: scheduler.TimeWindow.flexible(Duration.minutes(10)),
    });
    expect(propertiesOfOne(stack, SCHEDULE)).toMatchObject({
      FlexibleTimeWindow: { Mode: 'FLEXIBLE', MaximumWindowInMinutes: 10 },
      ScheduleExpression: 'cron(0 3 * * ? *)',
      ScheduleExpressionTimezone: 'Europe/Berlin',
    });
  });

  test('runs for the first time when its permissions are there and its failures go somewhere', () => {
    const { stack, tokens } = setUp();
    addCrm({ stack, tokens }, { schedule: EVERY_HALF_HOUR });
    expect(one(stack, SCHEDULE).DependsOn).toEqual(expect.arrayContaining([
      idOf(stack, 'AWS::IAM::Policy', 'TokensCrmSchedulerRole'),
      idOf(stack, CONFIG, 'TokensCrmScheduleAlias'),
    ]));
  });

  test('sends no token id that the scheduler would replace', () => {
    const tokenId = 'crm-<aws.scheduler.execution-id>';
    expect(() => addCrm(setUp(), { tokenId, schedule: EVERY_HALF_HOUR }))
      .toThrow(`Stack0/Tokens/Crm: EventBridge Scheduler reads '<aws.scheduler.' in what it sends as more than characters. Got '${tokenId}', and a schedule`);
    expect(() => addCrm(setUp(), { tokenId })).not.toThrow();
  });

  test('of a token id with quotes is still JSON', () => {
    const { stack, tokens } = setUp();
    addCrm({ stack, tokens }, { tokenId: 'a"b\\c', schedule: EVERY_HALF_HOUR });
    const { Input: input } = propertiesOfOne(stack, SCHEDULE).Target as { Input: string };
    expect(JSON.parse(input)).toEqual({ tokenId: 'a"b\\c', since: '<aws.scheduler.scheduled-time>' });
  });

  test('is not there by default, and neither is its alias', () => {
    const { stack, tokens } = setUp();
    const crm = addCrm({ stack, tokens });
    expect(crm.schedule).toBeUndefined();
    for (const type of [SCHEDULE, 'AWS::Lambda::Alias']) Template.fromStack(stack).resourceCountIs(type, 0);
  });

  test.each<[string, scheduler.ScheduleExpression, scheduler.TimeWindow | undefined, number | undefined]>([
    ['as long as the token lives', scheduler.ScheduleExpression.rate(Duration.hours(1)), undefined, 3600],
    ['longer than the token lives', scheduler.ScheduleExpression.rate(Duration.days(1)), undefined, 86_400],
    ['shorter, but for its window', EVERY_HALF_HOUR, scheduler.TimeWindow.flexible(Duration.minutes(30)), 3600],
    ['shorter', EVERY_HALF_HOUR, scheduler.TimeWindow.flexible(Duration.minutes(29)), undefined],
    ['not known', scheduler.ScheduleExpression.cron({ hour: '3', minute: '0' }), undefined, undefined],
  ])('whose time from run to run is %s', (_name, schedule, timeWindow, gap) => {
    const { stack, tokens } = setUp();
    const credentials = secretsmanager.Secret.fromSecretCompleteArn(stack, 'Secret', SECRET_ARN);
    addCrm({ stack, tokens }, {
      source: TokenSource.clientCredentials({ tokenUrl: TOKEN_URL, credentials, tokenLife: Duration.hours(1) }), schedule, timeWindow,
    });
    const expected = [['/Stack0/Tokens/Crm', expect.stringMatching(new RegExp(`every ${gap} s .* lives 3600 s.*:slowSchedule\\]`))]];
    expect(warningsIn(stack)).toEqual(gap === undefined ? [] : expected);
  });

  test('is not compared with the life of a token whose answer tells it', () => {
    const { stack, tokens } = setUp();
    addCrm({ stack, tokens }, { schedule: scheduler.ScheduleExpression.rate(Duration.days(30)) });
    expect(warningsIn(stack)).toEqual([]);
  });
});

describe('invocations that nobody waits for are retried twice within 15 minutes, and kept when they fail:', () => {
  const configs = (stack: Stack) => Object.values(Template.fromStack(stack).findResources(CONFIG)).map(({ Properties }) => Properties);
  const bounded = (stack: Stack, qualifier: unknown) => ({
    DestinationConfig: { OnFailure: { Destination: { 'Fn::GetAtt': [idOf(stack, QUEUE), 'Arn'] } } },
    FunctionName: { Ref: idOf(stack, FUNCTION, 'TokensCrm') },
    MaximumEventAgeInSeconds: 900,
    MaximumRetryAttempts: 2,
    Qualifier: qualifier,
  });

  test('those of readers, of a deployment and of a schedule, each under its qualifier', () => {
    const { stack, tokens } = setUp();
    addCrm({ stack, tokens }, { schedule: EVERY_HALF_HOUR });
    const aliasName = { 'Fn::Select': [7, { 'Fn::Split': [':', { Ref: idOf(stack, 'AWS::Lambda::Alias') }] }] };
    expect(configs(stack)).toEqual([
      bounded(stack, '$LATEST'),
      bounded(stack, { 'Fn::GetAtt': [idOf(stack, 'AWS::Lambda::Version'), 'Version'] }),
      bounded(stack, aliasName),
    ]);
  });

  test('not those of a deployment that waits', () => {
    const { stack, tokens } = setUp();
    addCrm({ stack, tokens }, { firstToken: FirstToken.REQUIRED });
    expect(configs(stack)).toEqual([bounded(stack, '$LATEST')]);
  });
});

describe('failures', () => {
  test('go to a queue of the refresher: encrypted, for TLS alone, for as long as SQS keeps messages', () => {
    const { stack, tokens } = setUp();
    addCrm({ stack, tokens });
    expect(propertiesOfOne(stack, QUEUE)).toEqual({ MessageRetentionPeriod: 1_209_600, SqsManagedSseEnabled: true });
    expect(propertiesOfOne(stack, 'AWS::SQS::QueuePolicy')).toMatchObject({
      PolicyDocument: { Statement: [{ Effect: 'Deny', Action: 'sqs:*', Condition: { Bool: { 'aws:SecureTransport': 'false' } } }] },
    });
  });

  test('of several refreshers stay apart', () => {
    const { stack, tokens } = setUp();
    const crm = addCrm({ stack, tokens });
    const other = tokens.addRefresher('Erp', { tokenId: 'erp', source: source(stack) });
    expect(crm.failureQueue).not.toBe(other.failureQueue);
    Template.fromStack(stack).resourceCountIs(QUEUE, 2);
  });

  test('go to the queue that was given', () => {
    const { stack, tokens } = setUp();
    const failureQueue = new sqs.Queue(stack, 'Mine');
    const crm = addCrm({ stack, tokens }, { failureQueue, schedule: EVERY_HALF_HOUR });
    expect(crm.failureQueue).toBe(failureQueue);
    Template.fromStack(stack).resourceCountIs(QUEUE, 1);
    Template.fromStack(stack).hasResourceProperties(SCHEDULE, { Target: { DeadLetterConfig: { Arn: stack.resolve(failureQueue.queueArn) } } });
  });

  test('cannot go to a FIFO queue', () => {
    const { stack, tokens } = setUp();
    const failureQueue = new sqs.Queue(stack, 'Mine', { fifo: true });
    expect(() => addCrm({ stack, tokens }, { failureQueue }))
      .toThrow('Stack0/Tokens/Crm: Neither Lambda nor EventBridge Scheduler delivers failures to a FIFO queue. Got the FIFO queue Stack0/Mine');
  });

  test.each([
    ['another region', `arn:aws:sqs:us-east-1:${ACCOUNT}:failures`, `${ACCOUNT}/us-east-1`],
    ['another account', `arn:aws:sqs:${REGION}:${OTHER_ACCOUNT}:failures`, `${OTHER_ACCOUNT}/${REGION}`],
  ])('cannot go to %s', (_name, arn, place) => {
    const { stack, tokens } = setUp();
    expect(() => addCrm({ stack, tokens }, { failureQueue: sqs.Queue.fromQueueArn(stack, 'Mine', arn) })).toThrow(
      `Stack0/Tokens/Crm: Lambda and EventBridge Scheduler deliver failures within their account and region. Got the queue Stack0/Mine in ${place}, ` +
      `expected a queue in ${ACCOUNT}/${REGION}.`,
    );
  });

  test.each<[string, StackProps]>([['the same place', { env: { account: ACCOUNT, region: REGION } }], ['a place that is known only at deployment', {}]])('can go to %s', (_name, props) => {
    const { stack, tokens } = setUp(props);
    const failureQueue = sqs.Queue.fromQueueArn(stack, 'Mine', `arn:aws:sqs:${REGION}:${ACCOUNT}:failures`);
    expect(() => addCrm({ stack, tokens }, { failureQueue })).not.toThrow();
  });
});

describe('the first token', () => {
  test('is fetched at deployment by default, without waiting, and again whenever the refresher changes', () => {
    const { stack, tokens } = setUp();
    const crm = addCrm({ stack, tokens });
    expect(propertiesOfOne(stack, TRIGGER)).toEqual({
      ServiceToken: expect.anything(),
      HandlerArn: { Ref: idOf(stack, 'AWS::Lambda::Version') },
      InvocationType: 'Event',
      ExecuteOnHandlerChange: true,
      Timeout: '45000',
    });
    expect(crm.trigger?.node.path).toBe('Stack0/Tokens/Crm/FirstToken');
  });

  test.each<[string, Partial<TokenRefresherProps>]>([
    ['another URL', { source: TokenSource.httpRequest({ url: 'https://other.example.com/' }) }],
    ['another timeout', { timeout: Duration.seconds(31) }],
  ])('is fetched by a new version after a change: %s', (_name, change) => {
    const versionOf = (props: Partial<TokenRefresherProps>) => {
      const { stack, tokens } = setUp();
      addCrm({ stack, tokens }, props);
      return idOf(stack, 'AWS::Lambda::Version');
    };
    expect(versionOf(change)).not.toBe(versionOf({}));
    expect(versionOf(change)).toBe(versionOf(change));
  });

  test('can be required: the deployment waits for it, once, as long as the function may run and start', () => {
    const { stack, tokens } = setUp();
    addCrm({ stack, tokens }, { firstToken: FirstToken.REQUIRED, timeout: Duration.seconds(60) });
    expect(propertiesOfOne(stack, TRIGGER)).toMatchObject({ InvocationType: 'RequestResponse', ExecuteOnHandlerChange: false, Timeout: '75000' });
  });

  test('can be left to others', () => {
    const { stack, tokens } = setUp();
    const crm = addCrm({ stack, tokens }, { firstToken: FirstToken.NONE });
    expect(crm.trigger).toBeUndefined();
    for (const type of [TRIGGER, 'AWS::Lambda::Version']) Template.fromStack(stack).resourceCountIs(type, 0);
  });

  test('is fetched once the policy of the role is there, failures are kept, and the schedule has had its first run', () => {
    const { stack, tokens } = setUp();
    addCrm({ stack, tokens }, { schedule: EVERY_HALF_HOUR });
    expect(one(stack, FUNCTION, 'TokensCrm').DependsOn).toEqual(expect.arrayContaining([idOf(stack, 'AWS::IAM::Policy', 'TokensCrmRole')]));
    expect(one(stack, TRIGGER).DependsOn).toEqual(expect.arrayContaining([
      idOf(stack, 'AWS::Lambda::Version'),
      idOf(stack, CONFIG, 'TokensCrmFunctionCurrentVersion'),
      idOf(stack, SCHEDULE),
    ]));
  });

  test('can be waited for', () => {
    const { stack, tokens } = setUp();
    const fn = newFunction(stack, 'Fn');
    addCrm({ stack, tokens }, { firstToken: FirstToken.REQUIRED }).trigger!.executeBefore(fn);
    expect(one(stack, FUNCTION, 'Fn').DependsOn).toContain(idOf(stack, TRIGGER));
  });

  test('of a timeout that is known only at deployment is waited for as long as CDK does', () => {
    const { stack, tokens } = setUp();
    const timeout = Duration.seconds(new CfnParameter(stack, 'Timeout', { type: 'Number' }).valueAsNumber);
    addCrm({ stack, tokens }, { timeout });
    expect(propertiesOfOne(stack, TRIGGER).Timeout).toBe('120000');
  });
});
