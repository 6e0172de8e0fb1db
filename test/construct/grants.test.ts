import { CfnParameter, Fn, Lazy, Stack } from 'aws-cdk-lib';
import * as dynamodb from 'aws-cdk-lib/aws-dynamodb';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as kms from 'aws-cdk-lib/aws-kms';
import { newFunction, newStack, Statement, statementsIn } from './support/stacks';
import { SharedTokenTable, TokenAccess } from '../../src';

const TABLE_ARN = { 'Fn::GetAtt': ['TokensTableFC8D39D1', 'Arn'] };

/** Written out on purpose: the list is frozen, and whoever changes the contract must change it here too. */
const READABLE = ['tokenId', 'accessToken', 'generation', 'issuedAt', 'expiresAt', 'lease', 'refreshMs', 'failure', 'meta', 'expireAfter'];

/** Frozen as well. */
const LOOKED_AT = ['tokenId', 'generation', 'issuedAt', 'expiresAt', 'lease', 'refreshMs', 'failure', 'meta', 'expireAfter'];
const MENDED = ['tokenId', 'lease', 'failure', 'expiresAt', 'generation', 'issuedAt'];

function setUp(context?: { [key: string]: unknown }): { stack: Stack; tokens: SharedTokenTable; role: iam.Role } {
  const stack = newStack();
  for (const [key, value] of Object.entries(context ?? {})) stack.node.setContext(key, value);
  return {
    stack,
    tokens: new SharedTokenTable(stack, 'Tokens'),
    role: new iam.Role(stack, 'Role', { assumedBy: new iam.ServicePrincipal('ecs-tasks.amazonaws.com') }),
  };
}

function granted(grant: (tokens: SharedTokenTable, role: iam.Role) => void): Statement[] {
  const { stack, tokens, role } = setUp();
  grant(tokens, role);
  return statementsIn(stack);
}

const readLiterals = (...ids: string[]): Statement => ({
  Effect: 'Allow',
  Action: 'dynamodb:GetItem',
  Resource: TABLE_ARN,
  Condition: {
    'StringEquals': { 'dynamodb:Select': 'SPECIFIC_ATTRIBUTES' },
    'ForAllValues:StringEquals': { 'dynamodb:Attributes': READABLE, 'dynamodb:LeadingKeys': ids },
    'Null': { 'dynamodb:Attributes': 'false', 'dynamodb:LeadingKeys': 'false' },
  },
});

const readPatterns = (...patterns: string[]): Statement => ({
  Effect: 'Allow',
  Action: 'dynamodb:GetItem',
  Resource: TABLE_ARN,
  Condition: {
    'StringEquals': { 'dynamodb:Select': 'SPECIFIC_ATTRIBUTES' },
    'ForAllValues:StringEquals': { 'dynamodb:Attributes': READABLE },
    'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': patterns },
    'Null': { 'dynamodb:Attributes': 'false', 'dynamodb:LeadingKeys': 'false' },
  },
});

const refresh = (operator: string, ...ids: string[]): Statement => ({
  Effect: 'Allow',
  Action: ['dynamodb:GetItem', 'dynamodb:UpdateItem'],
  Resource: TABLE_ARN,
  Condition: { [operator]: { 'dynamodb:LeadingKeys': ids }, Null: { 'dynamodb:LeadingKeys': 'false' } },
});

/** The two statements of an operator, for literals or for patterns. */
const operate = (operator: 'StringEquals' | 'StringLike', ...ids: string[]): [look: Statement, mend: Statement] => {
  const of = (action: string, equal: object, attributes: string[]): Statement => {
    const named = { 'dynamodb:Attributes': attributes };
    const keys = { 'dynamodb:LeadingKeys': ids };
    return {
      Effect: 'Allow',
      Action: action,
      Resource: TABLE_ARN,
      Condition: {
        StringEquals: equal,
        ...(operator === 'StringEquals' ? { 'ForAllValues:StringEquals': { ...named, ...keys } } : { 'ForAllValues:StringEquals': named, 'ForAllValues:StringLike': keys }),
        Null: { 'dynamodb:Attributes': 'false', 'dynamodb:LeadingKeys': 'false' },
      },
    };
  };
  return [
    of('dynamodb:GetItem', { 'dynamodb:Select': 'SPECIFIC_ATTRIBUTES' }, LOOKED_AT),
    of('dynamodb:UpdateItem', { 'dynamodb:ReturnValues': 'NONE' }, MENDED),
  ];
};

describe('grantRead', () => {
  test('allows GetItem alone, of the readable attributes of these tokens alone', () => {
    expect(granted((tokens, role) => tokens.grantRead(role, 'crm', 'erp'))).toEqual([readLiterals('crm', 'erp')]);
  });

  test('allows a prefix in a statement of its own', () => {
    expect(granted((tokens, role) => tokens.grantRead(role, 'bot-*'))).toEqual([readPatterns('bot-*')]);
  });

  test('keeps literals apart from prefixes, because StringLike reads more into a literal', () => {
    expect(granted((tokens, role) => tokens.grantRead(role, 'crm', 'bot-*', 'erp', 'eu/*')))
      .toEqual([readLiterals('crm', 'erp'), readPatterns('bot-*', 'eu/*')]);
  });

  test("for '*' asks nothing of the key, and still keeps the refresh token away", () => {
    expect(granted((tokens, role) => tokens.grantRead(role, '*'))).toEqual([{
      Effect: 'Allow',
      Action: 'dynamodb:GetItem',
      Resource: TABLE_ARN,
      Condition: {
        'StringEquals': { 'dynamodb:Select': 'SPECIFIC_ATTRIBUTES' },
        'ForAllValues:StringEquals': { 'dynamodb:Attributes': READABLE },
        'Null': { 'dynamodb:Attributes': 'false' },
      },
    }]);
  });

  test('never lets the refresh token be named', () => {
    expect(JSON.stringify(granted((tokens, role) => tokens.grantRead(role, 'crm', 'bot-*')))).not.toContain('refreshToken');
  });
});

describe('grantRefresh', () => {
  test('allows GetItem and UpdateItem of these tokens, without a condition on what is returned', () => {
    expect(granted((tokens, role) => tokens.grantRefresh(role, 'crm', 'erp'))).toEqual([refresh('ForAllValues:StringEquals', 'crm', 'erp')]);
  });

  test('keeps literals apart from prefixes', () => {
    expect(granted((tokens, role) => tokens.grantRefresh(role, 'bot-*', 'crm')))
      .toEqual([refresh('ForAllValues:StringEquals', 'crm'), refresh('ForAllValues:StringLike', 'bot-*')]);
  });

  test("for '*' covers every token, whatever else is named", () => {
    expect(granted((tokens, role) => tokens.grantRefresh(role, 'crm', '*', 'bot-*')))
      .toEqual([{ Effect: 'Allow', Action: ['dynamodb:GetItem', 'dynamodb:UpdateItem'], Resource: TABLE_ARN }]);
  });
});

describe('grantOperate', () => {
  test('allows GetItem of all but tokens, and UpdateItem of what operators mend that asks for nothing back, of these tokens alone', () => {
    expect(granted((tokens, role) => tokens.grantOperate(role, 'crm', 'erp'))).toEqual(operate('StringEquals', 'crm', 'erp'));
  });

  test('keeps literals apart from prefixes', () => {
    const [lookLiterals, mendLiterals] = operate('StringEquals', 'crm');
    const [lookPatterns, mendPatterns] = operate('StringLike', 'bot-*');
    expect(granted((tokens, role) => tokens.grantOperate(role, 'bot-*', 'crm'))).toEqual([lookLiterals, lookPatterns, mendLiterals, mendPatterns]);
  });

  test("for '*' asks nothing of the key, and of the attributes the same", () => {
    const withoutKeys = (attributes: string[], equal: object) => ({
      'StringEquals': equal, 'ForAllValues:StringEquals': { 'dynamodb:Attributes': attributes }, 'Null': { 'dynamodb:Attributes': 'false' },
    });
    expect(granted((tokens, role) => tokens.grantOperate(role, '*'))).toEqual([
      { Effect: 'Allow', Action: 'dynamodb:GetItem', Resource: TABLE_ARN, Condition: withoutKeys(LOOKED_AT, { 'dynamodb:Select': 'SPECIFIC_ATTRIBUTES' }) },
      { Effect: 'Allow', Action: 'dynamodb:UpdateItem', Resource: TABLE_ARN, Condition: withoutKeys(MENDED, { 'dynamodb:ReturnValues': 'NONE' }) },
    ]);
  });

  test('never lets a token be named, nor the refresh token', () => {
    const policy = JSON.stringify(granted((tokens, role) => tokens.grantOperate(role, 'crm', 'bot-*')));
    for (const secret of ['accessToken', 'refreshToken']) expect(policy).not.toContain(secret);
  });

  test('grants the customer key of the table once, through DynamoDB alone', () => {
    const stack = newStack();
    const key = new kms.Key(stack, 'Key');
    const tokens = new SharedTokenTable(stack, 'Tokens', { encryption: dynamodb.TableEncryptionV2.customerManagedKey(key) });
    tokens.grantOperate(new iam.Role(stack, 'OnCall', { assumedBy: new iam.AccountRootPrincipal() }), 'crm', 'bot-*');
    expect(statementsIn(stack).filter(({ Action }) => Action === 'kms:Decrypt')).toEqual([{
      Effect: 'Allow',
      Action: 'kms:Decrypt',
      Resource: stack.resolve(key.keyArn),
      Condition: { StringEquals: { 'kms:ViaService': stack.resolve(`dynamodb.${stack.region}.amazonaws.com`) } },
    }]);
  });

  test('is no access of a consumer: TokenAccess knows it not', () => {
    expect(Object.keys(TokenAccess)).toEqual(['READ', 'REFRESH']);
  });
});

test('attachTo grants exactly what grantRefresh for all tokens grants, unless it is told otherwise', () => {
  const { stack, tokens } = setUp();
  tokens.attachTo(newFunction(stack, 'Fn'));
  expect(statementsIn(stack)).toEqual(granted((other, role) => other.grantRefresh(role, '*')));
});

test('attachTo with TokenAccess.READ grants exactly what grantRead grants', () => {
  const { stack, tokens } = setUp();
  tokens.attachTo(newFunction(stack, 'Fn'), { access: TokenAccess.READ, tokenIds: ['crm', 'bot-*'] });
  expect(statementsIn(stack)).toEqual(granted((other, role) => other.grantRead(role, 'crm', 'bot-*')));
});

test('an id named twice is granted once', () => {
  expect(granted((tokens, role) => tokens.grantRead(role, 'crm', 'crm'))).toEqual([readLiterals('crm')]);
});

test('the same grant twice is one statement', () => {
  expect(granted((tokens, role) => {
    tokens.grantRead(role, 'crm');
    tokens.grantRead(role, 'crm');
  })).toEqual([readLiterals('crm')]);
});

test('grants for the same principal add up', () => {
  expect(granted((tokens, role) => {
    tokens.grantRead(role, 'crm');
    tokens.grantRefresh(role, 'bot-*');
  })).toEqual([readLiterals('crm'), refresh('ForAllValues:StringLike', 'bot-*')]);
});

test('a policy that CDK minimizes says the same: conditions that differ keep statements apart', () => {
  const { stack, tokens, role } = setUp({ '@aws-cdk/aws-iam:minimizePolicies': true });
  tokens.grantRead(role, 'crm', 'bot-*');
  tokens.grantRefresh(role, 'erp');
  expect(statementsIn(stack)).toHaveLength(3);
  expect(statementsIn(stack)).toEqual(expect.arrayContaining([readLiterals('crm'), readPatterns('bot-*'), refresh('ForAllValues:StringEquals', 'erp')]));
});

test('the returned grant holds every statement, and other resources can wait for it', () => {
  const { stack, tokens, role } = setUp();
  const grant = tokens.grantRead(role, 'crm', 'bot-*');
  expect(stack.resolve(grant.principalStatements.map(statement => statement.toStatementJson()))).toEqual([readLiterals('crm'), readPatterns('bot-*')]);
});

describe.each(['grantRead', 'grantRefresh', 'grantOperate'] as const)('%s refuses', (method) => {
  const refused = (...ids: string[]) => expect(() => {
    const { tokens, role } = setUp();
    tokens[method](role, ...ids);
  });

  test('a call without ids: an empty list must never mean all', () => {
    refused().toThrow(/^Stack0\/Tokens: A grant names the tokens it is for\. Got no token id, expected at least one id or pattern, or '\*' for all\./);
  });

  test('an empty id', () => refused('crm', '').toThrow(/Got '', expected an id of 1 to 2048 bytes/));

  test('an id that is known only at deployment', () => {
    refused(Lazy.string({ produce: () => 'crm' })).toThrow(/Got a CDK token.* expected a literal string\. .*'bot-\*'/);
  });

  test.each<[string, (list: string[]) => string[]]>([
    ['a list that is split', () => Fn.split(',', Fn.importValue('Ids'))],
    ['a list parameter', list => list],
    ['a list among literals', list => ['crm', ...list]],
    ['a part of an id', list => [`bot-${list}*`]],
  ])('ids that are known only at deployment: %s', (_name, idsFrom) => {
    const { stack, tokens, role } = setUp();
    const { valueAsList } = new CfnParameter(stack, 'Ids', { type: 'CommaDelimitedList' });
    expect(() => tokens[method](role, ...idsFrom(valueAsList))).toThrow(/^Stack0\/Tokens: .*Got a CDK token.* expected a literal string\. /);
  });

  test.each([[undefined, 'undefined'], [null, 'null'], [42, '42'], [['crm'], '["crm"]']])('%p, which is no id at all', (id, shown) => {
    refused(id as unknown as string).toThrow(`Stack0/Tokens: A token id is a string. Got ${shown}, expected`);
  });

  test.each([
    ['a*b', '*'], ['*b', '*'], ['**', '*'], ['a**', '*'], ['a?b', '?'], ['a?*', '?'], ['a${b', '${'], ['${aws:username}', '${'], ['bot-${x}*', '${'],
  ])('%j, in which IAM reads %j as more than a character', (id, special) => {
    refused(id).toThrow(`Stack0/Tokens: IAM reads '${special}' in a policy as more than a character. Got '${id}'`);
  });

  test.each(['a\tb', 'a\nb', '\u0000', 'tökenĀ', 'токен', '🤖-1'])('%j, which a policy cannot hold', (id) => {
    refused(id).toThrow(/a policy can hold only the printable characters from U\+0020 to U\+00FF/i);
  });

  test.each([["'a\\u007f'", 'a\u007f'], ["'\\u0080b'", '\u0080b'], ["'a\\u009f*'", 'a\u009f*'], ["'a\\u000a'", 'a\n']])(
    '%s: a control character is not printable, and the message shows it', (shown, id) => {
      refused(id).toThrow(`printable characters from U+0020 to U+00FF. Got ${shown}`);
    });

  test('an id above the limit of DynamoDB, counted in bytes', () => {
    refused('ö'.repeat(1025)).toThrow(/of 2050 bytes, expected at most 2048 bytes/);
  });
});

test.each(['a', 'crm', 'eu/crm:1', 'a b', 'a$b', 'a{b}', '$', '~', '\u00a0', 'ünïcode-ÿ', 'x'.repeat(2048)])('the id %j is granted as it is', (id) => {
  expect(granted((tokens, role) => tokens.grantRead(role, id))).toEqual([readLiterals(id)]);
});

test('attachTo refuses an empty list of tokens as grants do', () => {
  const { stack, tokens } = setUp();
  expect(() => tokens.attachTo(newFunction(stack, 'Fn'), { tokenIds: [] })).toThrow(/Got no token id/);
});

test.each<[string, (stack: Stack) => unknown, string]>([
  ['a list token', stack => Fn.split(',', new CfnParameter(stack, 'Ids').valueAsString), 'a CDK token'],
  ['a string', () => 'crm', "'crm'"],
])('attachTo refuses, in place of a list of tokens, %s', (_name, tokenIdsIn, got) => {
  const { stack, tokens } = setUp();
  expect(() => tokens.attachTo(newFunction(stack, 'Fn'), { tokenIds: tokenIdsIn(stack) as string[] })).toThrow(`Got ${got}`);
  expect(statementsIn(stack)).toEqual([]);
});

test.each(['read', 'WRITE', ''])('attachTo refuses the access %j, which it does not know, rather than give the stronger one', (access) => {
  const { stack, tokens } = setUp();
  expect(() => tokens.attachTo(newFunction(stack, 'Fn'), { access: access as TokenAccess }))
    .toThrow(`Stack0/Tokens: There is no such access to tokens. Got '${access}', expected TokenAccess.READ ('READ') or TokenAccess.REFRESH ('REFRESH').`);
  expect(statementsIn(stack)).toEqual([]);
});

test.each([
  ['attachTo', (tokens: SharedTokenTable, stack: Stack) => tokens.attachTo(newFunction(stack, 'Fn'), { tokenId: 'crm' } as object), /There is no such option of `attachTo`\. Got 'tokenId'/],
  ['a table', (_: SharedTokenTable, stack: Stack) => new SharedTokenTable(stack, 'Other', { tokenEncriptionKey: 1 } as object), /no such option of a `SharedTokenTable`/],
  ['an imported table', (_: SharedTokenTable, stack: Stack) => SharedTokenTable.fromTableAttributes(stack, 'I', { tableName: 'crm', tokenKey: 1 } as object), /\('I'\)/],
])('%s refuses an option that it does not know: written wrong, it would count as absent', (_name, act, message) => {
  const { stack, tokens } = setUp();
  expect(() => act(tokens, stack)).toThrow(message);
  expect(statementsIn(stack)).toEqual([]);
});
