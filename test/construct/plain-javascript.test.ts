import * as iam from 'aws-cdk-lib/aws-iam';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as logs from 'aws-cdk-lib/aws-logs';
import { addCrm, credentials, setUp, type Setup, source, TOKEN_URL } from './support/refreshers';
import { ACCOUNT, newFunction, REGION } from './support/stacks';
import { SharedTokenTable, TokenSource } from '../../src';

/* TypeScript and jsii do not let these through; plain JavaScript does, and users of it are told what to do all the same. */

const SENTINEL = 's3cret-passed-by-mistake';

type Use = (setup: Setup, wrong: never) => unknown;

const ofTable = (option: string): [string, Use] => [option, ({ stack }, wrong) => new SharedTokenTable(stack, 'Other', { [option]: wrong })];
const ofImport = (option: string): [string, Use] => [option, ({ stack }, wrong) =>
  SharedTokenTable.fromTableAttributes(stack, 'Other', { tableName: 'tokens', [option]: wrong })];
const ofSource = (option: string): [string, Use] => [option, ({ stack, tokens }, wrong) => addCrm({ stack, tokens }, {
  source: TokenSource.httpRequest({ url: TOKEN_URL, accessTokenField: 'token', [option]: wrong }),
})];
const ofRefresher = (option: string): [string, Use] => [option, (setup, wrong) => addCrm(setup, { source: source(setup.stack), [option]: wrong })];

describe.each([
  ofTable('encryption'), ofTable('tokenEncryptionKey'),
  ofImport('encryptionKey'), ofImport('tokenEncryptionKey'),
  ofSource('credentials'), ofSource('credentialsParameter'), ofSource('tokenLife'),
  ...['schedule', 'timeWindow', 'failureQueue', 'timeout', 'authLimit', 'vpc', 'logGroup', 'runtime', 'environmentEncryption'].map(ofRefresher),
])('`%s`', (option, use) => {
  test.each([['text', SENTINEL, 'string'], ['a number', 30, 'number'], ['nothing', null, 'null'], ['something else', {}, 'object']])('that is %s', (_, wrong, got) => {
    let error = new Error('accepted');
    try {
      use(setUp(), wrong as never);
    } catch (thrown) {
      error = thrown as Error;
    }
    const message = new RegExp(`^Stack0\\S*: \`${option}\` is an? .* Got ${got}, expected what CDK makes\\. Pass .+\\.$`);
    expect(error).toMatchObject({ name: 'SharedTokenTableError', message: expect.stringMatching(message) });
    expect(error.message).not.toContain(SENTINEL);
  });
});

test('encryption by a key alone: the message says how', () => {
  const { stack } = setUp();
  const key = { keyArn: `arn:aws:kms:${REGION}:${ACCOUNT}:key/1` };
  expect(() => new SharedTokenTable(stack, 'Other', { encryption: key as never }))
    .toThrow('Stack0/Other: `encryption` is an encryption of a table. Got object, expected what CDK makes. '
      + 'Pass `TableEncryptionV2.customerManagedKey(key)`, say.');
});

describe.each([['nothing', undefined], ['text', 'arn:aws:lambda:eu-west-1:111111111111:function:orders']])('%s', (_, wrong) => {
  test.each<[string, (setup: Setup, wrong: never) => unknown]>([
    ['the `attachTo` of a table', ({ tokens }, consumer) => tokens.attachTo(consumer)],
    ['the `attachTo` of a refresher', (setup, consumer) => addCrm(setup).attachTo(consumer)],
  ])('for %s is no function', (_where, use) => {
    expect(() => use(setUp(), wrong as never)).toThrow(new RegExp(`^Stack0/Tokens\\S*: Only a Lambda function can be attached.*Got ${typeof wrong}, expected a function`));
  });

  test.each<[string, (setup: Setup, wrong: never) => unknown]>([
    ['`grantRead`', ({ tokens }, grantee) => tokens.grantRead(grantee, 'crm')],
    ['`grantRefresh`', ({ tokens }, grantee) => tokens.grantRefresh(grantee, 'crm')],
    ['`grantOperate`', ({ tokens }, grantee) => tokens.grantOperate(grantee, 'crm')],
    ['the `grantRead` of a refresher', (setup, grantee) => addCrm(setup).grantRead(grantee)],
  ])('for %s is no principal', (_where, use) => {
    expect(() => use(setUp(), wrong as never)).toThrow(new RegExp(`^Stack0/Tokens: Permissions are granted to who can have them\\. Got ${typeof wrong}, expected a role`));
  });
});

test('a resource of CloudFormation is none of the objects above it', () => {
  const setup = setUp();
  const logGroup = new logs.CfnLogGroup(setup.stack, 'Log', { logGroupName: 'refresher' });
  expect(() => addCrm(setup, { logGroup: logGroup as never }))
    .toThrow(/`logGroup` is a log group\. Got object, .* Pass a `LogGroup`; one of elsewhere by `LogGroup\.fromLogGroupName\(this, id, name\)`\.$/);
});

test.each([['text', 'arn:aws:lambda:eu-west-1:111111111111:function:own', 'string'], ['a number', 5, 'number'], ['something else', {}, 'object'], ['nothing', null, 'nothing']])(
  'a function of one\'s own as a refresher: %s is none', (_, wrong, got) => {
    expect(() => addCrm(setUp(), { source: TokenSource.fromFunction(wrong as never) }))
      .toThrow(new RegExp(`^Stack0/Tokens/Crm: A function of yours is a refresher once it is passed\\. Got ${got}, .*TokenSource\\.fromFunction\\(fn\\)`));
  },
);

test.each<[string, (setup: Setup) => unknown, string]>([
  ['of a refresher', setup => addCrm(setup, { shedule: 'never' } as never), "There is no such option of a refresher. Got 'shedule', expected tokenId, source, schedule, "],
  ['of a token endpoint', setup => addCrm(setup, {
    source: TokenSource.clientCredentials({ tokenUrl: TOKEN_URL, credentials: credentials(setup.stack), scope: 'orders' } as never),
  }), "There is no such option of this source. Got 'scope', expected credentials, "],
  ['of a request', setup => addCrm(setup, { source: TokenSource.httpRequest({ url: TOKEN_URL, verb: 'GET' } as never) }), "Got 'verb', expected credentials, "],
])('an option %s that is written wrong is refused', (_, use, message) => {
  expect(() => use(setUp())).toThrow(message);
});

describe.each<[string, unknown, string]>([['text', 'crm', 'string'], ['a list', ['crm'], 'a list'], ['nothing', null, 'null'], ['a number', 5, 'number']])('options that are %s', (_, wrong, got) => {
  test.each<[string, (setup: Setup, wrong: never) => unknown]>([
    ['of a table', ({ stack }, props) => new SharedTokenTable(stack, 'Other', props)],
    ['of an import', ({ stack }, props) => SharedTokenTable.fromTableAttributes(stack, 'Other', props)],
    ['of `attachTo`', ({ stack, tokens }, options) => tokens.attachTo(newFunction(stack, 'Fn'), options)],
    ['of a refresher', ({ tokens }, props) => tokens.addRefresher('Crm', props)],
    ['of client credentials', (setup, props) => addCrm(setup, { source: TokenSource.clientCredentials(props) })],
    ['of a refresh token', (setup, props) => addCrm(setup, { source: TokenSource.refreshToken(props) })],
    ['of a request', (setup, props) => addCrm(setup, { source: TokenSource.httpRequest(props) })],
    ['of a body', (setup, body) => addCrm(setup, { source: TokenSource.httpRequest({ url: TOKEN_URL, body }) })],
  ])('%s are refused', (_where, use) => {
    expect(() => use(setUp(), wrong as never)).toThrow(new RegExp(`^Stack0\\S*: There is no object with the .* Got ${got}, expected an object, which may have `));
  });
});

test.each<[string, (setup: Setup) => unknown]>([
  ['a refresher', ({ tokens }) => tokens.addRefresher('Crm', undefined as never)],
  ['a source', setup => addCrm(setup, { source: TokenSource.clientCredentials(undefined as never) })],
])('the forgotten options of %s are asked for', (_, use) => {
  expect(() => use(setUp())).toThrow(/^Stack0\S*: There is no object with the options of .* Got undefined, expected an object, which may have /);
});

test('a grant whose arguments are swapped says what an id is', () => {
  const { stack, tokens } = setUp();
  const role = new iam.Role(stack, 'Role', { assumedBy: new iam.ServicePrincipal('ecs-tasks.amazonaws.com') });
  expect(() => tokens.grantRead('crm' as never, role as never)).toThrow('Stack0/Tokens: A token id is a string. Got an object, expected an id');
});

test('what is no function, but can have permissions, is told the grants', () => {
  const { stack, tokens } = setUp();
  const role = new iam.Role(stack, 'Role', { assumedBy: new iam.ServicePrincipal('ecs-tasks.amazonaws.com') });
  expect(() => tokens.attachTo(role as unknown as lambda.IFunction)).toThrow(/^\S*Role: Only a Lambda function can be attached.*Got Role.*`grantRead` \(of a table `grantRefresh`, too\)/s);
});
