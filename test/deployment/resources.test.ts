import { DescribeTableCommand } from '@aws-sdk/client-dynamodb';
import { GetFunctionCommand, GetLayerVersionByArnCommand, GetPolicyCommand } from '@aws-sdk/client-lambda';
import { Stack } from 'aws-cdk-lib';
import { askAws } from './support/aws';
import { Deployment } from './support/deployment';
import { ENV } from '../../src/private/contract';

/*
 * What stands in the account after `cdk deploy`, as the services themselves describe it. What the local cloud leaves out of a template stands in docs/local-cloud.md.
 */

const STACKS = ['SendMessage', 'Report', 'Scheduled', 'OnDemand', 'Orders', 'OwnRefresher'] as const;
const WITH_SCHEDULE = [
  ['Scheduled', { ScheduleExpression: 'rate(30 minutes)', FlexibleTimeWindow: { Mode: 'OFF' } }],
  ['Orders', { ScheduleExpression: 'cron(30 5 * * ? *)', FlexibleTimeWindow: { Mode: 'FLEXIBLE', MaximumWindowInMinutes: 15 } }],
  ['OwnRefresher', { ScheduleExpression: 'rate(6 hours)', FlexibleTimeWindow: { Mode: 'OFF' } }],
] as const;

let deployed: Deployment;

beforeAll(async () => {
  deployed = await Deployment.start();
  await deployed.deploy(...deployed.app.examples);
});
afterAll(async () => deployed?.stop());

type Name = typeof STACKS[number];
const stackOf = (name: Name) => Stack.of(deployed.app.consumers[name]);
const tokensOf = (name: Name) => ({
  SendMessage: deployed.app.sendMessage, Report: deployed.app.report, ...deployed.app.withRefresher,
})[name].tokens;
const arn = (service: string, resource: string) => `arn:aws:${service}:${deployed.cloud.region}:${deployed.cloud.account}:${resource}`;

interface DeployedResource {
  /** The physical one. */
  readonly id: string;
  /** As the template has them. */
  readonly properties: Readonly<Record<string, unknown>>;
}

/** The resources of a type that a stack has. */
async function deployedOf(name: Name, type: string): Promise<readonly DeployedResource[]> {
  const ids = await deployed.physicalIds(stackOf(name));
  return Object.entries(deployed.app.resourcesOf(stackOf(name)))
    .filter(([, { Type }]) => Type === type)
    .map(([logicalId, { Properties }]) => ({ id: ids.get(logicalId)!, properties: Properties }));
}

/** What a role's own policies say. */
async function statementsOf(role: string): Promise<readonly Record<string, unknown>[]> {
  const [{ PolicyNames }] = await askAws<[{ PolicyNames: string[] }]>(deployed.cloud, ['iam', 'list_role_policies', { RoleName: role }]);
  const answers = await askAws<readonly { PolicyDocument: { Statement: Record<string, unknown>[] } }[]>(
    deployed.cloud, ...PolicyNames.map(PolicyName => ['iam', 'get_role_policy', { RoleName: role, PolicyName }] as const),
  );
  return answers.flatMap(({ PolicyDocument }) => PolicyDocument.Statement);
}

/** The ARN of a refresher's failure queue. */
async function queueOf(name: keyof Deployment['app']['withRefresher']): Promise<string> {
  const url = await deployed.physicalId(deployed.app.withRefresher[name].crm.failureQueue);
  return arn('sqs', String(url.split('/').at(-1)));
}

describe.each(STACKS)('%s', name => {
  test('each resource of the template was created, and nothing else', async () => {
    const ids = await deployed.physicalIds(stackOf(name));
    expect([...ids.keys()].sort()).toEqual(Object.keys(deployed.app.resourcesOf(stackOf(name))).sort());
  });

  test('the table has one key, the token\'s id, and is paid by the request', async () => {
    const { Table } = await deployed.dynamoDb.send(new DescribeTableCommand({ TableName: await deployed.physicalId(tokensOf(name).table) }));
    expect(Table).toMatchObject({
      KeySchema: [{ AttributeName: 'tokenId', KeyType: 'HASH' }],
      AttributeDefinitions: [{ AttributeName: 'tokenId', AttributeType: 'S' }],
      BillingModeSummary: { BillingMode: 'PAY_PER_REQUEST' },
      TableStatus: 'ACTIVE',
    });
  });

  test('each function has what the template says, and its references resolved', async () => {
    const functions = await deployedOf(name, 'AWS::Lambda::Function');
    expect(functions).not.toEqual([]);
    for (const { id, properties } of functions) {
      const { Configuration } = await deployed.lambda.send(new GetFunctionCommand({ FunctionName: id }));
      const { Handler, Runtime, Timeout, MemorySize = 128, Layers = [], Environment } = properties as {
        readonly [name: string]: unknown; readonly Layers?: readonly unknown[]; readonly Environment?: { readonly Variables: object };
      };
      expect(Configuration).toMatchObject({ Handler, Runtime, Timeout, MemorySize });
      expect(Configuration?.Layers ?? []).toHaveLength(Layers.length);
      expect(Object.keys(Configuration?.Environment?.Variables ?? {}).sort()).toEqual(Object.keys(Environment?.Variables ?? {}).sort());
      expect(JSON.stringify(Configuration)).not.toMatch(/"Ref"|Fn::/);
    }
  });

  test('the consumer has the layer of its stack, knows the table, and where there is one to ask, the refresher', async () => {
    const consumer = deployed.app.consumers[name];
    const { Configuration } = await deployed.lambda.send(new GetFunctionCommand({ FunctionName: await deployed.physicalId(consumer) }));
    const [layer] = await deployedOf(name, 'AWS::Lambda::LayerVersion');
    expect(Configuration?.Layers?.map(({ Arn }) => Arn)).toEqual([layer.id]);
    expect(Configuration?.Environment?.Variables?.[ENV.TABLE]).toBe(await deployed.physicalId(tokensOf(name).table));
    const asked = name === 'OnDemand' || name === 'Orders' || name === 'OwnRefresher' ? deployed.app.withRefresher[name].crm.function : undefined;
    expect(Configuration?.Environment?.Variables?.[ENV.REFRESHERS]).toBe(asked && JSON.stringify({ crm: await deployed.physicalId(asked) }));
  });

  test('the layer is for the runtimes that the template names', async () => {
    const [{ id, properties }] = await deployedOf(name, 'AWS::Lambda::LayerVersion');
    const { CompatibleRuntimes, Content } = await deployed.lambda.send(new GetLayerVersionByArnCommand({ Arn: id }));
    expect(CompatibleRuntimes).toEqual(properties.CompatibleRuntimes);
    expect(Content?.CodeSize).toBeGreaterThan(10_000);
  });

  test('the consumer\'s role may read or refresh in this table alone', async () => {
    const statements = await statementsOf(await deployed.physicalId(deployed.app.consumers[name].role!));
    expect(statements.filter(({ Action }) => JSON.stringify(Action).includes('dynamodb:'))).toMatchObject([{
      Effect: 'Allow',
      Action: name === 'SendMessage' ? ['dynamodb:GetItem', 'dynamodb:UpdateItem'] : 'dynamodb:GetItem',
      Resource: arn('dynamodb', `table/${await deployed.physicalId(tokensOf(name).table)}`),
      Condition: { 'ForAllValues:StringEquals': { 'dynamodb:LeadingKeys': name === 'Report' ? ['crm', 'erp'] : ['crm'] }, 'Null': { 'dynamodb:LeadingKeys': 'false' } },
    }]);
  });
});

describe.each(WITH_SCHEDULE)('the schedule of %s', (name, times) => {
  test('invokes the alias `scheduled` in the name of a role that may do that alone, with bounded retries', async () => {
    const { crm } = deployed.app.withRefresher[name];
    const refresher = arn('lambda', `function:${await deployed.physicalId(crm.function)}`);
    const queue = await queueOf(name);
    const Name = await deployed.physicalId(crm.schedule!);
    const [schedule] = await askAws<[{ Target: { RoleArn: string } }]>(deployed.cloud, ['scheduler', 'get_schedule', { Name }]);
    expect(schedule).toMatchObject({
      ...times,
      State: 'ENABLED',
      Target: {
        Arn: `${refresher}:scheduled`,
        Input: JSON.stringify({ tokenId: 'crm', since: '<aws.scheduler.scheduled-time>' }),
        RetryPolicy: { MaximumRetryAttempts: 2, MaximumEventAgeInSeconds: 900 },
        DeadLetterConfig: { Arn: queue },
      },
    });
    const statements = await statementsOf(String(schedule.Target.RoleArn.split('/').at(-1)));
    expect(statements.map(({ Action, Resource }) => [Action, Resource])).toEqual([
      ['lambda:InvokeFunction', `${refresher}:scheduled`],
      ['sqs:SendMessage', queue],
    ]);
  });
});

describe.each(['Scheduled', 'OnDemand', 'Orders', 'OwnRefresher'] as const)('the refresher of %s', name => {
  const qualifiers = name === 'OnDemand' ? ['$LATEST', '1'] : ['$LATEST', '1', 'scheduled'];

  test(`sends what fails for good to its queue, invoked as ${qualifiers.join(', ')}`, async () => {
    const { crm } = deployed.app.withRefresher[name];
    const FunctionName = await deployed.physicalId(crm.function);
    const [configs, { Aliases }] = await askAws<[{ FunctionEventInvokeConfigs: { FunctionArn: string }[] }, { Aliases: object[] }]>(
      deployed.cloud, ['lambda', 'list_function_event_invoke_configs', { FunctionName }], ['lambda', 'list_aliases', { FunctionName }],
    );
    const queue = await queueOf(name);
    const sorted = [...configs.FunctionEventInvokeConfigs].sort((one, other) => one.FunctionArn < other.FunctionArn ? -1 : 1);
    expect(sorted).toMatchObject(qualifiers.map(qualifier => ({
      FunctionArn: `${arn('lambda', `function:${FunctionName}`)}:${qualifier}`,
      MaximumRetryAttempts: 2,
      MaximumEventAgeInSeconds: 900,
      DestinationConfig: { OnFailure: { Destination: queue } },
    })));
    expect(Aliases).toMatchObject(name === 'OnDemand' ? [] : [{ Name: 'scheduled', FunctionVersion: '$LATEST' }]);
  });

  test('has a queue that is encrypted, kept for two weeks, and closed to whoever comes without TLS', async () => {
    const QueueUrl = await deployed.physicalId(deployed.app.withRefresher[name].crm.failureQueue);
    const [{ Attributes }] = await askAws<[{ Attributes: Record<string, string> }]>(
      deployed.cloud, ['sqs', 'get_queue_attributes', { QueueUrl, AttributeNames: ['All'] }],
    );
    expect(Attributes).toMatchObject({ MessageRetentionPeriod: String(14 * 86_400), SqsManagedSseEnabled: 'true' });
    expect(JSON.parse(Attributes.Policy)).toMatchObject({ Statement: [{ Effect: 'Deny', Action: 'sqs:*', Condition: { Bool: { 'aws:SecureTransport': 'false' } } }] });
  });

  test('lets nobody invoke it by a policy of its own', async () => {
    const FunctionName = await deployed.physicalId(deployed.app.withRefresher[name].crm.function);
    const { Policy } = await deployed.lambda.send(new GetPolicyCommand({ FunctionName }));
    expect(JSON.parse(String(Policy))).toMatchObject({ Statement: [] });
  });
});

test('Report: the key of the table rotates', async () => {
  const [{ id }] = await deployedOf('Report', 'AWS::KMS::Key');
  const [rotation] = await askAws<[object]>(deployed.cloud, ['kms', 'get_key_rotation_status', { KeyId: id }]);
  expect(rotation).toMatchObject({ KeyRotationEnabled: true });
});

test('the secret has the ARN that the refreshers were told', async () => {
  const SecretId = await deployed.physicalId(deployed.app.credentials);
  const [{ ARN, Description }] = await askAws<[{ ARN: string; Description: string }]>(deployed.cloud, ['secretsmanager', 'describe_secret', { SecretId }]);
  expect(Description).toBe('JSON with clientId and clientSecret');
  const FunctionName = await deployed.physicalId(deployed.app.orders.crm.function);
  const { Configuration } = await deployed.lambda.send(new GetFunctionCommand({ FunctionName }));
  expect(JSON.parse(String(Configuration?.Environment?.Variables?.[ENV.SOURCE]))).toMatchObject({ credentials: { secretArn: ARN } });
});
