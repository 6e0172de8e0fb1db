import { runSeeds } from '../../simulation/campaign';
import { INVARIANTS } from '../../simulation/observer';
import { brokenRuntime } from '../../simulation/runtime';
import { subjectOf, VARIANTS } from '../../simulation/variants';

test.each(VARIANTS)('the simulator finds within 10,000 runs: $name', async variant => {
  const { failed, runs } = await runSeeds({
    firstSeed: 1,
    runs: 10_000,
    subject: subjectOf(variant),
    until: ({ violation }) => violation !== undefined && variant.breaks.includes(violation.invariant),
  });

  expect(variant.breaks).toContain(failed.at(-1)?.violation.invariant);
  expect(runs).toBeLessThan(10_000);
});

test('each invariant has a variant that breaks it', () => {
  const broken = new Set(VARIANTS.flatMap(({ breaks }) => breaks));

  expect([...INVARIANTS].filter(invariant => !broken.has(invariant))).toEqual([]);
});

test('a variant that no longer fits the source is an error, not a variant that breaks nothing', () => {
  expect(() => brokenRuntime({ file: 'decide.ts', find: /no such text/, replace: '' })).toThrow('no longer fits the source');
});
