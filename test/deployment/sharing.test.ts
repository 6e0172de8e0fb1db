import { Deployment, until } from './support/deployment';

let deployed: Deployment;

beforeAll(async () => {
  deployed = await Deployment.start();
  await deployed.deploy(...deployed.app.examples);
});
afterAll(async () => deployed?.stop());

test('the first token comes with the deployment', async () => {
  const { app } = deployed;
  await until('token', async () => (await deployed.item(app.onDemand.tokens.table))?.accessToken !== undefined);
  expect(deployed.thirdParty('OnDemand').authCalls).toBe(1);
  console.log(await deployed.invoke(app.onDemand.orders), await deployed.invoke(app.sendMessage.sendMessage), await deployed.item(app.onDemand.tokens.table), deployed.cloud.lastLines);
});
