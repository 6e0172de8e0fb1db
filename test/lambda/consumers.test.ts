import { KINDS } from './support/consumers-stack';
import { call } from './support/scenario';
import { worldOf } from './support/world-of';
import { NODES } from '../../local-aws/lambda/environment-variables';

/*
 * The published runtime, on AWS's own runtime client: what `npm run test:lambda` runs. Each file starts functions that a real stack synthesized, with the layer and the
 * variables of its template (`support/consumers-stack.ts`), in execution environments as Lambda's (`local-aws/lambda`), on each version of Node.js that Lambda has.
 *
 * This file: whichever way a function comes by the runtime, it keeps to the protocol's main promises. The others: freezes, deaths, several invocations at once.
 */
const { scenario, testThatNothingLeaked } = worldOf(KINDS);
const consumers = NODES.flatMap(node => KINDS.map(kind => [node, kind] as const));

describe.each(consumers)('on Node.js %i, %s', (node, kind) => {
  test('a cold start gets the token with one auth call; warm calls use it, with no request to the table or the provider', async () => {
    const crm = await scenario();
    const environment = await crm.start(kind, node);
    expect(await call(environment)).toMatchObject({ status: 200 });
    expect(crm.authCalls).toBe(1);
    const afterColdStart = [...crm.requests];
    expect(new Set(afterColdStart)).toEqual(new Set(['GetItem', 'UpdateItem'])); // look, claim and commit

    for (let calls = 0; calls < 5; calls++) expect(await call(environment)).toMatchObject({ status: 200 });
    expect(crm.authCalls).toBe(1);
    expect(crm.requests).toEqual(afterColdStart);
  });

  test('environments that start cold all at once make one auth call', async () => {
    const crm = await scenario();
    const environments = await crm.startAll(4, kind, node);
    const answers = await Promise.all(environments.map(async environment => call(environment)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(crm.authCalls).toBe(1);
  });

  test('when the API revokes the token, one auth call is made, and all go on', async () => {
    const crm = await scenario();
    await crm.storeToken();
    const environments = await crm.startAll(4, kind, node);
    const callAll = async () => Promise.all(environments.map(async environment => (await call(environment)).status));
    expect(await callAll()).toEqual([200, 200, 200, 200]);
    expect(crm.authCalls).toBe(0);

    crm.revoke();
    expect(await callAll()).toEqual([200, 200, 200, 200]);
    expect(crm.authCalls).toBe(1);
    expect(await crm.item()).toMatchObject({ generation: 2 });
  });
});

testThatNothingLeaked();
