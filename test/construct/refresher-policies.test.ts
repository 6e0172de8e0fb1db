import { App, Duration, SecretValue, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import * as dynamodb from 'aws-cdk-lib/aws-dynamodb';
import * as ec2 from 'aws-cdk-lib/aws-ec2';
import * as kms from 'aws-cdk-lib/aws-kms';
import * as logs from 'aws-cdk-lib/aws-logs';
import * as scheduler from 'aws-cdk-lib/aws-scheduler';
import * as secretsmanager from 'aws-cdk-lib/aws-secretsmanager';
import * as sqs from 'aws-cdk-lib/aws-sqs';
import * as ssm from 'aws-cdk-lib/aws-ssm';
import { addCrm, idOf, one, propertiesOfOne, SECRET_ARN, setUp, TABLE_ARN, TOKEN_URL } from './support/refreshers';
import { ACCOUNT, newFunction, newStack, OTHER_ACCOUNT, REGION, Statement, statementsIn, variablesOf, warningIdsIn, warningsIn } from './support/stacks';
import { SharedTokenTable, TokenSource } from '../../src';

const EVERY_HALF_HOUR = scheduler.ScheduleExpression.rate(Duration.minutes(30));
const KEY_ARN = `arn:aws:kms:${REGION}:${ACCOUNT}:key/11111111-2222-3333-4444-555555555555`;

/** Written out on purpose, as in grants.test.ts. */
const READABLE = ['tokenId', 'accessToken', 'generation', 'issuedAt', 'expiresAt', 'lease', 'refreshMs', 'failure', 'meta', 'expireAfter'];

const allow = (action: string | string[], resource: unknown, condition?: unknown): Statement =>
  ({ Effect: 'Allow', Action: action, Resource: resource, ...(condition !== undefined && { Condition: condition }) });
const arnOf = (stack: Stack, type: string, prefix = '') => ({ 'Fn::GetAtt': [idOf(stack, type, prefix), 'Arn'] });
const via = (service: string) => ({ StringEquals: { 'kms:ViaService': `${service}.${REGION}.amazonaws.com` } });

const ownLogs = (stack: Stack) => allow(['logs:CreateLogStream', 'logs:PutLogEvents'], arnOf(stack, 'AWS::Logs::LogGroup'));
const ownToken = allow(['dynamodb:GetItem', 'dynamodb:UpdateItem'], TABLE_ARN, {
  'ForAllValues:StringEquals': { 'dynamodb:LeadingKeys': ['crm'] },
  'Null': { 'dynamodb:LeadingKeys': 'false' },
});
const ownQueue = (stack: Stack) => allow('sqs:SendMessage', arnOf(stack, 'AWS::SQS::Queue'));

/** What the source adds to the policy of a refresher's role. */
function credentialStatements(makeSource: (stack: Stack) => TokenSource): Statement[] {
  const { stack, tokens } = setUp();
  addCrm({ stack, tokens }, { source: makeSource(stack), schedule: EVERY_HALF_HOUR });
  expect(warningsIn(stack)).toEqual([]);
  const all = statementsIn(stack, 'TokensCrmRole');
  expect([all[0], ...all.slice(-2)]).toEqual([ownLogs(stack), ownToken, ownQueue(stack)]);
  return all.slice(1, -2);
}

const withSecret = (credentials: secretsmanager.ISecret) => TokenSource.clientCredentials({ tokenUrl: TOKEN_URL, credentials });
const withParameter = (credentialsParameter: ssm.IStringParameter) => TokenSource.clientCredentials({ tokenUrl: TOKEN_URL, credentialsParameter });

test("a refresher's role may write its own log, read its own secret, refresh its own token and report its own failures, and nothing else", () => {
  const { stack, tokens } = setUp();
  addCrm({ stack, tokens }, { schedule: EVERY_HALF_HOUR });
  expect(statementsIn(stack, 'TokensCrmRole')).toEqual([ownLogs(stack), allow('secretsmanager:GetSecretValue', SECRET_ARN), ownToken, ownQueue(stack)]);
  const role = propertiesOfOne(stack, 'AWS::IAM::Role', 'TokensCrmRole');
  expect(role).toEqual({
    AssumeRolePolicyDocument: {
      Statement: [{ Effect: 'Allow', Action: 'sts:AssumeRole', Principal: { Service: 'lambda.amazonaws.com' } }],
      Version: '2012-10-17',
    },
  });
});

test("the scheduler's role may invoke the alias of the schedule and report failures, in the name of this account's schedules", () => {
  const { stack, tokens } = setUp();
  addCrm({ stack, tokens }, { schedule: EVERY_HALF_HOUR });
  expect(statementsIn(stack, 'TokensCrmSchedulerRole')).toEqual([
    allow('lambda:InvokeFunction', { Ref: idOf(stack, 'AWS::Lambda::Alias') }),
    ownQueue(stack),
  ]);
  expect(propertiesOfOne(stack, 'AWS::IAM::Role', 'TokensCrmSchedulerRole')).toEqual({
    AssumeRolePolicyDocument: {
      Statement: [{
        Effect: 'Allow',
        Action: 'sts:AssumeRole',
        Principal: { Service: 'scheduler.amazonaws.com' },
        Condition: {
          StringEquals: {
            'aws:SourceAccount': ACCOUNT,
            'aws:SourceArn': { 'Fn::Join': ['', ['arn:', { Ref: 'AWS::Partition' }, `:scheduler:${REGION}:${ACCOUNT}:schedule-group/default`]] },
          },
        },
      }],
      Version: '2012-10-17',
    },
  });
});

test("a reader's role may read the token and invoke the refresher's function itself: no alias, no version, no refresh token", () => {
  const { stack, tokens } = setUp();
  addCrm({ stack, tokens }, { schedule: EVERY_HALF_HOUR }).attachTo(newFunction(stack, 'Fn'));
  expect(statementsIn(stack, 'FnServiceRole')).toEqual([
    allow('dynamodb:GetItem', TABLE_ARN, {
      'StringEquals': { 'dynamodb:Select': 'SPECIFIC_ATTRIBUTES' },
      'ForAllValues:StringEquals': { 'dynamodb:Attributes': READABLE, 'dynamodb:LeadingKeys': ['crm'] },
      'Null': { 'dynamodb:Attributes': 'false', 'dynamodb:LeadingKeys': 'false' },
    }),
    allow('lambda:InvokeFunction', arnOf(stack, 'AWS::Lambda::Function', 'TokensCrm')),
  ]);
});

describe('the refresher may read', () => {
  test('a secret of this app, by its ARN', () => {
    let secretId;
    expect(credentialStatements((stack) => {
      const secret = new secretsmanager.Secret(stack, 'Secret');
      secretId = stack.resolve(secret.secretArn);
      return withSecret(secret);
    })).toEqual([allow('secretsmanager:GetSecretValue', secretId)]);
  });

  test('a secret known by its name, with the six characters that are not known', () => {
    expect(credentialStatements(stack => withSecret(secretsmanager.Secret.fromSecretNameV2(stack, 'Secret', 'crm/client')))).toEqual([
      allow('secretsmanager:GetSecretValue', { 'Fn::Join': ['', ['arn:', { Ref: 'AWS::Partition' }, `:secretsmanager:${REGION}:${ACCOUNT}:secret:crm/client-??????`]] }),
    ]);
  });

  test('a secret known by a part of its ARN', () => {
    const partial = `arn:aws:secretsmanager:${REGION}:${ACCOUNT}:secret:crm-client`;
    expect(credentialStatements(stack => withSecret(secretsmanager.Secret.fromSecretPartialArn(stack, 'Secret', partial))))
      .toEqual([allow('secretsmanager:GetSecretValue', `${partial}-??????`)]);
  });

  test('a secret under a customer managed key, which it uses through Secrets Manager alone', () => {
    expect(credentialStatements(stack => withSecret(secretsmanager.Secret.fromSecretAttributes(stack, 'Secret', {
      secretCompleteArn: SECRET_ARN, encryptionKey: kms.Key.fromKeyArn(stack, 'Key', KEY_ARN),
    })))).toEqual([allow('secretsmanager:GetSecretValue', SECRET_ARN), allow('kms:Decrypt', KEY_ARN, via('secretsmanager'))]);
  });

  test('the key itself, where a secret names an alias of it', () => {
    let keyId;
    const statements = credentialStatements((stack) => {
      const key = new kms.Key(stack, 'Key');
      keyId = stack.resolve(key.keyArn);
      return withSecret(new secretsmanager.Secret(stack, 'Secret', { encryptionKey: key.addAlias('secrets') }));
    });
    expect(statements[1].Resource).toEqual(keyId);
  });

  test.each<[string, (stack: Stack) => kms.IKey]>([
    ['by its name', stack => kms.Alias.fromAliasName(stack, 'Key', 'alias/aws/secretsmanager')],
    ['by its ARN', stack => kms.Key.fromKeyArn(stack, 'Key', `arn:aws:kms:${REGION}:${ACCOUNT}:alias/aws/secretsmanager`)],
  ])('a secret under the key of Secrets Manager itself (known %s), which lets in who may read the secret', (_name, keyIn) => {
    const secretIn = (stack: Stack) => secretsmanager.Secret.fromSecretAttributes(stack, 'Secret', { secretCompleteArn: SECRET_ARN, encryptionKey: keyIn(stack) });
    expect(credentialStatements(stack => withSecret(secretIn(stack)))).toEqual([allow('secretsmanager:GetSecretValue', SECRET_ARN)]);
  });

  test('no secret whose key is known by an alias alone', () => {
    const { stack, tokens } = setUp();
    const encryptionKey = kms.Alias.fromAliasName(stack, 'Key', 'alias/crm');
    const secret = secretsmanager.Secret.fromSecretAttributes(stack, 'Secret', { secretCompleteArn: SECRET_ARN, encryptionKey });
    expect(() => addCrm({ stack, tokens }, { source: withSecret(secret) })).toThrow(/^Stack0\/Tokens\/Crm: Whoever uses a key needs permission for the key itself/);
  });

  test('a parameter', () => {
    expect(credentialStatements(stack => withParameter(ssm.StringParameter.fromSecureStringParameterAttributes(stack, 'Parameter', { parameterName: '/crm/client' }))))
      .toEqual([allow('ssm:GetParameter', { 'Fn::Join': ['', ['arn:', { Ref: 'AWS::Partition' }, `:ssm:${REGION}:${ACCOUNT}:parameter/crm/client`]] })]);
  });

  test('a parameter under a customer managed key, which it uses through Parameter Store alone', () => {
    expect(credentialStatements(stack => withParameter(ssm.StringParameter.fromSecureStringParameterAttributes(stack, 'Parameter', {
      parameterName: '/crm/client', encryptionKey: kms.Key.fromKeyArn(stack, 'Key', KEY_ARN),
    })))[1]).toEqual(allow('kms:Decrypt', KEY_ARN, via('ssm')));
  });

  test('nothing, where the source has no credentials', () => {
    expect(credentialStatements(() => TokenSource.httpRequest({ url: TOKEN_URL }))).toEqual([]);
  });
});

describe('credentials of another account', () => {
  const elsewhere = (stack: Stack) => newStack({ env: { account: OTHER_ACCOUNT, region: REGION } }, stack.node.root as App);

  test.each<[string, (stack: Stack) => TokenSource, RegExp]>([
    [
      'secret',
      stack => withSecret(secretsmanager.Secret.fromSecretCompleteArn(stack, 'Secret', SECRET_ARN.replace(ACCOUNT, OTHER_ACCOUNT))),
      /"secretArn":"arn:aws:secretsmanager:eu-west-1:222222222222:secret:crm-client-AbCdEf"/,
    ],
    [
      'parameter', // by its ARN, since a name is one of the own account
      stack => withParameter(ssm.StringParameter.fromSecureStringParameterAttributes(elsewhere(stack), 'Parameter', { parameterName: '/crm/client' })),
      /"parameterName\\*":\\*"arn:.*:ssm:eu-west-1:222222222222:parameter\/crm\/client/,
    ],
  ])('are allowed here, and a warning says what else it takes: a %s', (noun, makeSource, setting) => {
    const { stack, tokens } = setUp();
    const crm = addCrm({ stack, tokens }, { source: makeSource(stack), schedule: EVERY_HALF_HOUR });
    expect(JSON.stringify(variablesOf(stack, crm.function).SHARED_TOKEN_SOURCE).replaceAll('\\"', '"')).toMatch(setting);
    expect(warningsIn(stack)).toEqual([
      ['/Stack0/Tokens/Crm', expect.stringMatching(new RegExp(`The ${noun} with the credentials is in account ${OTHER_ACCOUNT}.*:crossAccountCredentials\\]`))],
    ]);
  });

  test('are not guessed at, where the stack does not know its own', () => {
    const { stack, tokens } = setUp({});
    addCrm({ stack, tokens }, { schedule: EVERY_HALF_HOUR });
    expect(warningsIn(stack)).toEqual([]);
  });
});

test("the customer managed key of the table is the refresher's, too", () => {
  const stack = newStack({ env: { account: ACCOUNT, region: REGION } });
  const key = new kms.Key(stack, 'Key');
  const tokens = new SharedTokenTable(stack, 'Tokens', { encryption: dynamodb.TableEncryptionV2.customerManagedKey(key) });
  addCrm({ stack, tokens });
  expect(statementsIn(stack, 'TokensCrmRole')).toContainEqual(allow('kms:Decrypt', stack.resolve(key.keyArn), via('dynamodb')));
});

test('a failure queue under a customer managed key can be written to by Lambda and by the scheduler', () => {
  const { stack, tokens } = setUp();
  const key = new kms.Key(stack, 'Key');
  const failureQueue = new sqs.Queue(stack, 'Failures', { encryptionMasterKey: key });
  addCrm({ stack, tokens }, { failureQueue, schedule: EVERY_HALF_HOUR });
  for (const role of ['TokensCrmRole', 'TokensCrmSchedulerRole']) {
    expect(statementsIn(stack, role).slice(-2)).toEqual([ownQueue(stack), allow(['kms:GenerateDataKey', 'kms:Decrypt'], stack.resolve(key.keyArn), via('sqs'))]);
  }
});

test('a log group that was given is the one that the refresher may write to', () => {
  const { stack, tokens } = setUp();
  addCrm({ stack, tokens }, { logGroup: new logs.LogGroup(stack, 'MyLogs') });
  expect(statementsIn(stack, 'TokensCrmRole')[0]).toEqual(ownLogs(stack));
  expect(idOf(stack, 'AWS::Logs::LogGroup')).toMatch(/^MyLogs/);
});

test("in a VPC the role has Lambda's policy for network interfaces, and outside it no managed policy", () => {
  const managed = (vpc: boolean) => {
    const { stack, tokens } = setUp();
    addCrm({ stack, tokens }, vpc ? { vpc: new ec2.Vpc(stack, 'Vpc') } : {});
    return propertiesOfOne(stack, 'AWS::IAM::Role', 'TokensCrmRole').ManagedPolicyArns;
  };
  expect(managed(true)).toEqual([{ 'Fn::Join': ['', ['arn:', { Ref: 'AWS::Partition' }, ':iam::aws:policy/service-role/AWSLambdaVPCAccessExecutionRole']] }]);
  expect(managed(false)).toBeUndefined();
});

describe('no value of a secret reaches a template', () => {
  test('though the app knows it', () => {
    const { stack, tokens } = setUp();
    const value = 'correct-horse-battery-staple';
    const secret = new secretsmanager.Secret(stack, 'Secret', { secretStringValue: SecretValue.unsafePlainText(value) });
    addCrm({ stack, tokens }, { source: withSecret(secret) });
    const { Resources: resources } = Template.fromStack(stack).toJSON() as { Resources: { [id: string]: unknown } };
    delete resources[idOf(stack, 'AWS::SecretsManager::Secret')]; // where the test has put it
    expect(JSON.stringify(resources)).not.toContain(value);
    expect(JSON.stringify(resources)).not.toContain('{{resolve:');
  });

  const leaks: [string, (secret: secretsmanager.ISecret) => TokenSource][] = [
    ['a parameter', secret => TokenSource.clientCredentials({
      tokenUrl: TOKEN_URL, credentials: secret, parameters: { resource_owner: secret.secretValueFromJson('clientSecret').unsafeUnwrap() },
    })],
    ['a header', secret => TokenSource.httpRequest({ url: TOKEN_URL, headers: { 'x-api-key': secret.secretValue.unsafeUnwrap() } })],
    ['a URL', secret => TokenSource.httpRequest({ url: `https://auth.example.com/${secret.secretValue.unsafeUnwrap()}` })],
    ['a body', () => TokenSource.httpRequest({ url: TOKEN_URL, body: { a: [{ b: SecretValue.ssmSecure('/crm/client').unsafeUnwrap() }] } })],
  ];

  test.each(leaks)('by a dynamic reference, which CloudFormation would resolve: in %s', (_name, makeSource) => {
    const { stack, tokens } = setUp();
    const secret = secretsmanager.Secret.fromSecretCompleteArn(stack, 'Secret', SECRET_ARN);
    expect(() => addCrm({ stack, tokens }, { source: makeSource(secret) }))
      .toThrow(/^Stack0\/Tokens\/Crm: CloudFormation would write the value of a secret into the environment.*Got a dynamic reference, '\{\{resolve:(secretsmanager|ssm-secure):.*`credentials`/);
  });
});

test('the function waits for its policy, so that nothing invokes it before it may do what it must', () => {
  const { stack, tokens } = setUp();
  addCrm({ stack, tokens });
  expect(one(stack, 'AWS::Lambda::Function', 'TokensCrm').DependsOn).toContain(idOf(stack, 'AWS::IAM::Policy', 'TokensCrmRole'));
  expect(warningIdsIn(stack)).toEqual(['unusedRefresher']);
});
