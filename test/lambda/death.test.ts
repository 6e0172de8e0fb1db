import type { Kind } from './support/consumers-stack';
import { call, type Scenario, type StartOptions } from './support/scenario';
import { worldOf } from './support/world-of';
import type { NodeMajor } from '../../local-aws/lambda/environment-variables';
import type { ExecutionEnvironment } from '../../local-aws/lambda/execution-environment';

/* What becomes of a lease whose holder dies with it: it ends by itself, and whoever waits for it takes over. */
const { scenario, testThatNothingLeaked } = worldOf(['CommonJS', 'ES module']);

type Consumer = readonly [NodeMajor, Kind];

/** A lease lasts two seconds more, and the others take over after two more at most. Long enough for what is done here while it lives. */
const brief: StartOptions = { authLimitMs: 3_000 };

/** For a machine with other things to do, where Lambda gives half a second. What keeps a process alive would keep it for longer. */
const AMPLE_MS = 20_000;

/** Another environment gets the token: once the lease of the one that died is over, and no earlier. */
async function expectSuccession(crm: Scenario, dead: ExecutionEnvironment, [node, kind]: Consumer): Promise<void> {
  const successor = await crm.start(kind, node);
  expect(await call(successor)).toMatchObject({ status: 200 });
  expect(crm.story(successor)).toContain('committed');
  const [lost, taken] = [dead, successor].map(environment => crm.steps(environment).find(({ type }) => type === 'claimed'));
  expect(taken?.takeover).toBe(true);
  expect(taken?.at).toBeGreaterThanOrEqual(lost?.until ?? Infinity);
}

describe.each([[22, 'ES module'], [24, 'CommonJS']] as const)('on Node.js %i, %s', (node, kind) => {
  test('a function that times out while it holds the lease is succeeded by a new environment', async () => {
    const crm = await scenario();
    await crm.storeToken();
    const holder = await crm.start(kind, node, brief);
    expect(await call(holder)).toMatchObject({ status: 200 });
    crm.revoke();
    crm.holdNextCall();

    const result = await holder.invoke({ hangs: true }, { timeoutMs: 2_500 });
    expect(result).toMatchObject({ error: { errorType: 'Sandbox.Timedout' } });
    expect(await holder.ended()).toEqual({ code: null, signal: 'SIGKILL' });
    expect(crm.authCalls).toBe(1);
    await expectSuccession(crm, holder, [node, kind]);
    expect(crm.authCalls).toBe(2);
  });

  test('a function whose process ends while it holds the lease is succeeded by a new environment', async () => {
    const crm = await scenario();
    const holder = await crm.start(kind, node, { authLimitMs: 500 }); // it sends nothing
    const result = await holder.invoke({ exitAt: 'refreshing' });
    expect(result).toMatchObject({ error: { errorType: 'Runtime.ExitError', errorMessage: expect.stringContaining('exit status 1') as string } });
    await expectSuccession(crm, holder, [node, kind]);
    expect(crm.authCalls).toBe(1);
  });

  test('a function that is killed in the middle of its auth call is succeeded by a new environment', async () => {
    const crm = await scenario();
    const holder = await crm.start(kind, node, brief);
    const held = crm.holdNextCall();
    const running = holder.invoke({});
    await held.arrived();
    await holder.kill();
    expect(await running).toMatchObject({ error: { errorType: 'Runtime.ExitError', errorMessage: expect.stringContaining('signal: killed') as string } });
    await expectSuccession(crm, holder, [node, kind]);
    expect(crm.authCalls).toBe(2);
  });

  test('an invocation ends when its caller does, whatever the runtime still waits for', async () => {
    const crm = await scenario();
    const environment = await crm.start(kind, node);
    const held = crm.holdNextCall();
    expect(await call(environment, { leaveAt: 'refreshing' })).toMatchObject({ code: 'ABORTED' });
    held.answer();
  });

  test('a call that runs out of time fails with its typed error before the function times out', async () => {
    const crm = await scenario();
    const environment = await crm.start(kind, node);
    crm.holdNextCall();
    const result = await environment.invoke({ throws: true }, { timeoutMs: 6_000 });
    expect(result).toMatchObject({ error: { errorType: 'SharedTokenError' } });
    expect(environment.exit).toBeUndefined();
    expect(environment.logs.join('\n')).toMatch(/Invoke Error.*"code":"(DEADLINE_EXCEEDED|REFRESH_TIMED_OUT)"/);
  });

  test('Lambda\'s SIGTERM ends an environment, idle or in the middle of an auth call', async () => {
    const crm = await scenario();
    await crm.storeToken();
    const [idle, busy] = await crm.startAll(2, kind, node) as [ExecutionEnvironment, ExecutionEnvironment];
    expect(await call(idle)).toMatchObject({ status: 200 });
    expect(await idle.shutDown(AMPLE_MS)).toEqual({ code: null, signal: 'SIGTERM' });

    crm.revoke();
    const held = crm.holdNextCall();
    const running = busy.invoke({});
    await held.arrived();
    expect(await busy.shutDown(AMPLE_MS)).toEqual({ code: null, signal: 'SIGTERM' });
    expect(await running).toMatchObject({ error: { errorType: 'Runtime.ExitError' } });
  });
});

testThatNothingLeaked();
