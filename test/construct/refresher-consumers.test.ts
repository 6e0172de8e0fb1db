import { Duration, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import * as ecr from 'aws-cdk-lib/aws-ecr';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { addCrm, idOf, setUp, Setup, source, TABLE_NAME } from './support/refreshers';
import { ACCOUNT, newFunction, OTHER_ACCOUNT, propertiesOf, REGION, statementsIn, variablesOf, warningIdsIn, warningsIn } from './support/stacks';
import { SharedTokenTable, TokenAccess, TokenRefresher } from '../../src';

const LAYER = { Ref: 'SharedTokenTableRuntime22C446CB' };
const ECS = new iam.ServicePrincipal('ecs-tasks.amazonaws.com');

const addErp = ({ stack, tokens }: Setup): TokenRefresher => tokens.addRefresher('Erp', { tokenId: 'erp', source: source(stack) });
const functionId = (stack: Stack, id = 'Crm') => idOf(stack, 'AWS::Lambda::Function', `Tokens${id}`);

/** One refresher and a function without warnings. */
function attached(props: Partial<lambda.FunctionProps> = {}): Setup & { readonly crm: TokenRefresher; readonly fn: lambda.Function } {
  const setup = setUp();
  const crm = addCrm(setup);
  const fn = newFunction(setup.stack, 'Fn', props);
  crm.attachTo(fn);
  return { ...setup, crm, fn };
}

/** The statements of readers: those that name a refresher's function or the readable attributes. */
const actionsOf = (stack: Stack, role: string) => statementsIn(stack, role).map(({ Action }) => Action);

describe('a function that asks a refresher', () => {
  test('gets the layer, and is told its table and its refreshers', () => {
    const { stack, fn } = attached();
    expect(propertiesOf(stack, fn).Layers).toEqual([LAYER]);
    expect(variablesOf(stack, fn)).toEqual({
      SHARED_TOKEN_TABLE: TABLE_NAME,
      SHARED_TOKEN_FUNCTION_TIMEOUT_MS: '15000',
      SHARED_TOKEN_REFRESHERS: { 'Fn::Join': ['', ['{"crm":"', { Ref: functionId(stack) }, '"}']] },
    });
    expect(warningsIn(stack)).toEqual([]);
  });

  test('needs no time for an auth request: its short timeout is not warned about', () => {
    expect(warningsIn(attached({ timeout: Duration.seconds(3) }).stack)).toEqual([]);
  });

  test('is warned of a short timeout where it also refreshes another token by itself', () => {
    const { stack, tokens, fn } = attached({ timeout: Duration.seconds(3) });
    tokens.attachTo(fn, { tokenIds: ['erp'] });
    expect(warningIdsIn(stack)).toEqual(['functionTimeout']);
  });

  test('may ask several: they are in one variable, in the order of their ids', () => {
    const map = (ids: ('Crm' | 'Erp')[]) => {
      const setup = setUp();
      const refreshers = { Crm: addCrm(setup), Erp: addErp(setup) };
      const fn = newFunction(setup.stack, 'Fn');
      for (const id of ids) refreshers[id].attachTo(fn);
      expect(warningIdsIn(setup.stack)).toEqual([]);
      return variablesOf(setup.stack, fn).SHARED_TOKEN_REFRESHERS;
    };
    const { stack, tokens } = setUp();
    addCrm({ stack, tokens });
    addErp({ stack, tokens });
    const both = { 'Fn::Join': ['', ['{"crm":"', { Ref: functionId(stack) }, '","erp":"', { Ref: functionId(stack, 'Erp') }, '"}']] };
    expect(map(['Crm', 'Erp'])).toEqual(both);
    expect(map(['Erp', 'Crm'])).toEqual(both);
  });

  test('may be attached again, which changes nothing', () => {
    const { stack, crm, fn } = attached();
    crm.attachTo(fn);
    crm.attachTo(fn.currentVersion);
    expect(actionsOf(stack, 'FnServiceRole')).toEqual(['dynamodb:GetItem', 'lambda:InvokeFunction']);
    expect(propertiesOf(stack, fn).Layers).toEqual([LAYER]);
  });

  test('may refresh the same token by itself as well', () => {
    const { stack, tokens, fn } = attached();
    tokens.attachTo(fn, { tokenIds: ['crm'] });
    expect(actionsOf(stack, 'FnServiceRole')).toEqual(['dynamodb:GetItem', 'lambda:InvokeFunction', ['dynamodb:GetItem', 'dynamodb:UpdateItem']]);
    expect(warningsIn(stack)).toEqual([]);
  });

  test('gets the grant with all of its statements', () => {
    const { stack, tokens } = setUp();
    const grant = addCrm({ stack, tokens }).attachTo(newFunction(stack, 'Fn'));
    expect(grant.principalStatements.map(statement => stack.resolve(statement.toStatementJson()).Action)).toEqual(['dynamodb:GetItem', 'lambda:InvokeFunction']);
  });

  test.each([[['__proto__']], [['__proto__', 'crm']], [['Ref']], [['Fn::GetAtt']], [['constructor']]])('keeps to token ids that mean something to CDK or JavaScript: %j', (ids) => {
    const { stack, tokens } = setUp();
    const fn = newFunction(stack, 'Fn');
    for (const tokenId of ids) tokens.addRefresher(`Of-${tokenId}`, { tokenId, source: source(stack) }).attachTo(fn);
    const { 'Fn::Join': [, parts] } = variablesOf(stack, fn).SHARED_TOKEN_REFRESHERS as { 'Fn::Join': [string, (string | object)[]] };
    const map: unknown = JSON.parse(parts.map(part => typeof part === 'string' ? part : 'some-function').join(''));
    expect(Object.entries(map as object)).toEqual(ids.map(tokenId => [tokenId, 'some-function']));
  });

  test('keeps to token ids as they are, quotes and all', () => {
    const { stack, tokens } = setUp();
    const fn = newFunction(stack, 'Fn');
    addCrm({ stack, tokens }, { tokenId: 'a"b/c' }).attachTo(fn);
    expect(variablesOf(stack, fn).SHARED_TOKEN_REFRESHERS).toEqual({ 'Fn::Join': ['', ['{"a\\"b/c":"', { Ref: functionId(stack) }, '"}']] });
  });
});

describe('one token has one refresher on a function:', () => {
  test('another one of another table is refused, and the message names both', () => {
    const { stack, fn } = attached();
    const others = new SharedTokenTable(stack, 'Others');
    const other = others.addRefresher('Crm', { tokenId: 'crm', source: source(stack) });
    expect(() => other.attachTo(fn, { tableVariable: 'OTHER_TOKENS' }))
      .toThrow("Stack0/Fn: Whoever needs the token 'crm' asks one refresher for it, and this one has two. Got Stack0/Others/Crm, expected Stack0/Tokens/Crm, which was named first.");
  });

  test('another token of another table has a variable for that table', () => {
    const { stack, fn } = attached();
    const other = new SharedTokenTable(stack, 'Others').addRefresher('Erp', { tokenId: 'erp', source: source(stack) });
    expect(() => other.attachTo(fn)).toThrow(/SHARED_TOKEN_TABLE of this function already names another table.*`attachTo\(fn, \{ tableVariable: 'ERP_TOKENS' \}\)`/);
  });

  test('another token of another table is asked for under that variable', () => {
    const { stack, fn } = attached();
    new SharedTokenTable(stack, 'Others').addRefresher('Erp', { tokenId: 'erp', source: source(stack) }).attachTo(fn, { tableVariable: 'ERP_TOKENS' });
    expect(variablesOf(stack, fn)).toMatchObject({
      SHARED_TOKEN_TABLE: TABLE_NAME,
      ERP_TOKENS: { Ref: expect.stringMatching(/^OthersTable/) },
      SHARED_TOKEN_REFRESHERS: { 'Fn::Join': ['', ['{"crm":"', { Ref: functionId(stack) }, '","erp":"', { Ref: expect.stringMatching(/^OthersErp/) }, '"}']] },
    });
  });

  test.each(['SHARED_TOKEN_ID', 'SHARED_TOKEN_SOURCE', 'SHARED_TOKEN_REFRESHERS'])('the variable %s is not for a table', (tableVariable) => {
    const { crm, fn } = attached();
    expect(() => crm.attachTo(fn, { tableVariable })).toThrow(`Got '${tableVariable}', expected letters, digits and underscores`);
  });

  test('a refresher does not ask itself', () => {
    const { crm } = attached();
    expect(() => crm.attachTo(crm.function)).toThrow(/^Stack0\/Tokens\/Crm: A refresher does not ask itself for its token\. Got its own function/);
  });
});

describe('a map of refreshers that is not ours', () => {
  const MESSAGE = /Stack0\/Fn: The environment variable SHARED_TOKEN_REFRESHERS belongs to the shared token table .* Got "mine", expected .* Remove the other SHARED_TOKEN_REFRESHERS\.$/m;

  test('is never overwritten', () => {
    const setup = setUp();
    const fn = newFunction(setup.stack, 'Fn', { environment: { SHARED_TOKEN_REFRESHERS: 'mine' } });
    expect(() => addCrm(setup).attachTo(fn)).toThrow(MESSAGE);
  });

  test('does not overwrite ours', () => {
    const { stack, fn } = attached();
    fn.addEnvironment('SHARED_TOKEN_REFRESHERS', 'mine');
    expect(() => Template.fromStack(stack)).toThrow(MESSAGE);
  });

  test('does not overwrite ours through an escape hatch', () => {
    const { stack, fn } = attached();
    (fn.node.defaultChild as lambda.CfnFunction).addPropertyOverride('Environment.Variables.SHARED_TOKEN_REFRESHERS', 'mine');
    expect(() => Template.fromStack(stack)).toThrow(MESSAGE);
  });
});

describe('each kind of consumer:', () => {
  const MAP = (stack: Stack) => ({ 'Fn::Join': ['', ['{"crm":"', { Ref: functionId(stack) }, '"}']] });

  test.each<[string, (fn: lambda.Function) => lambda.IFunction]>([
    ['an alias', fn => fn.addAlias('live')],
    ['the current version', fn => fn.currentVersion],
  ])('%s stands for its function', (_name, qualify) => {
    const setup = setUp();
    const fn = newFunction(setup.stack, 'Fn');
    addCrm(setup).attachTo(qualify(fn));
    expect(variablesOf(setup.stack, fn).SHARED_TOKEN_REFRESHERS).toEqual(MAP(setup.stack));
    expect(warningsIn(setup.stack)).toEqual([]);
  });

  test.each<[string, (stack: Stack) => Partial<lambda.FunctionProps>]>([
    ['another runtime', () => ({ runtime: lambda.Runtime.PYTHON_3_13, code: lambda.Code.fromInline('def handler(event, context): pass') })],
    ['a container image', stack => ({
      runtime: lambda.Runtime.FROM_IMAGE,
      handler: lambda.Handler.FROM_IMAGE,
      code: lambda.Code.fromEcrImage(ecr.Repository.fromRepositoryName(stack, 'Repository', 'consumer')),
    })],
  ])('%s gets environment and permissions, no layer, and a warning', (_name, props) => {
    const setup = setUp();
    const fn = newFunction(setup.stack, 'Fn', props(setup.stack));
    addCrm(setup).attachTo(fn);
    expect(variablesOf(setup.stack, fn).SHARED_TOKEN_REFRESHERS).toEqual(MAP(setup.stack));
    expect(propertiesOf(setup.stack, fn).Layers).toBeUndefined();
    expect(actionsOf(setup.stack, 'FnServiceRole')).toEqual(['dynamodb:GetItem', 'lambda:InvokeFunction']);
    expect(warningIdsIn(setup.stack)).toEqual(['noLayer']);
  });

  test('an imported function gets permissions, and a warning names both variables, with all of its refreshers', () => {
    const setup = setUp();
    const role = iam.Role.fromRoleArn(setup.stack, 'ConsumerRole', `arn:aws:iam::${ACCOUNT}:role/consumer`);
    const fn = lambda.Function.fromFunctionAttributes(setup.stack, 'Fn', { functionArn: `arn:aws:lambda:${REGION}:${ACCOUNT}:function:consumer`, role });
    addCrm(setup).attachTo(fn);
    addErp(setup).attachTo(fn);
    expect(actionsOf(setup.stack, 'ConsumerRole')).toEqual(['dynamodb:GetItem', 'lambda:InvokeFunction', 'dynamodb:GetItem', 'lambda:InvokeFunction']);
    expect(warningsIn(setup.stack)).toEqual([['/Stack0/Fn', expect.stringMatching(
      /must set the environment variables SHARED_TOKEN_TABLE to \{"Ref":"TokensTableFC8D39D1"\} and SHARED_TOKEN_REFRESHERS to .*crm.*TokensCrmFunction.*erp.*TokensErpFunction.*cdk-shared-token-table\/runtime.*:importedFunction\]/,
    )]]);
  });

  test('an imported function names the tables of its refreshers in one warning, each in a variable of its own', () => {
    const setup = setUp();
    const role = iam.Role.fromRoleArn(setup.stack, 'ConsumerRole', `arn:aws:iam::${ACCOUNT}:role/consumer`);
    const fn = lambda.Function.fromFunctionAttributes(setup.stack, 'Fn', { functionArn: `arn:aws:lambda:${REGION}:${ACCOUNT}:function:consumer`, role });
    const other = new SharedTokenTable(setup.stack, 'Others').addRefresher('Erp', { tokenId: 'erp', source: source(setup.stack) });
    addCrm(setup).attachTo(fn);
    expect(() => other.attachTo(fn)).toThrow(/^Stack0\/Fn: The variable SHARED_TOKEN_TABLE of this function already names another table\. Got \{"Ref":"OthersTable\w+"\}, expected \{"Ref":"TokensTable/);
    other.attachTo(fn, { tableVariable: 'ERP_TOKENS' });
    expect(warningsIn(setup.stack)).toEqual([['/Stack0/Fn', expect.stringMatching(/SHARED_TOKEN_TABLE to .*TokensTable.* and ERP_TOKENS to .*OthersTable.* and SHARED_TOKEN_REFRESHERS to .*crm.*erp/)]]);
  });

  test('an imported function has one refresher for a token, too', () => {
    const setup = setUp();
    const role = iam.Role.fromRoleArn(setup.stack, 'ConsumerRole', `arn:aws:iam::${ACCOUNT}:role/consumer`);
    const fn = lambda.Function.fromFunctionAttributes(setup.stack, 'Fn', { functionArn: `arn:aws:lambda:${REGION}:${ACCOUNT}:function:consumer`, role });
    addCrm(setup).attachTo(fn);
    const other = new SharedTokenTable(setup.stack, 'Others').addRefresher('Crm', { tokenId: 'crm', source: source(setup.stack) });
    expect(() => other.attachTo(fn, { tableVariable: 'OTHER_TOKENS' })).toThrow(/^Stack0\/Fn: .*asks one refresher for it, and this one has two/);
  });

  test('an imported function of another account finds the refresher by its ARN', () => {
    const setup = setUp();
    const role = iam.Role.fromRoleArn(setup.stack, 'ConsumerRole', `arn:aws:iam::${OTHER_ACCOUNT}:role/consumer`);
    const fn = lambda.Function.fromFunctionAttributes(setup.stack, 'Fn', { functionArn: `arn:aws:lambda:${REGION}:${OTHER_ACCOUNT}:function:consumer`, role });
    addCrm(setup).attachTo(fn);
    expect(warningsIn(setup.stack).at(-1)![1]).toMatch(/SHARED_TOKEN_REFRESHERS to \{"Fn::Join":\["",\["\{\\"crm\\":\\"",\{"Fn::GetAtt":\["TokensCrmFunction\w+","Arn"\]\}/);
  });

  test('an imported function without its role cannot be served', () => {
    const setup = setUp();
    const fn = lambda.Function.fromFunctionName(setup.stack, 'Fn', 'consumer');
    expect(() => addCrm(setup).attachTo(fn)).toThrow(/^Stack0\/Fn: Nothing of this function can be set/);
  });

  test('a role gets the same permissions, and the environment is for its container', () => {
    const setup = setUp();
    const crm = addCrm(setup);
    crm.grantRead(new iam.Role(setup.stack, 'TaskRole', { assumedBy: ECS }));
    expect(actionsOf(setup.stack, 'TaskRole')).toEqual(['dynamodb:GetItem', 'lambda:InvokeFunction']);
    expect(setup.stack.resolve(crm.environment)).toEqual({ SHARED_TOKEN_TABLE: TABLE_NAME, SHARED_TOKEN_REFRESHERS: MAP(setup.stack) });
  });

  test.each<[string, (stack: Stack) => iam.IGrantable, RegExp]>([
    ['a service', () => ECS, /^Stack0\/Tokens: This principal has no policy/],
    ['a function imported without its role', stack => lambda.Function.fromFunctionName(stack, 'Fn', 'consumer'), /^Stack0\/Fn: Permissions cannot be added/],
  ])('%s is refused', (_name, make, message) => {
    const setup = setUp();
    expect(() => addCrm(setup).grantRead(make(setup.stack))).toThrow(message);
  });

  test('an immutable role is told both of its statements', () => {
    const setup = setUp();
    addCrm(setup).grantRead(iam.Role.fromRoleArn(setup.stack, 'TaskRole', `arn:aws:iam::${ACCOUNT}:role/task`, { mutable: false }));
    expect(warningsIn(setup.stack).map(([, message]) => message)).toEqual([
      expect.stringMatching(/the access to Stack0\/Tokens that was granted.*dynamodb:GetItem.*:grantNotInTemplate\]/),
      expect.stringMatching(/the access to Stack0\/Tokens\/Crm that was granted.*lambda:InvokeFunction.*:grantNotInTemplate\]/),
    ]);
  });
});

describe('the environment of several refreshers', () => {
  test('is merged for a container', () => {
    const setup = setUp();
    const [crm, erp] = [addCrm(setup), addErp(setup)];
    expect(setup.stack.resolve(TokenRefresher.environmentOf(erp, crm))).toEqual({
      SHARED_TOKEN_TABLE: TABLE_NAME,
      SHARED_TOKEN_REFRESHERS: { 'Fn::Join': ['', ['{"crm":"', { Ref: functionId(setup.stack) }, '","erp":"', { Ref: functionId(setup.stack, 'Erp') }, '"}']] },
    });
    expect(warningsIn(setup.stack)).toEqual([]);
  });

  test('is of one table', () => {
    const setup = setUp();
    const other = new SharedTokenTable(setup.stack, 'Others').addRefresher('Erp', { tokenId: 'erp', source: source(setup.stack) });
    expect(() => TokenRefresher.environmentOf(addCrm(setup), other))
      .toThrow('Stack0/Others/Erp: The variable SHARED_TOKEN_TABLE names one table. Got a refresher of Stack0/Others, expected refreshers of Stack0/Tokens alone.');
  });

  test('is of at least one', () => {
    expect(() => TokenRefresher.environmentOf()).toThrow('TokenRefresher.environmentOf: at least one refresher is needed.');
  });
});

test('readers of the table alone are not warned of a short timeout either: they make no auth request', () => {
  const { stack, tokens } = setUp();
  tokens.attachTo(newFunction(stack, 'Fn', { timeout: Duration.seconds(3) }), { access: TokenAccess.READ, tokenIds: ['crm'] });
  expect(warningsIn(stack)).toEqual([]);
});
