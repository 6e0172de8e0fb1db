import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { CfnRole } from 'aws-cdk-lib/aws-iam';
import { CfnFunction } from 'aws-cdk-lib/aws-lambda';
import * as secretsmanager from 'aws-cdk-lib/aws-secretsmanager';
import { statementsIn, warningsIn } from './support/stacks';
import { ReadOnlyStack } from '../../examples/read-only/read-only-stack';
import { OnDemandStack } from '../../examples/refreshers/on-demand-stack';
import { OrdersStack } from '../../examples/refreshers/orders-stack';
import { OwnRefresherStack } from '../../examples/refreshers/own-refresher-stack';
import { ScheduledStack } from '../../examples/refreshers/scheduled-stack';
import { SendMessageStack } from '../../examples/send-message/send-message-stack';

const EXAMPLES = join(__dirname, '..', '..', 'examples');
const TO_LOG = ['logs:CreateLogStream', 'logs:PutLogEvents'];
const URLS = { authUrl: 'https://auth.example.com/oauth/token', apiUrl: 'https://api.example.com/v1/messages' };

describe('send-message', () => {
  test('is one table, one function, its log, its role and policy, and the layer', () => {
    const stack = new SendMessageStack(new App(), 'SendMessage', URLS);
    const types = Object.values(Template.fromStack(stack).toJSON().Resources as { [id: string]: { Type: string } }).map(({ Type }) => Type).sort();
    expect(types).toEqual([
      'AWS::DynamoDB::GlobalTable', 'AWS::IAM::Policy', 'AWS::IAM::Role', 'AWS::Lambda::Function', 'AWS::Lambda::LayerVersion', 'AWS::Logs::LogGroup',
    ]);
    expect(warningsIn(stack)).toEqual([]);
  });

  test('reads its credentials from a secret, and has no secret in its environment', () => {
    const app = new App();
    const credentials = new secretsmanager.Secret(new Stack(app, 'Secrets'), 'Client');
    const stack = new SendMessageStack(app, 'SendMessage', { ...URLS, credentials });
    const [fn] = Object.values(Template.fromStack(stack).findResources('AWS::Lambda::Function'));
    expect(Object.keys(fn.Properties.Environment.Variables).sort())
      .toEqual(['API_URL', 'AUTH_URL', 'CREDENTIALS_SECRET_ARN', 'SHARED_TOKEN_FUNCTION_TIMEOUT_MS', 'SHARED_TOKEN_TABLE']);
    expect(JSON.stringify(statementsIn(stack))).toContain('secretsmanager:GetSecretValue');
  });
});

describe('read-only', () => {
  test('may log, read two tokens and decrypt them, and nothing else', () => {
    const stack = new ReadOnlyStack(new App(), 'Report', { apiUrl: URLS.apiUrl });
    expect(statementsIn(stack).map(({ Action }) => Action)).toEqual([TO_LOG, 'dynamodb:GetItem', 'kms:Decrypt']);
    expect(JSON.stringify(statementsIn(stack)[1].Condition)).toContain('"dynamodb:LeadingKeys":["crm","erp"]');
    expect(warningsIn(stack)).toEqual([]);
  });
});

describe.each([
  ['scheduled only', ScheduledStack, ['dynamodb:GetItem'], ['rate(30 minutes)']],
  ['on demand only', OnDemandStack, ['dynamodb:GetItem', 'lambda:InvokeFunction'], []],
  ['both', OrdersStack, ['dynamodb:GetItem', 'lambda:InvokeFunction'], ['cron(30 5 * * ? *)']],
  ['a refresher of one\'s own', OwnRefresherStack, ['dynamodb:GetItem', 'lambda:InvokeFunction'], ['rate(6 hours)']],
] as const)('refreshers: %s', (_, RefresherStack, actions, schedules) => {
  const app = new App();
  const credentials = new secretsmanager.Secret(new Stack(app, 'Secrets'), 'Client');
  const stack = new RefresherStack(app, 'Stack', { tokenUrl: URLS.authUrl, apiUrl: URLS.apiUrl, credentials });
  const template = Template.fromStack(stack);

  test('whoever uses the token may log, read it, ask where that is meant, and nothing else', () => {
    const role = stack.getLogicalId(stack.orders.role!.node.defaultChild as CfnRole);
    const policies = Object.values(template.findResources('AWS::IAM::Policy', { Properties: { Roles: [{ Ref: role }] } }));
    const statements = policies.flatMap(({ Properties }) => Properties.PolicyDocument.Statement as { Action: string }[]);
    expect(statements.map(({ Action }) => Action)).toEqual([TO_LOG, ...actions]);
  });

  test('only the refresher is told of the credentials', () => {
    const functions = Object.entries(template.findResources('AWS::Lambda::Function')) as [string, { Properties: { Environment?: object } }][];
    const told = functions.filter(([, { Properties }]) => JSON.stringify(Properties.Environment ?? {}).includes('Secrets:')).map(([id]) => id);
    expect(told).toEqual([stack.getLogicalId(stack.crm.function.node.defaultChild as CfnFunction)]);
  });

  test('runs when it says, and synthesizes without a warning', () => {
    const found = Object.values(template.findResources('AWS::Scheduler::Schedule')).map(({ Properties }) => Properties.ScheduleExpression as string);
    expect(found).toEqual(schedules);
    expect(warningsIn(stack)).toEqual([]);
  });
});

describe.each([
  ['send-message', 'SendMessage', ['handler']], ['read-only', 'Report', ['handler']], ['refreshers', 'OwnRefresher', ['orders', 'own-refresher']],
])('the app of %s', (example, stackName, handlers) => {
  const folder = mkdtempSync(join(tmpdir(), 'example-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  test('synthesizes as a program of its own', () => {
    execFileSync(process.execPath, ['--import', 'tsx', join(EXAMPLES, example, 'app.ts')], { env: { ...process.env, CDK_OUTDIR: folder } });
    expect(readdirSync(folder)).toContain(`${stackName}.template.json`);
  });

  test.each(handlers)('has a handler that Node.js accepts: %s', handler => {
    expect(() => execFileSync(process.execPath, ['--check', join(EXAMPLES, example, handler, 'index.js')])).not.toThrow();
  });
});
