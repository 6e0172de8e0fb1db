import { KINDS, NODES } from './support/consumers-stack';
import { call } from './support/scenario';
import { worldOf } from './support/world-of';

const { scenario, testThatNothingLeaked } = worldOf(KINDS);
const consumers = NODES.flatMap(node => KINDS.map(kind => [node, kind] as const));

describe.each(consumers)('on Node.js %i, %s', (node, kind) => {
  test('a cold start gets the token with one auth call; warm calls use it, with no request to the table or the provider', async () => {
    const crm = await scenario();
    const environment = await crm.start(kind, node);
    expect(await call(environment)).toMatchObject({ status: 200 });
    expect(crm.authCalls).toBe(1);
    expect(crm.requests).toEqual(['GetItem', 'UpdateItem', 'UpdateItem']); // look, claim, commit

    for (let calls = 0; calls < 5; calls++) expect(await call(environment)).toMatchObject({ status: 200 });
    expect(crm.authCalls).toBe(1);
    expect(crm.requests).toHaveLength(3);
  });
});

testThatNothingLeaked();
