import { runSeeds } from '../../simulation/campaign';
import { caseOf } from '../../simulation/case';
import { withLightAbort } from '../../simulation/light-abort';
import { INVARIANTS } from '../../simulation/observer';
import { type RunResult, runSeed, shrink } from '../../simulation/run';
import { realRuntime } from '../../simulation/runtime';
import { subjectOf, VARIANTS } from '../../simulation/variants';

const subject = { runtime: realRuntime };

test('no random schedule breaks a promise of the protocol', async () => {
  const { runs, failed, checks } = await runSeeds({ firstSeed: 1, runs: 3_000, subject, until: () => true });

  expect(failed).toEqual([]);
  expect(runs).toBe(3_000);
  for (const invariant of INVARIANTS.filter(name => name !== 'I4')) expect(checks[invariant]).toBeGreaterThan(1_000);
});

test('a seed replays to the letter', async () => {
  for (const seed of [7, 23, 135, 1_324]) {
    const [once, again] = [await runSeed({ seed, subject, traces: true }), await runSeed({ seed, subject, traces: true })];

    expect(once.trace.length).toBeGreaterThan(5);
    expect(again.trace).toEqual(once.trace);
    expect(again.checks).toEqual(once.checks);
  }
});

test('the light AbortController changes nothing but the speed', async () => {
  for (let seed = 1; seed <= 60; seed++) {
    const light = await withLightAbort(async () => runSeed({ seed, subject, traces: true }));

    expect(light.trace).toEqual((await runSeed({ seed, subject, traces: true })).trace);
  }
});

test('the same number of instances in each run, where the user wants that', () => {
  expect([1, 2, 3, 4, 5].map(seed => caseOf(seed, { instances: 9 }).instances)).toEqual([9, 9, 9, 9, 9]);
});

test('a failing schedule is shrunk to the faults that it takes', async () => {
  const variant = VARIANTS.find(({ name }) => name === 'late answers are thrown away');
  if (variant === undefined) throw new Error('No such variant');
  const broken = subjectOf(variant);
  let failing: RunResult | undefined;
  await runSeeds({
    firstSeed: 1,
    runs: 10_000,
    subject: broken,
    until: result => {
      if (result.violation?.invariant === 'I3' && result.faults.length > 2) failing = result;
      return failing !== undefined;
    },
  });
  if (failing === undefined) throw new Error('Nothing failed');

  const shrunk = await shrink({ seed: failing.seed, subject: broken }, 'I3');

  expect(shrunk.violation?.invariant).toBe('I3');
  expect(shrunk.faults.length).toBeLessThan(failing.faults.length);
  expect(shrunk.trace.at(-1)).toContain('is violated');
});
