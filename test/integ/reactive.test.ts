import { roundsOf } from './cases/expectations';
import { reactiveCase } from './cases/reactive';
import type { ReactiveStack } from './stacks/reactive-stack';
import { runAssertions } from './support/assertions';
import { LocalDeployment } from './support/local-deployment';

let deployment: LocalDeployment<ReactiveStack>;

beforeAll(async () => {
  deployment = await LocalDeployment.start(app => reactiveCase(app).stack);
  deployment.enter();
  deployment.serve(deployment.stack.server);
});

afterAll(async () => deployment?.stop());

test('three functions, each in another form, share a token through a rotation: what is asserted on AWS holds here', async () => {
  // One revocation, as soon as the storm guard believes it.
  const results = await runAssertions(deployment, { payload: { atOnce: 2, pausesMs: [5_200] }, expected: roundsOf(1, 1) });
  expect(results).toEqual([expect.objectContaining({ status: 'success', message: '' })]);
});
