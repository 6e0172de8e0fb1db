import { App, Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import * as dynamodb from 'aws-cdk-lib/aws-dynamodb';
import * as ec2 from 'aws-cdk-lib/aws-ec2';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as kms from 'aws-cdk-lib/aws-kms';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as logs from 'aws-cdk-lib/aws-logs';
import * as scheduler from 'aws-cdk-lib/aws-scheduler';
import * as secretsmanager from 'aws-cdk-lib/aws-secretsmanager';
import * as sqs from 'aws-cdk-lib/aws-sqs';
import * as ssm from 'aws-cdk-lib/aws-ssm';
import { Construct } from 'constructs';
import { ownLog } from '../../../examples/own-log';
import { FirstToken, SharedTokenTable, TokenAccess, TokenSource } from '../../../src';
import { SECRET_ARN, TOKEN_URL } from '../../construct/support/refreshers';
import { ACCOUNT, REGION } from '../../construct/support/stacks';

/*
 * One stack for each branch in which the constructs render resources. What the stacks need beside is imported, or as safe as can be: whatever is found in them
 * is ours.
 */

const HOURLY = scheduler.ScheduleExpression.rate(Duration.hours(1));
const ENV = { account: ACCOUNT, region: REGION };

/** What a stack holds. */
export type Scenario = (stack: Stack) => void;

export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  Table: stack => void new SharedTokenTable(stack, 'Tokens'),

  TableUnderAwsKey: stack => void new SharedTokenTable(stack, 'Tokens', { encryption: dynamodb.TableEncryptionV2.awsManagedKey() }),

  TableUnderCustomerKey: stack => {
    const tokens = new SharedTokenTable(stack, 'Tokens', { encryption: dynamodb.TableEncryptionV2.customerManagedKey(rotatedKey(stack, 'Key')) });
    tokens.attachTo(consumer(stack, 'Consumer'), { tokenIds: ['crm', 'bot-*'] });
    tokens.attachTo(consumer(stack, 'Reader'), { access: TokenAccess.READ });
  },

  Consumers: stack => {
    const tokens = new SharedTokenTable(stack, 'Tokens');
    tokens.attachTo(consumer(stack, 'Consumer'));
    tokens.attachTo(consumer(stack, 'Reader'), { access: TokenAccess.READ, tokenIds: ['crm', 'bot-*'] });
    const role = new iam.Role(stack, 'Task', { assumedBy: new iam.ServicePrincipal('ecs-tasks.amazonaws.com') });
    tokens.grantRead(role, 'crm');
    tokens.grantRefresh(role, 'bot-*');
    tokens.grantOperate(new iam.Role(stack, 'OnCall', { assumedBy: new iam.ServicePrincipal('ssm.amazonaws.com') }), 'crm', 'bot-*');
  },

  EncryptedTokens: stack => {
    const tokens = new SharedTokenTable(stack, 'Tokens', { tokenEncryptionKey: rotatedKey(stack, 'Key') });
    tokens.attachTo(consumer(stack, 'Consumer'), { tokenIds: ['bot-*'] });
    tokens.addRefresher('Crm', {
      tokenId: 'crm', source: TokenSource.refreshToken({ tokenUrl: TOKEN_URL, credentials: secret(stack) }), schedule: HOURLY,
    }).attachTo(consumer(stack, 'Reader'));
  },

  Prebuilt: stack => {
    const encryptionKey = rotatedKey(stack, 'SecretKey');
    const credentials = secretsmanager.Secret.fromSecretAttributes(stack, 'Secret', { secretCompleteArn: SECRET_ARN, encryptionKey });
    const crm = new SharedTokenTable(stack, 'Tokens').addRefresher('Crm', {
      tokenId: 'crm', source: TokenSource.clientCredentials({ tokenUrl: TOKEN_URL, credentials }), schedule: HOURLY,
    });
    crm.attachTo(consumer(stack, 'Reader'));
  },

  PrebuiltInVpc: stack => {
    const vpc = ec2.Vpc.fromVpcAttributes(stack, 'Vpc', { vpcId: 'vpc-1', availabilityZones: [`${REGION}a`], privateSubnetIds: ['subnet-1'] });
    new SharedTokenTable(stack, 'Tokens').addRefresher('Crm', {
      tokenId: 'crm',
      source: TokenSource.refreshToken({ tokenUrl: TOKEN_URL, credentials: secret(stack) }),
      schedule: HOURLY,
      timeWindow: scheduler.TimeWindow.flexible(Duration.minutes(10)),
      vpc,
    });
  },

  PrebuiltWithAllOfTheUsers: stack => {
    const key = rotatedKey(stack, 'Key');
    const credentialsParameter = ssm.StringParameter.fromSecureStringParameterAttributes(stack, 'Parameter', {
      parameterName: '/crm/client', encryptionKey: key,
    });
    new SharedTokenTable(stack, 'Tokens', { encryption: dynamodb.TableEncryptionV2.customerManagedKey(key) }).addRefresher('Crm', {
      tokenId: 'crm',
      source: TokenSource.clientCredentials({ tokenUrl: TOKEN_URL, credentialsParameter }),
      schedule: HOURLY,
      firstToken: FirstToken.REQUIRED,
      failureQueue: failureQueue(stack, key),
      logGroup: new logs.LogGroup(stack, 'Logs', { retention: logs.RetentionDays.ONE_WEEK, encryptionKey: key }),
      environmentEncryption: key,
    });
  },

  PrebuiltWithSecretByName: stack => {
    const credentials = secretsmanager.Secret.fromSecretNameV2(stack, 'Secret', 'crm-client');
    new SharedTokenTable(stack, 'Tokens').addRefresher('Crm', {
      tokenId: 'crm', source: TokenSource.clientCredentials({ tokenUrl: TOKEN_URL, credentials }), schedule: HOURLY,
    });
  },

  PrebuiltOnDemand: stack => {
    const crm = new SharedTokenTable(stack, 'Tokens').addRefresher('Crm', {
      tokenId: 'crm', source: TokenSource.httpRequest({ url: TOKEN_URL }), firstToken: FirstToken.NONE,
    });
    crm.attachTo(consumer(stack, 'Reader'));
  },

  OwnRefresher: stack => {
    const source = TokenSource.fromFunction(consumer(stack, 'Refresher'));
    new SharedTokenTable(stack, 'Tokens').addRefresher('Crm', { tokenId: 'crm', source, schedule: HOURLY });
  },

  OwnRefresherOnDemand: stack => {
    const key = rotatedKey(stack, 'Key');
    const crm = new SharedTokenTable(stack, 'Tokens').addRefresher('Crm', {
      tokenId: 'crm',
      source: TokenSource.fromFunction(consumer(stack, 'Refresher')),
      firstToken: FirstToken.REQUIRED,
      failureQueue: failureQueue(stack, key),
    });
    crm.attachTo(consumer(stack, 'Reader'));
  },

  ImportedTable: stack => {
    SharedTokenTable.fromTableName(stack, 'Tokens', 'crm-tokens').addRefresher('Crm', {
      tokenId: 'crm', source: TokenSource.refreshToken({ tokenUrl: TOKEN_URL, credentials: secret(stack) }), schedule: HOURLY,
    });
  },

  TableToThrowAway: stack => {
    new SharedTokenTable(stack, 'Tokens', { removalPolicy: RemovalPolicy.DESTROY }).addRefresher('Crm', {
      tokenId: 'crm', source: TokenSource.clientCredentials({ tokenUrl: TOKEN_URL, credentials: secret(stack) }), schedule: HOURLY,
    });
  },
};

export function scenarioStack(name: string, app: App = new App()): Stack {
  const stack = new Stack(app, name, { env: ENV });
  SCENARIOS[name](stack);
  return stack;
}

function secret(stack: Stack): secretsmanager.ISecret {
  return secretsmanager.Secret.fromSecretCompleteArn(stack, 'Secret', SECRET_ARN);
}

function rotatedKey(scope: Construct, id: string): kms.Key {
  return new kms.Key(scope, id, { enableKeyRotation: true });
}

function failureQueue(scope: Construct, encryptionMasterKey: kms.IKey): sqs.Queue {
  return new sqs.Queue(scope, 'Failures', { encryptionMasterKey, enforceSSL: true, retentionPeriod: Duration.days(14) });
}

/** A function of the user's, as it should be. */
function consumer(scope: Construct, id: string): lambda.Function {
  return new lambda.Function(scope, id, {
    ...ownLog(scope, id),
    runtime: lambda.Runtime.NODEJS_24_X,
    handler: 'index.handler',
    code: lambda.Code.fromInline('exports.handler = async () => {};'),
    timeout: Duration.seconds(15),
  });
}
