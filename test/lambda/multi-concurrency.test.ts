import { answerOf, call } from './support/scenario';
import { worldOf } from './support/world-of';
import { NODES } from '../../local-aws/lambda/environment-variables';

/* Lambda Managed Instances: an environment takes several invocations at once. Each worker is a thread with a runtime of its own. */
const { scenario, testThatNothingLeaked } = worldOf(['CommonJS', 'ES module']);
const consumers = NODES.flatMap(node => (['CommonJS', 'ES module'] as const).map(kind => [node, kind] as const));

describe.each(consumers)('on Node.js %i, %s', (node, kind) => {
  test('invocations that overlap in one process share one refresh, and each ends by its own deadline or signal', async () => {
    const crm = await scenario();
    const environment = await crm.start(kind, node, { concurrency: { invocations: 4, workers: 1 } });
    const held = crm.holdNextCall();
    const patient = [environment.invoke({}), environment.invoke({})];
    const hurried = environment.invoke({ timeoutMs: 1_000 });
    const leaving = environment.invoke({ abortAfterMs: 1_000 });
    await held.arrived();

    // The second one where even the look into the table took that second.
    expect(answerOf(await hurried)).toMatchObject({ code: expect.stringMatching(/^(DEADLINE_EXCEEDED|TABLE_UNAVAILABLE)$/) as string });
    expect(answerOf(await leaving)).toMatchObject({ code: 'ABORTED' });
    held.answer();
    const answers = (await Promise.all(patient)).map(answerOf);
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(new Set(answers.map(({ pid, threadId }) => `${pid} ${threadId}`)).size).toBe(1);
    expect(answers.map(({ atOnce }) => atOnce).sort()).toEqual([1, 2]); // they did overlap
    expect(crm.authCalls).toBe(1);
    expect(crm.story(environment).filter(step => step === 'claimed')).toHaveLength(1);
    expect(crm.story(environment)).not.toContain('waiting'); // none of them looked for what its own process fetched
  });

  test('the workers of one process share one refresh, as if they were processes', async () => {
    const crm = await scenario();
    const environment = await crm.start(kind, node, { concurrency: { invocations: 6, workers: 2 } });
    const answers = await Promise.all(Array.from({ length: 6 }, async () => call(environment)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200]);
    expect(new Set(answers.map(({ pid }) => pid)).size).toBe(1);
    expect(new Set(answers.map(({ threadId }) => threadId)).size).toBe(2);
    expect(crm.authCalls).toBe(1);
  });

  test('when the API revokes the token in the middle of overlapping invocations, one auth call is made, and all go on', async () => {
    const crm = await scenario();
    await crm.storeToken();
    const environment = await crm.start(kind, node, { concurrency: { invocations: 6, workers: 2 } });
    const callAll = async () => Promise.all(Array.from({ length: 6 }, async () => (await call(environment)).status));
    expect(await callAll()).toEqual([200, 200, 200, 200, 200, 200]);
    crm.revoke();
    expect(await callAll()).toEqual([200, 200, 200, 200, 200, 200]);
    expect(crm.authCalls).toBe(1);
    expect(await crm.item()).toMatchObject({ generation: 2 });
  });
});

testThatNothingLeaked();
