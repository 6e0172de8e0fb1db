import { App, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import * as dynamodb from 'aws-cdk-lib/aws-dynamodb';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as kms from 'aws-cdk-lib/aws-kms';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { ACCOUNT, newFunction, newStack, OTHER_ACCOUNT, REGION, statementsIn, warningIdsIn, warningsIn } from './support/stacks';
import { SharedTokenTable, TokenAccess } from '../../src';

const ENV = { account: ACCOUNT, region: REGION };
const OTHER_ENV = { account: OTHER_ACCOUNT, region: REGION };
const ROLE_ARN = `arn:aws:iam::${ACCOUNT}:role/consumer`;
const ASSUMED_BY = new iam.ServicePrincipal('ecs-tasks.amazonaws.com');

function setUp(props = { env: ENV }): { app: App; stack: Stack; tokens: SharedTokenTable } {
  const app = new App();
  const stack = newStack(props, app);
  return { app, stack, tokens: new SharedTokenTable(stack, 'Tokens') };
}

describe('the statements reach the template, and nothing is said, for', () => {
  const PRINCIPALS: [string, (stack: Stack) => iam.IGrantable][] = [
    ['a role', stack => new iam.Role(stack, 'Role', { assumedBy: ASSUMED_BY })],
    ['a role made lazily', stack => new iam.LazyRole(stack, 'Role', { assumedBy: ASSUMED_BY })],
    ['a user', stack => new iam.User(stack, 'User')],
    ['a group', stack => new iam.Group(stack, 'Group')],
    ['an imported role of the same account', stack => iam.Role.fromRoleArn(stack, 'Role', ROLE_ARN)],
    ['a role imported by name', stack => iam.Role.fromRoleName(stack, 'Role', 'consumer')],
    ['a policy', stack => new iam.Policy(stack, 'Policy', { roles: [new iam.Role(stack, 'Role', { assumedBy: ASSUMED_BY })] })],
    ['a managed policy', stack => new iam.ManagedPolicy(stack, 'Policy', { roles: [new iam.Role(stack, 'Role', { assumedBy: ASSUMED_BY })] })],
    ['a function', stack => newFunction(stack, 'Fn')],
    ['an imported function with its role', stack => lambda.Function.fromFunctionAttributes(stack, 'Fn', {
      functionArn: `arn:aws:lambda:${REGION}:${ACCOUNT}:function:consumer`,
      role: iam.Role.fromRoleArn(stack, 'Role', ROLE_ARN),
    })],
    ['a role inside a principal with conditions', stack => ({
      grantPrincipal: new iam.PrincipalWithConditions(new iam.Role(stack, 'Role', { assumedBy: ASSUMED_BY }), {}),
    })],
  ];

  test.each(PRINCIPALS)('%s', (_name, make) => {
    const { stack, tokens } = setUp();
    const grantee = make(stack);
    tokens.grantRefresh(grantee, 'crm');
    if (grantee instanceof iam.LazyRole) expect(grantee.roleArn).toBeTruthy(); // is made now
    expect(statementsIn(stack).map(({ Action }) => Action)).toEqual([['dynamodb:GetItem', 'dynamodb:UpdateItem']]);
    expect(warningsIn(stack)).toEqual([]);
  });
});

test('a role with more statements than one policy can hold is served by the policies that CDK splits off', () => {
  const { stack, tokens } = setUp();
  const role = new iam.Role(stack, 'Role', { assumedBy: ASSUMED_BY });
  for (let i = 0; i < 60; i++) tokens.grantRead(role, `${i}-${'x'.repeat(150)}`);
  expect(Object.keys(Template.fromStack(stack).findResources('AWS::IAM::ManagedPolicy')).length).toBeGreaterThan(0);
  expect(statementsIn(stack)).toHaveLength(60);
  expect(warningsIn(stack)).toEqual([]);
});

describe('Grant.success is true where nothing was granted, so we warn:', () => {
  test('a role imported as immutable', () => {
    const { stack, tokens } = setUp();
    const grant = tokens.grantRead(iam.Role.fromRoleArn(stack, 'Role', ROLE_ARN, { mutable: false }), 'crm');
    expect(grant.success).toBe(true);
    expect(statementsIn(stack)).toEqual([]);
    expect(warningsIn(stack)).toEqual([[
      '/Stack0/Role',
      expect.stringMatching(/Whoever manages the role must add: \[\{"Effect":"Allow","Action":\["dynamodb:GetItem"\].*"crm".*\[ack: cdk-shared-token-table:grantNotInTemplate\]/),
    ]]);
  });

  test('a role that was made immutable, while another has the very same statement', () => {
    const { stack, tokens } = setUp();
    const role = new iam.Role(stack, 'Role', { assumedBy: ASSUMED_BY });
    tokens.grantRead(role, 'crm');
    expect(warningsIn(stack)).toEqual([]);

    const again = setUp();
    again.tokens.grantRead(new iam.Role(again.stack, 'Role', { assumedBy: ASSUMED_BY }), 'crm');
    again.tokens.grantRead(new iam.Role(again.stack, 'Other', { assumedBy: ASSUMED_BY }).withoutPolicyUpdates(), 'crm');
    expect(warningIdsIn(again.stack)).toEqual(['grantNotInTemplate']);
  });

  test('a function under an immutable role', () => {
    const { stack, tokens } = setUp();
    tokens.attachTo(newFunction(stack, 'Fn', { role: iam.Role.fromRoleArn(stack, 'Role', ROLE_ARN, { mutable: false }) }));
    expect(warningsIn(stack).map(([path]) => path)).toEqual(['/Stack0/Fn']);
    expect(warningIdsIn(stack)).toEqual(['grantNotInTemplate']);
  });

  test('a role imported from another account: its policy is out of reach, and the table needs one', () => {
    const { stack, tokens } = setUp();
    tokens.grantRefresh(iam.Role.fromRoleArn(stack, 'Role', `arn:aws:iam::${OTHER_ACCOUNT}:role/consumer`), 'crm');
    expect(statementsIn(stack)).toEqual([]);
    expect(warningIdsIn(stack)).toEqual(['crossAccountPrincipal', 'grantNotInTemplate']);
  });

  test('a role whose policies are customized away', () => {
    const stack = newStack({ env: ENV });
    iam.Role.customizeRoles(stack, { preventSynthesis: false, usePrecreatedRoles: { Role: 'precreated' } });
    new SharedTokenTable(stack, 'Tokens').grantRead(new iam.Role(stack, 'Role', { assumedBy: ASSUMED_BY }), 'crm');
    expect(warningIdsIn(stack)).toEqual(['grantNotInTemplate']);
  });
});

describe('a principal that can have no policy is an error that shows the statements:', () => {
  test.each<[string, iam.IPrincipal]>([
    ['an ARN', new iam.ArnPrincipal(`arn:aws:iam::${OTHER_ACCOUNT}:role/consumer`)],
    ['an account', new iam.AccountPrincipal(OTHER_ACCOUNT)],
    ['a service', new iam.ServicePrincipal('ecs-tasks.amazonaws.com')],
    ['an organization', new iam.OrganizationPrincipal('o-1234567890')],
  ])('%s', (_name, principal) => {
    const { tokens } = setUp();
    expect(() => tokens.grantRead(principal, 'crm'))
      .toThrow(/^Stack0\/Tokens: This principal has no policy.*`table\.addToResourcePolicy`.*"dynamodb:GetItem".*"crm"/);
  });

  test('a function imported without its role', () => {
    const { stack, tokens } = setUp();
    const imported = lambda.Function.fromFunctionName(stack, 'Fn', 'consumer');
    expect(() => tokens.grantRead(imported, 'crm')).toThrow(/^Stack0\/Fn: .*Got a resource imported without its role.*fromFunctionAttributes.*"dynamodb:GetItem"/);
  });
});

describe('a principal of another account in the same app', () => {
  test('is granted by the ARN of the table, and warned that the table needs a resource policy', () => {
    const { app, stack, tokens } = setUp();
    const other = newStack({ env: OTHER_ENV }, app);
    tokens.attachTo(newFunction(other, 'Fn'), { access: TokenAccess.READ, tokenIds: ['crm'] });
    const [name] = Object.values(Template.fromStack(stack).findResources('AWS::DynamoDB::GlobalTable')).map(table => table.Properties.TableName);
    expect(statementsIn(other)[0].Resource)
      .toEqual({ 'Fn::Join': ['', ['arn:', { Ref: 'AWS::Partition' }, `:dynamodb:${REGION}:${ACCOUNT}:table/${name}`]] });
    expect(warningsIn(other)).toEqual([[
      '/Stack1/Fn',
      expect.stringMatching(/in account 222222222222 and the table Stack0\/Tokens in account 111111111111.*resource policy.*dynamodb:GetItem\..*\[ack: cdk-shared-token-table:crossAccountPrincipal\]/),
    ]]);
  });

  test('has a name that no policy of another environment is asked for: it has none there', () => {
    const { app, stack, tokens } = setUp();
    tokens.grantRead(new iam.Role(stack, 'Role', { assumedBy: ASSUMED_BY }), 'crm');
    const other = newStack({ env: OTHER_ENV }, app);
    tokens.grantRead(new iam.Role(other, 'Role', { assumedBy: ASSUMED_BY }), 'crm');
    expect(statementsIn(other)).toHaveLength(1);
    expect(warningIdsIn(other)).toEqual(['crossAccountPrincipal']);
  });

  test('is warned that the customer key needs a policy too', () => {
    const app = new App();
    const stack = newStack({ env: ENV }, app);
    const key = new kms.Key(stack, 'Key', { alias: 'tokens' });
    const tokens = new SharedTokenTable(stack, 'Tokens', { encryption: dynamodb.TableEncryptionV2.customerManagedKey(key) });
    tokens.grantRead(iam.Role.fromRoleArn(stack, 'Role', `arn:aws:iam::${OTHER_ACCOUNT}:role/consumer`), 'crm');
    expect(warningsIn(stack)[0][1]).toMatch(/a key policy that allows kms:Decrypt/);
  });
});
