import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { App, Aws, CfnParameter, Fn, NestedStack, Stack } from 'aws-cdk-lib';
import { Match, Template } from 'aws-cdk-lib/assertions';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { ACCOUNT, newFunction, newStack, OTHER_ACCOUNT, propertiesOf, REGION, variablesOf, warningIdsIn } from './support/stacks';
import { SharedTokenTable } from '../../src';
import { runtimeLayerFor } from '../../src/private/runtime-layer';

const LAYER = 'AWS::Lambda::LayerVersion';
const ENV = { account: ACCOUNT, region: REGION };

function exportsOf(stack: Stack): unknown[] {
  return Object.values(Template.fromStack(stack).findOutputs('*', { Export: Match.anyValue() })).map(output => output.Value);
}

test('all functions of a stack share one layer, which is made with the first', () => {
  const stack = newStack();
  const tokens = new SharedTokenTable(stack, 'Tokens');
  Template.fromStack(newStack()).resourceCountIs(LAYER, 0);
  for (const id of ['One', 'Two', 'Three']) tokens.attachTo(newFunction(stack, id));
  new SharedTokenTable(stack, 'Other').attachTo(newFunction(stack, 'Four'));
  Template.fromStack(stack).resourceCountIs(LAYER, 1);
});

test('the layer carries the runtime, and names the versions of Node.js it was tested on', () => {
  const stack = newStack();
  new SharedTokenTable(stack, 'Tokens').attachTo(newFunction(stack, 'Fn'));
  Template.fromStack(stack).hasResourceProperties(LAYER, {
    CompatibleRuntimes: ['nodejs20.x', 'nodejs22.x', 'nodejs24.x'],
    Description: 'cdk-shared-token-table/runtime',
    LicenseInfo: 'Apache-2.0',
    LayerName: Match.absent(),
  });
});

test('each stack of consumers has a layer of its own, and exports nothing but the name and ARN of the table', () => {
  const app = new App();
  const tables = newStack({}, app);
  const tokens = new SharedTokenTable(tables, 'Tokens');
  const consumers = [newStack({}, app), newStack({}, app)];
  for (const stack of consumers) tokens.attachTo(newFunction(stack, 'Fn'));

  for (const stack of consumers) {
    Template.fromStack(stack).resourceCountIs(LAYER, 1);
    expect(exportsOf(stack)).toEqual([]);
  }
  Template.fromStack(tables).resourceCountIs(LAYER, 0);
  const [id] = Object.keys(Template.fromStack(tables).findResources('AWS::DynamoDB::GlobalTable'));
  expect(exportsOf(tables)).toEqual(expect.arrayContaining([{ Ref: id }, { 'Fn::GetAtt': [id, 'Arn'] }]));
  expect(exportsOf(tables)).toHaveLength(2);
});

test('a nested stack has a layer of its own', () => {
  const stack = newStack();
  const nested = new NestedStack(stack, 'Nested');
  const tokens = new SharedTokenTable(stack, 'Tokens');
  const inner = newFunction(nested, 'Fn');
  tokens.attachTo(inner);
  tokens.attachTo(newFunction(stack, 'Fn'));
  Template.fromStack(nested).resourceCountIs(LAYER, 1);
  Template.fromStack(stack).resourceCountIs(LAYER, 1);
  expect(propertiesOf(nested, inner).Layers).toEqual([{ Ref: expect.stringMatching(/^SharedTokenTableRuntime/) }]);
  expect(exportsOf(stack)).toEqual([]);
});

test('the layer of a nested stack serves a table of that nested stack', () => {
  const parent = newStack();
  const nested = new NestedStack(parent, 'Nested');
  const fn = newFunction(parent, 'Fn');
  new SharedTokenTable(nested, 'Tokens').attachTo(fn);
  Template.fromStack(nested).resourceCountIs(LAYER, 0);
  Template.fromStack(parent).resourceCountIs(LAYER, 1);
});

describe('a function finds the table', () => {
  const ARN = { 'Fn::Join': ['', ['arn:', { Ref: 'AWS::Partition' }, expect.stringMatching(`:dynamodb:${REGION}:${ACCOUNT}:table/`)]] };
  const variable = (stack: Stack, tokens: { attachTo(fn: lambda.IFunction): unknown }): unknown => {
    const fn = newFunction(stack, 'Fn');
    tokens.attachTo(fn);
    return variablesOf(stack, fn).SHARED_TOKEN_TABLE;
  };

  test('by name in the account and region of the table', () => {
    const app = new App();
    const tokens = new SharedTokenTable(newStack({ env: ENV }, app), 'Tokens');
    expect(variable(newStack({ env: ENV }, app), tokens)).toEqual({ 'Fn::ImportValue': expect.stringContaining('TokensTable') });
  });

  test('by name where neither stack knows its region', () => {
    const app = new App();
    const tokens = new SharedTokenTable(newStack({}, app), 'Tokens');
    expect(variable(newStack({}, app), tokens)).toEqual({ 'Fn::ImportValue': expect.stringContaining('TokensTable') });
  });

  test('by ARN in another account', () => {
    const app = new App();
    const tokens = new SharedTokenTable(newStack({ env: ENV }, app), 'Tokens');
    const stack = newStack({ env: { account: OTHER_ACCOUNT, region: REGION } }, app);
    expect(variable(stack, tokens)).toEqual(ARN);
    expect(warningIdsIn(stack)).toEqual(['crossAccountPrincipal']);
  });

  test('by ARN in another region', () => {
    const app = new App();
    const tokens = new SharedTokenTable(newStack({ env: ENV }, app), 'Tokens');
    expect(variable(newStack({ env: { account: ACCOUNT, region: 'us-east-1' } }, app), tokens)).toEqual(ARN);
  });

  test('by ARN where it was imported from another account', () => {
    const stack = newStack({ env: ENV });
    const arn = `arn:aws:dynamodb:${REGION}:${OTHER_ACCOUNT}:table/crm-tokens`;
    expect(variable(stack, SharedTokenTable.fromTableArn(stack, 'Imported', arn))).toBe(arn);
    expect(warningIdsIn(stack)).toEqual(['crossAccountPrincipal']);
  });

  test('by ARN where it may be in another account: the stack does not know its own', () => {
    const stack = newStack();
    const arn = `arn:aws:dynamodb:${REGION}:${OTHER_ACCOUNT}:table/crm-tokens`;
    expect(variable(stack, SharedTokenTable.fromTableArn(stack, 'Imported', arn))).toBe(arn);
  });

  test.each<[string, (stack: Stack) => string, unknown]>([
    ['known only at deployment', () => Fn.importValue('CrmTokensArn'), { 'Fn::ImportValue': 'CrmTokensArn' }],
    ['of a parameter', stack => new CfnParameter(stack, 'Arn').valueAsString, { Ref: 'Arn' }],
    [
      'of an account in a parameter',
      stack => `arn:aws:dynamodb:${Aws.REGION}:${new CfnParameter(stack, 'Account').valueAsString}:table/crm-tokens`,
      { 'Fn::Join': ['', ['arn:aws:dynamodb:', { Ref: 'AWS::Region' }, ':', { Ref: 'Account' }, ':table/crm-tokens']] },
    ],
  ])('by ARN where it was imported by an ARN %s, which may be of another account or region', (_name, arnIn, rendered) => {
    for (const env of [undefined, ENV]) {
      const stack = newStack({ env });
      expect(variable(stack, SharedTokenTable.fromTableArn(stack, 'Imported', arnIn(stack)))).toEqual(rendered);
    }
  });

  test('by name where it was imported by a name known only at deployment', () => {
    const stack = newStack({ env: ENV });
    expect(variable(stack, SharedTokenTable.fromTableName(stack, 'Imported', Fn.importValue('CrmTokens')))).toEqual({ 'Fn::ImportValue': 'CrmTokens' });
  });

  test('by name where it was imported from the same account and region', () => {
    const stack = newStack({ env: ENV });
    expect(variable(stack, SharedTokenTable.fromTableArn(stack, 'Imported', `arn:aws:dynamodb:${REGION}:${ACCOUNT}:table/crm-tokens`))).toBe('crm-tokens');
  });

  test('by name where it was imported by name', () => {
    const stack = newStack();
    expect(variable(stack, SharedTokenTable.fromTableName(stack, 'Imported', 'crm-tokens'))).toBe('crm-tokens');
  });
});

describe('layers of the user', () => {
  const withLayers = (count: number) => {
    const stack = newStack();
    const layers = Array.from({ length: count }, (_, i) => lambda.LayerVersion.fromLayerVersionArn(
      stack, `Layer${i}`, `arn:aws:lambda:${REGION}:${ACCOUNT}:layer:mine:${i}`));
    return { stack, fn: newFunction(stack, 'Fn', { layers }) };
  };

  test('stay', () => {
    const { stack, fn } = withLayers(4);
    new SharedTokenTable(stack, 'Tokens').attachTo(fn);
    expect(propertiesOf(stack, fn).Layers).toHaveLength(5);
  });

  test('can be added after the function was attached', () => {
    const { stack, fn } = withLayers(0);
    new SharedTokenTable(stack, 'Tokens').attachTo(fn);
    fn.addLayers(lambda.LayerVersion.fromLayerVersionArn(stack, 'Later', `arn:aws:lambda:${REGION}:${ACCOUNT}:layer:later:1`));
    expect(propertiesOf(stack, fn).Layers).toEqual([{ Ref: expect.any(String) }, expect.stringContaining('later')]);
  });

  test('may leave no room: five are the most', () => {
    const { stack, fn } = withLayers(5);
    expect(() => new SharedTokenTable(stack, 'Tokens').attachTo(fn))
      .toThrow(/^Stack0\/Fn: A function has at most 5 layers.*already uses 5 layers\.\", expected room for one, that is at most 4 others\. Remove a layer; or bundle the npm package.*`environment` instead of `attachTo`/);
  });

  test('do not stand in the way of attaching again', () => {
    const { stack, fn } = withLayers(4);
    const tokens = new SharedTokenTable(stack, 'Tokens');
    tokens.attachTo(fn, { tokenIds: ['crm'] });
    expect(() => tokens.attachTo(fn, { tokenIds: ['erp'] })).not.toThrow();
  });
});

describe('the layer of a function that was attached', () => {
  test.each<[string, (resource: lambda.CfnFunction) => void]>([
    ['a property of the resource', resource => { resource.layers = undefined; }],
    ['an override', resource => resource.addPropertyDeletionOverride('Layers')],
    ['an override by other layers', resource => resource.addPropertyOverride('Layers', [`arn:aws:lambda:${REGION}:${ACCOUNT}:layer:mine:1`])],
  ])('is missed when it was removed: by %s', (_name, escape) => {
    const stack = newStack();
    const fn = newFunction(stack, 'Fn');
    new SharedTokenTable(stack, 'Tokens').attachTo(fn);
    escape(fn.node.defaultChild as lambda.CfnFunction);
    expect(() => Template.fromStack(stack)).toThrow(
      /Stack0\/Fn: The layer with the runtime, which attachTo added, was removed.* Got (no layers|\["arn:.*mine:1"\]), expected \{"Ref":"SharedTokenTableRuntime\w+"\} among them\. .*addLayers/);
  });

  test('is found among others in an override', () => {
    const stack = newStack();
    const fn = newFunction(stack, 'Fn');
    new SharedTokenTable(stack, 'Tokens').attachTo(fn);
    const layer = stack.node.findChild('SharedTokenTableRuntime') as lambda.LayerVersion;
    (fn.node.defaultChild as lambda.CfnFunction).addPropertyOverride('Layers', ['arn:mine', layer.layerVersionArn]);
    expect(propertiesOf(stack, fn).Layers).toHaveLength(2);
  });
});

test.each(['no-such-folder', 'fixtures'])('a package without its bundle (%s) says how to get it', (name) => {
  const folder = join(__dirname, name);
  const make = () => runtimeLayerFor(newFunction(newStack(), 'Fn'), folder);
  expect(make).toThrow(`Stack0/Fn: The runtime that goes into the layer is missing from this package. Got no file ${folder}`);
  expect(make).toThrow(/npm run bundle/);
});

test('the asset of the layer is what Lambda lays out under /opt: each module that functions import, as CommonJS and ES module', () => {
  const app = new App();
  const stack = newStack({}, app);
  new SharedTokenTable(stack, 'Tokens').attachTo(newFunction(stack, 'Fn'));
  const assembly = app.synth();
  const [asset] = readdirSync(assembly.directory).filter(name => name.startsWith('asset.'));
  const modules = join(assembly.directory, asset, 'nodejs', 'node_modules');
  for (const name of SharedTokenTable.RUNTIME_MODULES) {
    expect(readdirSync(join(modules, name))).toEqual(expect.arrayContaining(['index.js', 'index.mjs']));
  }
  expect(readdirSync(join(modules, 'cdk-shared-token-table', 'runtime')).sort()).toEqual(['index.js', 'index.mjs', 'oauth', 'refresher']);
});
