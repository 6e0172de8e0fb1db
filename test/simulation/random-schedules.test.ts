import { runSeeds } from '../../simulation/campaign';
import { caseOf } from '../../simulation/case';
import { withLightAbort } from '../../simulation/light-abort';
import { type Checks, INVARIANTS } from '../../simulation/observer';
import { type RunResult, runSeed, shrink } from '../../simulation/run';
import { realRuntime } from '../../simulation/runtime';
import { subjectOf, VARIANTS } from '../../simulation/variants';
import { outputOf, REPOSITORY } from '../support/command';

const subject = { runtime: realRuntime };

interface Result {
  readonly runs: number;
  readonly violations: number;
  readonly firstSeed: number;
  readonly lastSeed: number;
  readonly checks: Checks;
}

jest.setTimeout(300_000); // most of a minute on two cores, and more where they are shared

test('no random schedule of 20,000 breaks a promise of the protocol', async () => {
  const result = JSON.parse(await outputOf('npm', ['run', '--silent', 'simulate', '--', '--json'], { cwd: REPOSITORY })) as Result;
  const { checks, ...counts } = result;

  expect(counts).toEqual({ runs: 20_000, violations: 0, firstSeed: 1, lastSeed: 20_000 });
  for (const invariant of INVARIANTS.filter(name => name !== 'I4')) expect(checks[invariant]).toBeGreaterThan(10_000);
  expect(checks.I4).toBeGreaterThan(0);
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
