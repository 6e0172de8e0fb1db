import { App, NestedStack, Stack } from 'aws-cdk-lib';
import { Match, Template } from 'aws-cdk-lib/assertions';
import { addCrm, idOf, setUp } from './support/refreshers';
import { ACCOUNT, newFunction, newStack, OTHER_ACCOUNT, REGION, statementsIn, variablesOf, warningsIn } from './support/stacks';
import { SharedTokenTable } from '../../src';

const ENV = { account: ACCOUNT, region: REGION };
const functionId = (stack: Stack) => idOf(stack, 'AWS::Lambda::Function', 'TokensCrm');

describe('a consumer in another stack', () => {
  const apart = (env: { account: string; region: string } | undefined, consumerEnv = env) => {
    const app = new App();
    const tables = newStack({ env }, app);
    const stack = newStack({ env: consumerEnv }, app);
    const crm = addCrm({ stack: tables, tokens: new SharedTokenTable(tables, 'Tokens') });
    const fn = newFunction(stack, 'Fn');
    crm.attachTo(fn);
    return { tables, stack, fn };
  };

  test.each([['a known environment', ENV], ['no known environment', undefined]])('of the same, %s needs the stack of the refresher, and not the other way round', (_name, env) => {
    const { tables, stack, fn } = apart(env);
    expect(variablesOf(stack, fn).SHARED_TOKEN_REFRESHERS)
      .toEqual({ 'Fn::Join': ['', ['{"crm":"', { 'Fn::ImportValue': expect.stringContaining('TokensCrmFunction') }, '"}']] });
    expect(stack.dependencies).toEqual([tables]);
    expect(tables.dependencies).toEqual([]);
    const exported = Object.values(Template.fromStack(tables).findOutputs('*', { Export: Match.anyValue() })).map(({ Value }) => Value);
    const table = { Ref: 'TokensTableFC8D39D1' };
    expect(exported).toEqual(expect.arrayContaining([
      table, { 'Fn::GetAtt': [table.Ref, 'Arn'] }, { Ref: functionId(tables) }, { 'Fn::GetAtt': [functionId(tables), 'Arn'] },
    ]));
    expect(exported).toHaveLength(4);
    expect(warningsIn(stack)).toEqual([]);
  });

  test('of another account is told ARNs, and warned that table and refresher need policies of their own', () => {
    const { tables, stack, fn } = apart(ENV, { account: OTHER_ACCOUNT, region: REGION });
    const [name] = Object.values(Template.fromStack(tables).findResources('AWS::Lambda::Function', { Properties: { Handler: 'index.handler', MemorySize: 256 } }))
      .map(({ Properties }) => Properties.FunctionName);
    expect(name).toEqual(expect.any(String));
    const arn = `:lambda:${REGION}:${ACCOUNT}:function:${name}`;
    expect(variablesOf(stack, fn).SHARED_TOKEN_REFRESHERS).toEqual({ 'Fn::Join': ['', ['{"crm":"arn:', { Ref: 'AWS::Partition' }, `${arn}"}`]] });
    expect(statementsIn(stack, 'FnServiceRole')[1]).toEqual({
      Effect: 'Allow', Action: 'lambda:InvokeFunction', Resource: { 'Fn::Join': ['', ['arn:', { Ref: 'AWS::Partition' }, arn]] },
    });
    expect(warningsIn(stack)).toEqual([
      ['/Stack1/Fn', expect.stringMatching(/the table Stack0\/Tokens in account 111111111111.*`table\.addToResourcePolicy`.*dynamodb:GetItem\. .*:crossAccountPrincipal\]/)],
      ['/Stack1/Fn', expect.stringMatching(
        /the refresher Stack0\/Tokens\/Crm in account 111111111111.*`refresher\.function\.addPermission`.*lambda:InvokeFunction\. A function finds the refresher by its ARN.*:crossAccountPrincipal\]/)],
    ]);
  });

  test('of another region is told ARNs', () => {
    const { stack, fn } = apart(ENV, { account: ACCOUNT, region: 'us-east-1' });
    expect(variablesOf(stack, fn).SHARED_TOKEN_REFRESHERS)
      .toEqual({ 'Fn::Join': ['', ['{"crm":"arn:', { Ref: 'AWS::Partition' }, expect.stringMatching(`^:lambda:${REGION}:${ACCOUNT}:function:`)]] });
    expect(warningsIn(stack)).toEqual([]);
  });

  test('that is nested gets the name as a parameter', () => {
    const { stack, tokens } = setUp();
    const nested = new NestedStack(stack, 'Nested');
    const fn = newFunction(nested, 'Fn');
    addCrm({ stack, tokens }).attachTo(fn);
    expect(variablesOf(nested, fn).SHARED_TOKEN_REFRESHERS)
      .toEqual({ 'Fn::Join': ['', ['{"crm":"', { Ref: expect.stringMatching(/^referencetoStack0TokensCrmFunction/) }, '"}']] });
  });

  test('around a nested one with the table gets the name as an output', () => {
    const { stack } = setUp();
    const nested = new NestedStack(stack, 'Nested');
    const fn = newFunction(stack, 'Fn');
    addCrm({ stack: nested, tokens: new SharedTokenTable(nested, 'Tokens') }).attachTo(fn);
    expect(JSON.stringify(variablesOf(stack, fn).SHARED_TOKEN_REFRESHERS)).toMatch(/"Fn::GetAtt":\["NestedNestedStack\w+","Outputs\.Stack0NestedTokensCrmFunction/);
  });
});
