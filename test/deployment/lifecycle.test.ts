import { appendFileSync, cpSync } from 'node:fs';
import { join } from 'node:path';
import { DescribeTableCommand } from '@aws-sdk/client-dynamodb';
import { GetFunctionCommand, ListFunctionsCommand } from '@aws-sdk/client-lambda';
import type { IConstruct } from 'constructs';
import { Deployment, expectAllServed } from './support/deployment';
import type { ExampleApp } from './support/example-app';
import { REPOSITORY } from '../support/command';
import { until } from '../support/until';

/*
 * A stack is deployed, used, deployed again with another runtime in its layer, and destroyed.
 */

/** What the other runtime prints when it is loaded. */
const SIGN = 'this is another version of the runtime';

const NAMES = ['SendMessage', 'OnDemand', 'OwnRefresher'] as const;
type Name = typeof NAMES[number];

let deployed: Deployment;
let updated: ExampleApp;

beforeAll(async () => {
  deployed = await Deployment.start();
  await deployed.deploy(...NAMES.map(name => stackOf(name)), deployed.app.policies);
});
afterAll(async () => deployed?.stop());

const stackOf = (name: Name) => name === 'SendMessage' ? deployed.app.sendMessage : deployed.app.withRefresher[name];
const itemOf = async (name: Name) => deployed.item(stackOf(name).tokens.table);
const authCalls = () => Object.fromEntries(NAMES.map(name => [name, deployed.thirdParty(name).authCalls]));
const consumerOf = (name: Name) => deployed.app.consumers[name];

async function layersOf(fn: IConstruct): Promise<readonly (string | undefined)[]> {
  const { Configuration } = await deployed.lambda.send(new GetFunctionCommand({ FunctionName: await deployed.physicalId(fn) }));
  return Configuration?.Layers?.map(({ Arn }) => Arn) ?? [];
}

async function exists(table: IConstruct): Promise<boolean> {
  return deployed.dynamoDb.send(new DescribeTableCommand({ TableName: await deployed.physicalId(table) }))
    .then(() => true, (error: Error) => {
      if (error.name === 'ResourceNotFoundException') return false;
      throw error;
    });
}

describe('another runtime in the layer', () => {
  let layersBefore: Record<string, readonly (string | undefined)[]>;
  let itemsBefore: Record<string, unknown>;
  let authCallsBefore: Record<string, number>;

  beforeAll(async () => {
    for (const name of NAMES) expectAllServed([await deployed.invoke(consumerOf(name))]);
    layersBefore = Object.fromEntries(await Promise.all(NAMES.map(async name => [name, await layersOf(consumerOf(name))] as const)));
    itemsBefore = Object.fromEntries(await Promise.all(NAMES.map(async name => [name, await itemOf(name)] as const)));
    authCallsBefore = authCalls();

    const layer = join(deployed.cloud.folder, 'other-layer');
    cpSync(join(REPOSITORY, 'assets', 'layer'), layer, { recursive: true });
    appendFileSync(join(layer, 'nodejs', 'node_modules', 'cdk-shared-token-table', 'runtime', 'index.js'), `\nconsole.log(${JSON.stringify(SIGN)});\n`);
    updated = deployed.synthesize('updated.out', layer);
    await deployed.toolkit.deploy(updated.outdir, ...NAMES.map(name => stackOf(name).stackName));
  });

  test.each(NAMES)('%s: is a new version of the layer, which the function has in place of the other', async name => {
    const layers = await layersOf(consumerOf(name));
    expect(layers).toHaveLength(1);
    expect(layers).not.toEqual(layersBefore[name]);
  });

  test.each(NAMES)('%s: runs from the next invocation on', async name => {
    const invocation = await deployed.invoke(consumerOf(name));
    expectAllServed([invocation]);
    expect(invocation.log).toContain(SIGN);
  });

  test('runs in a refresher of one\'s own, too, which that deployment has invoked, and nothing was due', async () => {
    // The local cloud prints what a function prints that nobody waits for.
    await until('the invocation by the deployment is over', () => deployed.cloud.printed.includes(SIGN));
    expect(await deployed.invoke(deployed.app.ownRefresher.crm.function)).toMatchObject({ payload: { refreshed: false } });
  });

  test.each(NAMES)('%s: the table and its token are the same, and nobody asked for another', async name => {
    expect(await itemOf(name)).toEqual(itemsBefore[name]);
    expect(authCalls()).toEqual(authCallsBefore);
  });
});

describe('destroyed', () => {
  beforeAll(async () => {
    await until('the first token is there', async () => (await deployed.item(deployed.app.policies.tokens.table))?.accessToken !== undefined);
    await deployed.toolkit.destroy(updated.outdir, ...NAMES.map(name => stackOf(name).stackName), deployed.app.policies.stackName);
  });

  test('a stack leaves no function behind', async () => {
    const { Functions = [] } = await deployed.lambda.send(new ListFunctionsCommand({}));
    expect(Functions.map(({ FunctionName }) => FunctionName)).toEqual([]);
  });

  test.each(NAMES)('%s: the table stays, with the token in it', async name => {
    expect(await exists(stackOf(name).tokens.table)).toBe(true);
    expect(await itemOf(name)).toMatchObject({ accessToken: expect.any(String) as string });
  });

  test('a table that was to go with its stack is gone, the other one of that stack is not', async () => {
    expect(await exists(deployed.app.policies.passing.table)).toBe(false);
    expect(await exists(deployed.app.policies.tokens.table)).toBe(true);
  });
});
