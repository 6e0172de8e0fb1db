import { mkdtempSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { App, Duration, Stack } from 'aws-cdk-lib';
import * as kms from 'aws-cdk-lib/aws-kms';
import * as scheduler from 'aws-cdk-lib/aws-scheduler';
import * as secretsmanager from 'aws-cdk-lib/aws-secretsmanager';
import { printed, SECRETS, secretsIn, written } from './support/secrets';
import * as runtime from '../../lambda-runtime';
import * as oauth from '../../lambda-runtime/oauth';
import * as operator from '../../lambda-runtime/operator';
import * as refresher from '../../lambda-runtime/refresher';
import { SecretsServer } from '../../local-aws/secrets-server';
import * as constructs from '../../src';
import * as testing from '../../testing-kit';
import { newFunction } from '../construct/support/stacks';
import { REPOSITORY, temporaryFolder } from '../support/command';
import { OAuthServer } from '../support/oauth-server';
import { tablePerFile } from '../support/per-test';

/*
 * Every export of every entry point of the package, used with secrets in its hands, successfully and in vain: nothing that is printed of it shows one. What is meant
 * to hand a token out (the result of `get`, of a source) is not searched; everything around it is.
 */
const { table, tokenId } = tablePerFile();
const { accessToken, nextAccessToken, refreshToken, clientSecret } = SECRETS;
const credentials = { clientId: 'orders', clientSecret, refreshToken };
let server: OAuthServer;
let secrets: SecretsServer;

beforeAll(async () => {
  [server, secrets] = await Promise.all([OAuthServer.start(), SecretsServer.start()]);
  secrets.put('crm', JSON.stringify(credentials));
  Object.assign(process.env, secrets.environment);
});
afterAll(async () => {
  for (const name of Object.keys(secrets.environment)) delete process.env[name];
  await Promise.all([server.stop(), secrets.stop()]);
});
beforeEach(() => { server.change = undefined; });

/** What an act throws, or the act itself. */
async function failureOf(act: () => unknown): Promise<unknown> {
  try {
    await act();
  } catch (error) {
    console.error(error);
    return error;
  }
  throw new Error('It did not fail');
}

const giveTokens = () => {
  server.change = answer => Object.assign(answer.body, { access_token: nextAccessToken, refresh_token: refreshToken, expires_in: 60 });
};
const refuseWithSecrets = () => {
  server.change = answer => {
    answer.statusCode = 400;
    answer.body = { error: 'invalid_grant', error_description: `${clientSecret} is not the secret of ${refreshToken}`, access_token: accessToken };
  };
};
const request = { tokenId: 'crm', signal: new AbortController().signal, refreshToken };

/** A source: asked successfully, refused by a server that tells secrets, with credentials that lack something. */
const source = (make: (given: unknown) => runtime.Refresh) => async () => {
  const good = make(credentials);
  giveTokens();
  const answer = await good(request);
  expect(answer.accessToken).toBe(nextAccessToken);
  refuseWithSecrets();
  const refused = await failureOf(async () => good(request));
  const fromSecret = make({ secretArn: 'crm' });
  giveTokens();
  expect(await fromSecret(request)).toMatchObject({ accessToken: nextAccessToken });
  const incomplete = await failureOf(async () => make({ [clientSecret]: refreshToken })(request));
  const fails = await failureOf(async () => make(async () => { throw Object.assign(new Error('no'), { clientSecret }); })(request));
  return [good, fromSecret, refused, incomplete, fails];
};

const fetches = async () => ({ accessToken: nextAccessToken, refreshToken, expiresIn: 60 });
const expired = () => ({ tokenId: tokenId(), accessToken, refreshToken, generation: 1, issuedAt: Date.now() - 9_000, expiresAt: Date.now() - 1_000 });
const context = { awsRequestId: 'request', getRemainingTimeInMillis: () => 10_000, invokedFunctionArn: 'arn:aws:lambda:eu-west-1:111122223333:function:refresh' };

/** A stack with everything that handles credentials. */
function stackWithAll(app: App): { readonly stack: Stack; readonly all: object[] } {
  const stack = new Stack(app, 'Leaks');
  const secret = new secretsmanager.Secret(stack, 'Client');
  const tokens = new constructs.SharedTokenTable(stack, 'Tokens', { tokenEncryptionKey: new kms.Key(stack, 'Key') });
  const tokenUrl = 'https://auth.example.com/token';
  const sources = {
    crm: constructs.TokenSource.clientCredentials({
      tokenUrl, credentials: secret, clientAuthentication: constructs.ClientAuthentication.CLIENT_SECRET_BASIC,
    }),
    erp: constructs.TokenSource.refreshToken({ tokenUrl, credentials: secret }),
    bot: constructs.TokenSource.httpRequest({
      url: tokenUrl, credentials: secret, bodyFormat: constructs.BodyFormat.JSON, body: { key: '{{clientSecret}}' }, accessTokenField: 'token',
    }),
  };
  const fn = newFunction(stack, 'Fn');
  const refreshers = Object.entries(sources).map(([id, from]) => tokens.addRefresher(id, {
    tokenId: id, source: from, schedule: scheduler.ScheduleExpression.rate(Duration.hours(1)), firstToken: constructs.FirstToken.REQUIRED,
  }));
  tokens.attachTo(fn, { access: constructs.TokenAccess.READ });
  for (const one of refreshers) one.attachTo(fn);
  return { stack, all: [tokens, ...Object.values(sources), ...refreshers] };
}

/** Every file of a folder, as text. */
function textOf(folder: string): string {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).map(file => join(folder, file))
    .filter(path => statSync(path).isFile()).map(path => readFileSync(path, 'latin1')).join('\n');
}

const assemblies = temporaryFolder('leaks');
let assembly: readonly string[] | undefined;
/** Written once, and searched for each construct. */
const synthesized = async () => assembly ??= write();
const write = (): readonly string[] => {
  const outdir = mkdtempSync(join(assemblies, 'cdk-'));
  const app = new App({ outdir });
  const { all } = stackWithAll(app);
  app.synth();
  return [textOf(outdir), ...all.map(one => String(one))];
};

type Scene = () => Promise<readonly unknown[]>;

/** An enum: names alone, which no secret can get into. */
const HOLDS_NONE: Scene = async () => [];
type Scenes<M> = { readonly [N in keyof M]: Scene };

const inMemory: Scene = async () => {
  await table().put(expired());
  const token = new runtime.SharedToken(tokenId(), { refresh: fetches });
  expect(await token.get()).toBe(nextAccessToken);
  token.reject(nextAccessToken);
  return [token, runtime.SharedToken];
};

const RUNTIME: Scenes<typeof runtime> = {
  SharedToken: inMemory,
  SharedTokenError: async () => [new runtime.SharedTokenError('REFRESH_FAILED', 'x', { cause: Object.assign(new Error('no'), { clientSecret }) })],
  RefreshError: async () => [
    new runtime.RefreshError('invalid_client', { refreshToken, cause: Object.assign(new Error('no'), { clientSecret }) }),
    new runtime.RefreshError(accessToken, { retryAfter: clientSecret }),
  ],
};
const OAUTH: Scenes<typeof oauth> = {
  clientCredentials: source(given => oauth.clientCredentials({ tokenUrl: server.tokenUrl, credentials: given as oauth.Credentials })),
  refreshToken: source(given => oauth.refreshToken({ tokenUrl: server.tokenUrl, credentials: given as oauth.Credentials })),
  httpRequest: source(given => oauth.httpRequest({
    url: server.tokenUrl,
    credentials: given as oauth.Credentials,
    headers: { 'x-api-key': '{{clientSecret}}' },
    body: { grant_type: 'refresh_token', client_id: '{{clientId}}', refresh_token: '{{refreshToken}}' },
    format: 'form',
    accessTokenField: 'access_token',
  })),
  refreshFrom: async () => {
    const settings = { kind: 'client_credentials', tokenUrl: server.tokenUrl, credentials: { secretArn: 'crm' } };
    const refresh = oauth.refreshFrom(settings as oauth.SourceSettings);
    giveTokens();
    expect(await refresh(request)).toMatchObject({ accessToken: nextAccessToken });
    refuseWithSecrets();
    return [refresh, await failureOf(async () => refresh(request))];
  },
};
const REFRESHER: Scenes<typeof refresher> = {
  refresherHandler: async () => {
    await table().put(expired());
    const handler = refresher.refresherHandler({ tokenId: tokenId(), refresh: fetches });
    const answer = await handler({ asked: {} }, context);
    expect(answer).toEqual({ refreshed: true });
    await table().put(expired());
    const refuses = async () => { throw Object.assign(new Error('no'), { config: { clientSecret } }); };
    const failing = refresher.refresherHandler({ tokenId: tokenId(), refresh: refuses });
    return [handler, answer, await failureOf(async () => failing({ asked: {} }, { ...context, getRemainingTimeInMillis: () => 1_500 }))];
  },
};
const OPERATOR: Scenes<typeof operator> = {
  SharedTokenOperator: async () => {
    await table().put({ ...expired(), expiresAt: Date.now() + 60_000 });
    const mending = new operator.SharedTokenOperator(tokenId());
    return [mending, await mending.state(), await mending.expire(), await mending.endLease(), await mending.clearFailure(), await mending.state()];
  },
};
const CONSTRUCTS: Scenes<typeof constructs> = {
  SharedTokenTable: synthesized,
  TokenRefresher: synthesized,
  TokenSource: async () => [
    ...await synthesized(),
    ...await Promise.all(([['x-api-key', clientSecret], ['authorization', `Bearer ${accessToken}`]] as const).map(async ([header, value]) => failureOf(() => {
      const stack = new Stack(new App(), 'S');
      const secret = new secretsmanager.Secret(stack, 'Client');
      const from = constructs.TokenSource.httpRequest({ url: 'https://auth.example.com', credentials: secret, headers: { [header]: value }, accessTokenField: 'token' });
      new constructs.SharedTokenTable(stack, 'Tokens').addRefresher('Crm', { tokenId: 'crm', source: from });
    }))),
  ],
  FirstToken: HOLDS_NONE,
  TokenAccess: HOLDS_NONE,
  BodyFormat: HOLDS_NONE,
  ClientAuthentication: HOLDS_NONE,
};
/** A kit for tests, whose proxy shows requests to those who ask for them, and whose table is the test's own: its tokens are test data. Its errors show none. */
const TESTING: Scenes<typeof testing> = {
  TestingKitError: async () => [await failureOf(async () => testing.startEmbeddedTable({ template: { Resources: { T: { Type: clientSecret } } } }))],
  EmbeddedDynamoDb: async () => {
    const engine = await testing.EmbeddedDynamoDb.start();
    const template = { clientSecret, Resources: { T: { Type: 'AWS::DynamoDB::GlobalTable', Properties: {} } } };
    const failed = await failureOf(async () => engine.createTableFromTemplate(template));
    await engine.stop();
    return [failed];
  },
  FaultProxy: async () => {
    const proxy = await testing.FaultProxy.start('http://127.0.0.1:9', () => undefined); // where nobody listens
    const answer = await fetch(proxy.endpoint, { method: 'POST', headers: { 'x-amz-target': 'DynamoDB_20120810.PutItem' }, body: JSON.stringify({ clientSecret }) })
      .then(async response => response.text(), (error: unknown) => error);
    await proxy.stop();
    return [answer];
  },
  startEmbeddedTable: async () => [await failureOf(async () => testing.startEmbeddedTable({ template: { clientSecret, Resources: {} } }))],
};

const entryPoints = {
  'cdk-shared-token-table': [constructs, CONSTRUCTS],
  'cdk-shared-token-table/runtime': [runtime, RUNTIME],
  'cdk-shared-token-table/runtime/oauth': [oauth, OAUTH],
  'cdk-shared-token-table/runtime/refresher': [refresher, REFRESHER],
  'cdk-shared-token-table/runtime/operator': [operator, OPERATOR],
  'cdk-shared-token-table/testing': [testing, TESTING],
} as const;

test('every entry point of the package is here, and each of its exports', () => {
  const { name, exports } = JSON.parse(readFileSync(join(REPOSITORY, 'package.json'), 'utf8')) as { readonly name: string; readonly exports: object };
  const published = Object.keys(exports).filter(path => !/json$|jsii$/.test(path)).map(path => name + path.slice(1));
  expect(Object.keys(entryPoints).sort()).toEqual(published.sort());
  for (const [exported, scenes] of Object.values(entryPoints)) expect(Object.keys(scenes).sort()).toEqual(Object.keys(exported).sort());
});

const scenes = Object.entries(entryPoints)
  .flatMap(([entryPoint, [, all]]) => Object.entries(all as Record<string, Scene>).map(([name, scene]) => [entryPoint, name, scene] as const))
  .filter(([, , scene]) => scene !== HOLDS_NONE);

test.each(scenes)('%s: %s shows no secret', async (_, name, scene) => {
  process.env.CLIENT_SECRET = clientSecret; // as where a pipeline has it
  const { text, result } = await written(scene).finally(() => delete process.env.CLIENT_SECRET);
  expect(result.length).toBeGreaterThan(0);
  expect(secretsIn(text)).toEqual([]);
  for (const one of result) expect([name, ...secretsIn(typeof one === 'string' ? one : printed(one))]).toEqual([name]);
});
