import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import * as secretsmanager from 'aws-cdk-lib/aws-secretsmanager';
import { statementsIn, warningsIn } from './support/stacks';
import { ReadOnlyStack } from '../../examples/read-only/read-only-stack';
import { SendMessageStack } from '../../examples/send-message/send-message-stack';

const EXAMPLES = join(__dirname, '..', '..', 'examples');
const URLS = { authUrl: 'https://auth.example.com/oauth/token', apiUrl: 'https://api.example.com/v1/messages' };

describe('send-message', () => {
  test('is one table, one function, its role and policy, and the layer', () => {
    const stack = new SendMessageStack(new App(), 'SendMessage', URLS);
    const types = Object.values(Template.fromStack(stack).toJSON().Resources as { [id: string]: { Type: string } }).map(({ Type }) => Type).sort();
    expect(types).toEqual(['AWS::DynamoDB::GlobalTable', 'AWS::IAM::Policy', 'AWS::IAM::Role', 'AWS::Lambda::Function', 'AWS::Lambda::LayerVersion']);
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
  test('may read two tokens and decrypt them, and nothing else', () => {
    const stack = new ReadOnlyStack(new App(), 'Report', { apiUrl: URLS.apiUrl });
    expect(statementsIn(stack).map(({ Action }) => Action)).toEqual(['dynamodb:GetItem', 'kms:Decrypt']);
    expect(JSON.stringify(statementsIn(stack)[0].Condition)).toContain('"dynamodb:LeadingKeys":["crm","erp"]');
    expect(warningsIn(stack)).toEqual([]);
  });
});

describe.each([['send-message', 'SendMessage'], ['read-only', 'Report']])('the app of %s', (example, stackName) => {
  const folder = mkdtempSync(join(tmpdir(), 'example-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  test('synthesizes as a program of its own', () => {
    execFileSync(process.execPath, ['--import', 'tsx', join(EXAMPLES, example, 'app.ts')], { env: { ...process.env, CDK_OUTDIR: folder } });
    expect(readdirSync(folder)).toContain(`${stackName}.template.json`);
  });

  test('has a handler that Node.js accepts', () => {
    expect(() => execFileSync(process.execPath, ['--check', join(EXAMPLES, example, 'handler', 'index.js')])).not.toThrow();
  });
});
