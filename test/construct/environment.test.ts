import { CfnParameter, Duration, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { ACCOUNT, newFunction, newStack, propertiesOf, REGION, statementsIn, variablesOf, warningsIn } from './support/stacks';
import { SharedTokenTable, TokenAccess } from '../../src';

const TABLE_NAME = { Ref: 'TokensTableFC8D39D1' };

function setUp(props: Partial<lambda.FunctionProps> = {}): { stack: Stack; tokens: SharedTokenTable; fn: lambda.Function } {
  const stack = newStack({ env: { account: ACCOUNT, region: REGION } });
  return { stack, tokens: new SharedTokenTable(stack, 'Tokens'), fn: newFunction(stack, 'Fn', props) };
}

const synthesize = (stack: Stack) => () => Template.fromStack(stack);

test('a function is told its table and its own timeout', () => {
  const { stack, tokens, fn } = setUp();
  tokens.attachTo(fn);
  expect(variablesOf(stack, fn)).toEqual({ SHARED_TOKEN_TABLE: TABLE_NAME, SHARED_TOKEN_FUNCTION_TIMEOUT_MS: '15000' });
});

test('what the user set stays beside it', () => {
  const { stack, tokens, fn } = setUp({ environment: { API_URL: 'https://api.example.com' } });
  tokens.attachTo(fn);
  fn.addEnvironment('LATER', 'yes');
  expect(variablesOf(stack, fn)).toMatchObject({ API_URL: 'https://api.example.com', LATER: 'yes', SHARED_TOKEN_TABLE: TABLE_NAME });
});

describe('a function that is attached again', () => {
  test('has one layer, the same environment and the union of the grants', () => {
    const { stack, tokens, fn } = setUp();
    tokens.attachTo(fn, { access: TokenAccess.READ, tokenIds: ['crm'] });
    tokens.attachTo(fn, { tokenIds: ['bot-*'] });
    tokens.attachTo(fn.currentVersion, { tokenIds: ['bot-*'] });
    expect(variablesOf(stack, fn)).toEqual({ SHARED_TOKEN_TABLE: TABLE_NAME, SHARED_TOKEN_FUNCTION_TIMEOUT_MS: '15000' });
    expect(propertiesOf(stack, fn).Layers).toHaveLength(1);
    expect(statementsIn(stack).map(({ Action }) => Action)).toEqual(['dynamodb:GetItem', ['dynamodb:GetItem', 'dynamodb:UpdateItem']]);
    expect(warningsIn(stack)).toEqual([]);
  });

  test('through another reference to the same table', () => {
    const { stack, fn } = setUp();
    SharedTokenTable.fromTableName(stack, 'One', 'crm-tokens').attachTo(fn);
    SharedTokenTable.fromTableName(stack, 'Two', 'crm-tokens').attachTo(fn);
    expect(variablesOf(stack, fn).SHARED_TOKEN_TABLE).toBe('crm-tokens');
  });
});

describe('a second table on one function', () => {
  test('is refused without a variable of its own, and the message shows how', () => {
    const { stack, tokens, fn } = setUp();
    tokens.attachTo(fn);
    expect(() => new SharedTokenTable(stack, 'Erp').attachTo(fn))
      .toThrow(/^Stack0\/Fn: The variable SHARED_TOKEN_TABLE of this function already names another table\. Got \{"Ref":"ErpTable\w+"\}, expected \{"Ref":"TokensTable\w+"\}\. .*attachTo\(fn, \{ tableVariable: 'ERP_TOKENS' \}\)/);
  });

  test('has its own variable, its own grants and the same layer', () => {
    const { stack, tokens, fn } = setUp();
    tokens.attachTo(fn);
    new SharedTokenTable(stack, 'Erp').attachTo(fn, { tableVariable: 'ERP_TOKENS' });
    expect(variablesOf(stack, fn)).toEqual({
      SHARED_TOKEN_TABLE: TABLE_NAME,
      SHARED_TOKEN_FUNCTION_TIMEOUT_MS: '15000',
      ERP_TOKENS: { Ref: expect.stringMatching(/^ErpTable/) },
    });
    expect(propertiesOf(stack, fn).Layers).toHaveLength(1);
    expect(statementsIn(stack)).toHaveLength(2);
  });

  test.each(['', 'A', '1TOKENS', 'ERP-TOKENS', 'ERP TOKENS', '_TOKENS', 'SHARED_TOKEN_REFRESHERS', 'SHARED_TOKEN_FUNCTION_TIMEOUT_MS'])(
    'cannot have the variable %j', (tableVariable) => {
      const { tokens, fn } = setUp();
      expect(() => tokens.attachTo(fn, { tableVariable })).toThrow(`Got '${tableVariable}', expected letters, digits and underscores`);
    });
});

describe.each(['SHARED_TOKEN_TABLE', 'SHARED_TOKEN_FUNCTION_TIMEOUT_MS'])('a value of %s that is not ours', (name) => {
  const MESSAGE = new RegExp(`Stack0/Fn: The environment variable ${name} belongs to the shared token table .* Got "mine", expected .* Remove the other ${name}`);

  test('is never overwritten: set among the properties', () => {
    const { tokens, fn } = setUp({ environment: { [name]: 'mine' } });
    expect(() => tokens.attachTo(fn)).toThrow(MESSAGE);
  });

  test('is never overwritten: added before', () => {
    const { tokens, fn } = setUp();
    fn.addEnvironment(name, 'mine');
    expect(() => tokens.attachTo(fn)).toThrow(MESSAGE);
  });

  test('does not overwrite ours: added after', () => {
    const { stack, tokens, fn } = setUp();
    tokens.attachTo(fn);
    fn.addEnvironment(name, 'mine');
    expect(synthesize(stack)).toThrow(MESSAGE);
  });

  test.each<[string, (resource: lambda.CfnFunction) => void]>([
    ['a property of the resource', resource => { resource.environment = { variables: { [name]: 'mine' } }; }],
    ['an override', resource => resource.addPropertyOverride(`Environment.Variables.${name}`, 'mine')],
  ])('does not overwrite ours through an escape hatch: %s', (_name, escape) => {
    const { stack, tokens, fn } = setUp();
    tokens.attachTo(fn);
    escape(fn.node.defaultChild as lambda.CfnFunction);
    expect(synthesize(stack)).toThrow(MESSAGE);
  });
});

test('the same value set by the user is no conflict, in either order', () => {
  const { stack, tokens, fn } = setUp();
  fn.addEnvironment('SHARED_TOKEN_TABLE', tokens.tableName);
  tokens.attachTo(fn);
  fn.addEnvironment('SHARED_TOKEN_TABLE', tokens.tableName);
  expect(variablesOf(stack, fn).SHARED_TOKEN_TABLE).toEqual(TABLE_NAME);
});

test.each<[string, (resource: lambda.CfnFunction) => void]>([
  ['a property of the resource', resource => { resource.environment = {}; }],
  ['an override of the variable', resource => resource.addPropertyDeletionOverride('Environment.Variables.SHARED_TOKEN_TABLE')],
  ['an override of the environment', resource => resource.addPropertyDeletionOverride('Environment')],
  ['an override of all properties', resource => resource.addDeletionOverride('Properties')],
])('a variable of ours that was removed is found: by %s', (_name, escape) => {
  const { stack, tokens, fn } = setUp();
  tokens.attachTo(fn);
  escape(fn.node.defaultChild as lambda.CfnFunction);
  expect(synthesize(stack)).toThrow(/SHARED_TOKEN_TABLE belongs to the shared token table.*Got nothing/);
});

describe('the size of the environment', () => {
  /** An environment of so many bytes, names and values, with what attachTo adds. */
  const sized = (bytes: number) => {
    const { stack, tokens, fn } = setUp();
    tokens.attachTo(fn);
    const ours = 'SHARED_TOKEN_TABLE'.length + 'SHARED_TOKEN_FUNCTION_TIMEOUT_MS'.length + '15000'.length;
    fn.addEnvironment('ABC', 'ö'.repeat(Math.floor((bytes - ours - 3) / 2)) + 'x'.repeat((bytes - ours - 3) % 2));
    return stack;
  };

  test('up to 3 KB is no matter', () => expect(warningsIn(sized(3072))).toEqual([]));

  test.each([3073, 4096])('of %d bytes is warned about', (bytes) => {
    expect(warningsIn(sized(bytes))).toEqual([[
      '/Stack0/Fn',
      expect.stringMatching(new RegExp(`Got at least ${bytes} bytes, expected at most 4096\\..*\\[ack: cdk-shared-token-table:environmentSize\\]`)),
    ]]);
  });

  test('above 4 KB is an error, before Lambda makes it one', () => {
    expect(synthesize(sized(4097))).toThrow(/Stack0\/Fn: Lambda limits a function's environment variables.*Got at least 4097 bytes, expected at most 4096/);
  });

  test('counts the literal parts of values that CloudFormation completes', () => {
    const { stack, tokens, fn } = setUp();
    tokens.attachTo(fn);
    fn.addEnvironment('URL', `${'x'.repeat(4096)}${tokens.tableName}`);
    expect(synthesize(stack)).toThrow(/Got at least 4154 bytes/);
  });
});

describe('the timeout of the function', () => {
  const attached = (timeout?: Duration) => {
    const { stack, tokens, fn } = setUp({ timeout });
    tokens.attachTo(fn);
    return { stack, fn };
  };

  test("that is Lambda's default is warned about with both figures", () => {
    const { stack, fn } = attached(undefined);
    expect(variablesOf(stack, fn).SHARED_TOKEN_FUNCTION_TIMEOUT_MS).toBe('3000');
    expect(warningsIn(stack)).toEqual([[
      '/Stack0/Fn',
      expect.stringMatching(/Got a timeout of 3000 ms \(Lambda's default\).*up to 10000 ms.*Duration\.seconds\(15\).*\[ack: cdk-shared-token-table:functionTimeout\]/),
    ]]);
  });

  test('that is shorter than a refresh takes is warned about with both figures', () => {
    expect(warningsIn(attached(Duration.seconds(4)).stack)).toEqual([['/Stack0/Fn', expect.stringMatching(/Got a timeout of 4000 ms, .*up to 10000 ms/)]]);
  });

  test('that leaves time for a refresh is not warned about', () => {
    expect(warningsIn(attached(Duration.seconds(5)).stack)).toEqual([]);
  });

  test('reaches the runtime also when it is changed after the function was attached', () => {
    const { stack, fn } = attached(Duration.seconds(15));
    (fn.node.defaultChild as lambda.CfnFunction).timeout = 60;
    expect(variablesOf(stack, fn).SHARED_TOKEN_FUNCTION_TIMEOUT_MS).toBe('60000');
  });

  test('that is overridden is an error: the variable with the timeout cannot follow', () => {
    const { stack, fn } = attached(Duration.seconds(15));
    (fn.node.defaultChild as lambda.CfnFunction).addPropertyOverride('Timeout', 3);
    expect(synthesize(stack)).toThrow(
      /Stack0\/Fn: The timeout of this function is overridden.*SHARED_TOKEN_FUNCTION_TIMEOUT_MS.* Got a Timeout of 3, expected 15\. .*`timeout`/);
  });

  test.each<[string, (resource: lambda.CfnFunction, stack: Stack) => void, string]>([
    ['by a value that is known only at deployment',
      (resource, stack) => resource.addPropertyOverride('Timeout', new CfnParameter(stack, 'Timeout', { type: 'Number' }).valueAsNumber),
      'Got a Timeout of {"Ref":"Timeout"}, expected 15.'],
    ['by removing it', resource => resource.addPropertyDeletionOverride('Timeout'), 'Got a Timeout of nothing, expected 15.'],
  ])('that is overridden is an error: %s', (_name, escape, message) => {
    const { stack, fn } = attached(Duration.seconds(15));
    escape(fn.node.defaultChild as lambda.CfnFunction, stack);
    expect(synthesize(stack)).toThrow(message);
  });

  test('that is overridden by the same value is no matter', () => {
    const { stack, fn } = attached(Duration.seconds(15));
    (fn.node.defaultChild as lambda.CfnFunction).addPropertyOverride('Timeout', 15);
    expect(variablesOf(stack, fn).SHARED_TOKEN_FUNCTION_TIMEOUT_MS).toBe('15000');
  });

  test('that is known only at deployment is left to the context of each invocation', () => {
    const { stack, tokens, fn } = setUp();
    (fn.node.defaultChild as lambda.CfnFunction).timeout = new CfnParameter(stack, 'Timeout', { type: 'Number' }).valueAsNumber;
    tokens.attachTo(fn);
    expect(variablesOf(stack, fn)).toEqual({ SHARED_TOKEN_TABLE: TABLE_NAME });
    expect(warningsIn(stack)).toEqual([]);
  });
});
