import { type Case, caseOf } from '../../simulation/case';
import { withLightAbort } from '../../simulation/light-abort';
import { realRuntime } from '../../simulation/runtime';
import { RandomSchedule } from '../../simulation/schedule';
import { World } from '../../simulation/world';

const SECOND = 1_000;
const OUTAGE_MS = 600 * SECOND;

test('200 instances with 10 requests a second through an outage of ten minutes: the calls follow the schedule, and the first success clears it', async () => {
  const some = caseOf(1);
  const provider: Case['provider'] = { ...some.provider, kind: 'client-credentials', lifeS: 3_600, latencyMs: 300, errorRate: 0, apiLagMs: 0 };
  const settings: Case = { ...some, provider, start: 'empty', clocks: 'exact', durationMs: 2 * OUTAGE_MS };
  const world = new World({ settings, schedule: new RandomSchedule(1, 0), subject: { runtime: realRuntime }, traces: false });
  world.isDisturbed = false;
  const start = world.scheduler.now;
  const redeem = world.provider.redeem.bind(world.provider);
  const asked: number[] = [];
  world.provider.redeem = refreshToken => {
    asked.push(world.scheduler.now - start);
    return world.scheduler.now < start + OUTAGE_MS ? { error: '503' } : redeem(refreshToken);
  };
  const clocks = { offsetMs: 0, rate: 1, standsStill: false, mayJump: false };
  const members = Array.from({ length: 200 }, () => world.join(clocks, { mayRefresh: true, timeouts: [3 * SECOND] }));
  let succeeded = 0;
  for (let request = 0; request < 7_000; request++) {
    const member = members[request % members.length];
    if (member === undefined) throw new Error('No such member');
    world.scheduler.after(request * 100, () => {
      member.instance.deliver(() => {
        void world.call(member, 'get', { timeoutMs: 2.7 * SECOND }, 2.7 * SECOND).then(result => { succeeded += Number(result.succeeded); });
      });
    });
  }

  await withLightAbort(async () => world.run());

  expect(world.observer.violation).toBeUndefined();
  const pauses = asked.slice(1).map((at, index) => at - (asked[index] ?? NaN));
  const schedule = pauses.map((_, index) => Math.min(2 ** index, 60) * SECOND);
  pauses.forEach((pause, index) => expect(pause).toBeGreaterThanOrEqual((schedule[index] ?? NaN) - provider.latencyMs));
  expect(asked.filter(at => at < OUTAGE_MS).length).toBeGreaterThan(12); // somebody does try as soon as it may
  expect(asked.filter(at => at >= OUTAGE_MS)).toHaveLength(1);
  expect(world.item()).toMatchObject({ generation: 1 });
  expect(world.item()).not.toHaveProperty('failure');
  expect(succeeded).toBeGreaterThan(300);
});
