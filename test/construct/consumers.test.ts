import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Stack, Stage } from 'aws-cdk-lib';
import * as cloudfront from 'aws-cdk-lib/aws-cloudfront';
import * as ecr from 'aws-cdk-lib/aws-ecr';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { NodejsFunction } from 'aws-cdk-lib/aws-lambda-nodejs';
import { ACCOUNT, newFunction, newStack, OTHER_ACCOUNT, propertiesOf, REGION, statementsIn, variablesOf, warningIdsIn, warningsIn } from './support/stacks';
import { SharedTokenTable } from '../../src';

const ENV = { account: ACCOUNT, region: REGION };
const FUNCTION_ARN = `arn:aws:lambda:${REGION}:${ACCOUNT}:function:consumer`;
const LAYER = { Ref: 'SharedTokenTableRuntime22C446CB' };
const TABLE_NAME = { Ref: 'TokensTableFC8D39D1' };
const CALLS = ['dynamodb:GetItem', 'dynamodb:UpdateItem'];

function setUp(): { stack: Stack; tokens: SharedTokenTable } {
  const stack = newStack({ env: ENV });
  return { stack, tokens: new SharedTokenTable(stack, 'Tokens') };
}

function expectAttached(stack: Stack, fn: lambda.IFunction, expected: { layers?: unknown[]; actions?: unknown[] } = {}): void {
  expect(variablesOf(stack, fn)).toMatchObject({ SHARED_TOKEN_TABLE: TABLE_NAME, SHARED_TOKEN_FUNCTION_TIMEOUT_MS: expect.any(String) });
  expect(propertiesOf(stack, fn).Layers).toEqual('layers' in expected ? expected.layers : [LAYER]);
  expect(statementsIn(stack).map(({ Action }) => Action)).toEqual(expected.actions ?? [CALLS]);
}

describe('a function on a Node.js runtime gets layer, environment and permissions:', () => {
  test.each([
    ['the oldest that was tested', lambda.Runtime.NODEJS_20_X],
    ['the newest that was tested', lambda.Runtime.NODEJS_24_X],
    ['the latest of the region', lambda.Runtime.NODEJS_LATEST],
    ['one that is newer than this library', new lambda.Runtime('nodejs30.x', lambda.RuntimeFamily.NODEJS)],
    ['one that is known by its name alone', new lambda.Runtime('nodejs30.x')],
  ])('%s', (_name, runtime) => {
    const { stack, tokens } = setUp();
    const fn = newFunction(stack, 'Fn', { runtime, code: lambda.Code.fromAsset(join(__dirname, 'fixtures')) });
    tokens.attachTo(fn);
    expectAttached(stack, fn);
    expect(warningsIn(stack)).toEqual([]);
  });

  test('a NodejsFunction that leaves the module to the layer', () => {
    const { stack, tokens } = setUp();
    const fn = new NodejsFunction(stack, 'Fn', {
      entry: join(__dirname, 'fixtures', 'bundled.ts'),
      runtime: lambda.Runtime.NODEJS_22_X,
      timeout: newFunction(stack, 'Other').timeout,
      bundling: { externalModules: ['@aws-sdk/*', ...SharedTokenTable.RUNTIME_MODULES] },
    });
    tokens.attachTo(fn);
    expectAttached(stack, fn);
    const { directory = '' } = Stage.of(stack)?.synth() ?? {};
    const bundles = readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter(file => /^asset\.\w+.index\.js$/.test(file))
      .map(file => readFileSync(join(directory, file), 'utf8'));
    expect(bundles).toEqual([expect.stringContaining('require("cdk-shared-token-table/runtime")')]); // once, in the layer
  });
});

describe.each(['nodejs18.x', 'nodejs16.x', 'nodejs'])('a function on %s, which is older than the runtime needs, is refused', (name) => {
  const MESSAGE = new RegExp(`Stack0/Fn: The runtime needs Node\\.js 20 or later\\. Got ${name}, expected nodejs20\\.x or later\\. .*lambda\\.Runtime`);

  test('and nothing is left behind on it', () => {
    const { stack, tokens } = setUp();
    const fn = newFunction(stack, 'Fn', { runtime: new lambda.Runtime(name, lambda.RuntimeFamily.NODEJS, { supportsInlineCode: true }) });
    expect(() => tokens.attachTo(fn)).toThrow(MESSAGE);
    expect(variablesOf(stack, fn)).toEqual({});
    expect(stack.node.tryFindChild('SharedTokenTableRuntime')).toBeUndefined();
  });

  test('also when it got there after it was attached', () => {
    const { stack, tokens } = setUp();
    const fn = newFunction(stack, 'Fn');
    tokens.attachTo(fn);
    (fn.node.defaultChild as lambda.CfnFunction).addPropertyOverride('Runtime', name);
    expect(() => propertiesOf(stack, fn)).toThrow(MESSAGE);
  });
});

test('the modules to leave to the layer are those that functions import', () => {
  expect(SharedTokenTable.RUNTIME_MODULES).toEqual([
    'cdk-shared-token-table/runtime',
    'cdk-shared-token-table/runtime/oauth',
    'cdk-shared-token-table/runtime/refresher',
  ]);
});

test('a SingletonFunction, which is no Function, is attached like one', () => {
  const { stack, tokens } = setUp();
  const make = (id: string) => new lambda.SingletonFunction(stack, id, {
    uuid: 'e2b1a7f0-0000-4000-8000-000000000000',
    runtime: lambda.Runtime.NODEJS_22_X,
    handler: 'index.handler',
    code: lambda.Code.fromInline('exports.handler = async () => {};'),
  });
  tokens.attachTo(make('One'));
  tokens.attachTo(make('Two')); // the same function
  const fn = stack.node.findChild('SingletonLambdae2b1a7f0000040008000000000000000') as lambda.Function;
  expectAttached(stack, fn);
  expect(variablesOf(stack, fn).SHARED_TOKEN_FUNCTION_TIMEOUT_MS).toBe('3000');
  expect(warningIdsIn(stack)).toEqual(['functionTimeout']);
});

test.each([
  ['Python', lambda.Runtime.PYTHON_3_13],
  ['an OS-only runtime', lambda.Runtime.PROVIDED_AL2023],
])('a function on another runtime (%s) gets environment and permissions, no layer, and a warning', (_name, runtime) => {
  const { stack, tokens } = setUp();
  const fn = newFunction(stack, 'Fn', { runtime, code: lambda.Code.fromAsset(join(__dirname, 'fixtures')) });
  tokens.attachTo(fn);
  expectAttached(stack, fn, { layers: undefined });
  expect(warningsIn(stack)).toEqual([['/Stack0/Fn', expect.stringMatching(/written for Node\.js.*no layer.*\[ack: cdk-shared-token-table:noLayer\]/)]]);
});

test('a function from a container image gets environment and permissions, no layer, and is told to install the package', () => {
  const { stack, tokens } = setUp();
  const fn = newFunction(stack, 'Fn', {
    runtime: lambda.Runtime.FROM_IMAGE,
    handler: lambda.Handler.FROM_IMAGE,
    code: lambda.Code.fromEcrImage(ecr.Repository.fromRepositoryName(stack, 'Repository', 'consumer')),
  });
  tokens.attachTo(fn);
  expectAttached(stack, fn, { layers: undefined });
  expect(warningsIn(stack)).toEqual([[
    '/Stack0/Fn',
    expect.stringMatching(/install the npm package in the image.*cdk-shared-token-table\/runtime.*\[ack: cdk-shared-token-table:noLayer\]/),
  ]]);
});

describe('an alias or a version stands for its function:', () => {
  const PUBLISHED = [['publishedVersion', 'A version that is already published keeps']];

  test.each<[string, (fn: lambda.Function, stack: Stack) => lambda.IFunction, string[][]]>([
    ['an alias of the current version', fn => fn.addAlias('live'), []],
    ['the current version', fn => fn.currentVersion, []],
    ['$LATEST', fn => fn.latestVersion, []],
    ['a version published by hand', (fn, stack) => new lambda.Version(stack, 'Version', { lambda: fn }), PUBLISHED],
    ['a version known by its number', (fn, stack) => lambda.Version.fromVersionAttributes(stack, 'Version', { lambda: fn, version: '3' }), PUBLISHED],
    [
      'an alias of a version published by hand',
      (fn, stack) => new lambda.Alias(stack, 'Alias', { aliasName: 'live', version: new lambda.Version(stack, 'Version', { lambda: fn }) }),
      PUBLISHED,
    ],
  ])('%s', (_name, qualify, warnings) => {
    const { stack, tokens } = setUp();
    const fn = newFunction(stack, 'Fn');
    tokens.attachTo(qualify(fn, stack));
    expectAttached(stack, fn);
    expect(warningIdsIn(stack)).toEqual(warnings.map(([id]) => id));
    for (const [i, [, text]] of warnings.entries()) expect(warningsIn(stack)[i][1]).toContain(text);
  });

  test('a version that is looked at is not published by that', () => {
    const { stack, tokens } = setUp();
    const fn = newFunction(stack, 'Fn');
    tokens.attachTo(lambda.Version.fromVersionAttributes(stack, 'Version', { lambda: fn, version: '3' }));
    expect(fn.node.tryFindChild('CurrentVersion')).toBeUndefined();
  });

  test('the current version is published anew when its function is attached after it was asked for', () => {
    const versionOf = (attached: boolean) => {
      const { stack, tokens } = setUp();
      const fn = newFunction(stack, 'Fn');
      const version = fn.currentVersion;
      if (attached) tokens.attachTo(version);
      return stack.resolve((version.node.defaultChild as lambda.CfnVersion).logicalId) as string;
    };
    expect(versionOf(true)).not.toBe(versionOf(false));
  });
});

describe('an imported function', () => {
  test('with its role gets the permissions, and a warning that says what its owner must set', () => {
    const { stack, tokens } = setUp();
    const role = iam.Role.fromRoleArn(stack, 'Role', `arn:aws:iam::${ACCOUNT}:role/consumer`);
    tokens.attachTo(lambda.Function.fromFunctionAttributes(stack, 'Fn', { functionArn: FUNCTION_ARN, role }));
    expect(statementsIn(stack).map(({ Action }) => Action)).toEqual([CALLS]);
    expect(warningsIn(stack)).toEqual([[
      '/Stack0/Fn',
      expect.stringMatching(/must set the environment variable SHARED_TOKEN_TABLE to \{"Ref":"TokensTableFC8D39D1"\}.*cdk-shared-token-table\/runtime.*\[ack: cdk-shared-token-table:importedFunction\]/),
    ]]);
  });

  test.each([
    ['another account', `arn:aws:lambda:${REGION}:${OTHER_ACCOUNT}:function:consumer`, ['crossAccountPrincipal', 'grantNotInTemplate', 'importedFunction']],
    ['another region', `arn:aws:lambda:us-east-1:${ACCOUNT}:function:consumer`, ['importedFunction']],
  ])('of %s finds the table by its ARN, and its owner is told so', (_name, functionArn, warnings) => {
    const { stack, tokens } = setUp();
    const role = iam.Role.fromRoleArn(stack, 'Role', `arn:aws:iam::${functionArn.split(':')[4]}:role/consumer`);
    tokens.attachTo(lambda.Function.fromFunctionAttributes(stack, 'Fn', { functionArn, role }));
    expect(warningsIn(stack).at(-1)![1]).toContain('must set the environment variable SHARED_TOKEN_TABLE to {"Fn::GetAtt":["TokensTableFC8D39D1","Arn"]}');
    expect(warningIdsIn(stack)).toEqual(warnings);
  });

  test.each<[string, (stack: Stack) => lambda.IFunction]>([
    ['by name', stack => lambda.Function.fromFunctionName(stack, 'Fn', 'consumer')],
    ['by ARN', stack => lambda.Function.fromFunctionArn(stack, 'Fn', FUNCTION_ARN)],
    ['by the ARN of a version', stack => lambda.Version.fromVersionArn(stack, 'Fn', `${FUNCTION_ARN}:3`)],
  ])('without its role (%s) cannot be served', (_name, importFunction) => {
    const { stack, tokens } = setUp();
    expect(() => tokens.attachTo(importFunction(stack)))
      .toThrow(/^Stack0\/Fn\S*: Nothing of this function can be set.*Got a function imported without its role.*fromFunctionAttributes/);
  });
});

describe('Lambda@Edge is refused, with the way out:', () => {
  const MESSAGE = /^Stack0\/\S*: Lambda@Edge allows neither environment variables nor layers.*`grantRead`/;
  const PROPS = { runtime: lambda.Runtime.NODEJS_22_X, handler: 'index.handler', code: lambda.Code.fromInline('exports.handler = async () => {};') };

  test.each([REGION, 'us-east-1'])('an EdgeFunction in %s', (region) => {
    const stack = newStack({ env: { account: ACCOUNT, region } });
    const edge = new cloudfront.experimental.EdgeFunction(stack, 'Edge', PROPS);
    expect(() => new SharedTokenTable(stack, 'Tokens').attachTo(edge)).toThrow(MESSAGE);
  });

  test('the function inside an EdgeFunction', () => {
    const stack = newStack({ env: { account: ACCOUNT, region: 'us-east-1' } });
    const edge = new cloudfront.experimental.EdgeFunction(stack, 'Edge', PROPS);
    expect(() => new SharedTokenTable(stack, 'Tokens').attachTo(edge.lambda)).toThrow(MESSAGE);
  });

  test('an alias of an EdgeFunction', () => {
    const stack = newStack({ env: { account: ACCOUNT, region: 'us-east-1' } });
    const edge = new cloudfront.experimental.EdgeFunction(stack, 'Edge', PROPS);
    expect(() => new SharedTokenTable(stack, 'Tokens').attachTo(edge.addAlias('live'))).toThrow(MESSAGE);
  });

  test('nothing is left behind on it', () => {
    const stack = newStack({ env: { account: ACCOUNT, region: 'us-east-1' } });
    const edge = new cloudfront.experimental.EdgeFunction(stack, 'Edge', PROPS);
    expect(() => new SharedTokenTable(stack, 'Tokens').attachTo(edge)).toThrow(MESSAGE);
    expect(variablesOf(stack, edge.lambda)).toEqual({});
    expect(stack.node.tryFindChild('SharedTokenTableRuntime')).toBeUndefined();
  });
});

test('anything else is served by grants and the environment of the table', () => {
  const { stack, tokens } = setUp();
  tokens.grantRefresh(new iam.Role(stack, 'TaskRole', { assumedBy: new iam.ServicePrincipal('ecs-tasks.amazonaws.com') }), 'bot-*');
  expect(stack.resolve(tokens.environment)).toEqual({ SHARED_TOKEN_TABLE: TABLE_NAME });
  expect(statementsIn(stack).map(({ Action }) => Action)).toEqual([CALLS]);
});

test('attachTo returns the grant', () => {
  const { stack, tokens } = setUp();
  const grant = tokens.attachTo(newFunction(stack, 'Fn'));
  expect(stack.resolve(grant.principalStatement?.toStatementJson().Action)).toEqual(CALLS);
});
