import { setTimeout as sleep } from 'node:timers/promises';
import { answerOf, call, type Scenario, type StartOptions } from './support/scenario';
import { worldOf } from './support/world-of';
import type { ExecutionEnvironment } from '../../local-aws/lambda/execution-environment';
import { until } from '../support/until';

/* Lambda freezes an environment as soon as nothing runs in it: in the middle of whatever the runtime still does. */
const { scenario, testThatNothingLeaked } = worldOf(['CommonJS', 'ES module']);

describe.each([[22, 'CommonJS'], [24, 'ES module']] as const)('on Node.js %i, %s', (node, kind) => {
  /** An environment that is frozen in its auth call, which the provider then answers. */
  async function frozenInItsAuthCall(crm: Scenario, options: StartOptions = {}): Promise<ExecutionEnvironment> {
    const holder = await crm.start(kind, node, { staysAwake: true, ...options });
    const held = crm.holdNextCall();
    expect(await call(holder, { leaveAt: 'refreshing' })).toMatchObject({ code: 'ABORTED' });
    await held.arrived();
    holder.freeze();
    held.answer();
    await until('the provider has answered', () => crm.hasIssued);
    return holder;
  }

  test('an environment that was frozen while its token was revoked gets the next one, with one auth call', async () => {
    const crm = await scenario();
    await crm.storeToken();
    const environment = await crm.start(kind, node);
    expect(await call(environment)).toMatchObject({ status: 200 });
    await until('it is frozen', () => environment.isFrozen);

    crm.revoke();
    expect(await call(environment)).toMatchObject({ status: 200 });
    expect(crm.authCalls).toBe(1);
  });

  test('an auth call that is under way when its environment is frozen is not lost: thawed within the lease, it is answered and stored', async () => {
    const crm = await scenario();
    const holder = await frozenInItsAuthCall(crm);
    expect(await crm.item()).not.toHaveProperty('accessToken');

    expect(await call(holder)).toMatchObject({ status: 200 });
    expect(crm.authCalls).toBe(1);
    expect(await crm.item()).toMatchObject({ generation: 1 });
  });

  test('one that is frozen for longer than its lease is succeeded; thawed, it overwrites nothing, and goes on with the newer token', async () => {
    const crm = await scenario();
    const holder = await frozenInItsAuthCall(crm, { authLimitMs: 2_500, ignoresSignal: true });

    const successor = await crm.start(kind, node);
    expect(await call(successor)).toMatchObject({ status: 200 });
    expect(crm.authCalls).toBe(2);
    const stored = await crm.item();

    holder.thaw(); // its answer is there, and late; so is what it has to say of its lease
    await until('it has looked at its clocks', () => crm.story(holder).includes('released'));
    expect(await crm.item()).toEqual(stored);

    expect(await call(holder)).toMatchObject({ status: 200 });
    expect(crm.authCalls).toBe(2);
    expect(await crm.item()).toEqual(stored);
  });

  test('a call that is frozen beyond its deadline ends with the error that says so, and asks for nothing; the next call gets the token', async () => {
    const crm = await scenario();
    const holder = await crm.start(kind, node, { staysAwake: true });
    const held = crm.holdNextCall();
    const refreshing = call(holder);
    await held.arrived();
    const waiter = await crm.start(kind, node);
    const waiting = waiter.invoke({ timeoutMs: 5_000 });
    await until('it waits', () => crm.story(waiter).includes('waiting'));
    waiter.freeze();
    await sleep(5_100); // what passes is the very time that this is about
    held.answer();
    expect(await refreshing).toMatchObject({ status: 200 });

    waiter.thaw();
    expect(answerOf(await waiting)).toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    expect(crm.story(waiter)).not.toContain('claimed');
    expect(await call(waiter)).toMatchObject({ status: 200 });
    expect(crm.authCalls).toBe(1);
  });

  describe('a refresh ahead, which nobody waits for any more', () => {
    /** Calls until its caller has left: the successor of the stored token is nearly sure to be fetched by the first one who looks, and sure within 20 s. */
    const leaveRefreshAhead = async (crm: Scenario, environment: ExecutionEnvironment) => until('the caller leaves', async () => {
      const { status, code } = await call(environment, { leaveAt: 'refreshing' });
      expect(status ?? code).toBe(crm.story(environment).includes('refreshing') ? 'ABORTED' : 200);
      return code !== undefined;
    });
    const nearItsEnd = { ageMs: 3_550_000, leftMs: 50_000 };

    test('is not lost when its environment is frozen in the middle of the auth call', async () => {
      const crm = await scenario();
      await crm.storeToken(nearItsEnd);
      const environment = await crm.start(kind, node, { staysAwake: true });
      const held = crm.holdNextCall();
      await leaveRefreshAhead(crm, environment);
      await held.arrived();
      environment.freeze();
      held.answer();
      await until('the provider has answered', () => crm.hasIssued);
      expect(await crm.item()).toMatchObject({ generation: 1 });

      expect(await call(environment)).toMatchObject({ status: 200 });
      expect(await crm.item()).toMatchObject({ generation: 2 });
      expect(crm.authCalls).toBe(1);
    });

    test('is finished during the next invocations, wherever freezes interrupt it', async () => {
      const crm = await scenario();
      await crm.storeToken(nearItsEnd);
      const environment = await crm.start(kind, node);
      await leaveRefreshAhead(crm, environment);
      await until('the next token is stored', async () => {
        expect(await call(environment)).toMatchObject({ status: 200 });
        return (await crm.item()).generation === 2;
      });
      expect(crm.authCalls).toBe(1);
    });
  });
});

testThatNothingLeaked();
