import { measureColdStarts } from '../../bench/cold-starts';
import { IMPORTS, VARIANTS } from '../../bench/functions';
import { comparisons, median, textOf } from '../../bench/text';

/*
 * That the benchmark measures what it says; how fast anything is, no test asks.
 */
test('every function of the benchmark starts and is called; those with a shared token are compared with what does without', async () => {
  const measurements = await measureColdStarts({ nodes: [24], rounds: 1, onRound: () => {} });
  expect(measurements.map(({ node, variant }) => [node, variant])).toEqual([...VARIANTS, IMPORTS].map(variant => [24, variant]));
  for (const { variant, bytes, samples } of measurements) {
    expect(bytes).toBeGreaterThan(0);
    const within = variant === IMPORTS ? ['sdk', 'client', 'runtime', 'oauth'] : ['firstCall'];
    expect(samples).toEqual([Object.fromEntries(['init', ...within].map(what => [what, expect.any(Number)]))]);
  }
  const compared = comparisons(measurements);
  const withBaseline = VARIANTS.filter(({ baseline }) => baseline !== undefined);
  expect(compared.map(({ variant, baseline }) => [variant, baseline])).toEqual(withBaseline.map(({ name, baseline }) => [name, baseline]));
  expect(compared.length).toBeGreaterThan(4);
  expect(textOf(measurements).split('\n').filter(line => line.startsWith('| 24 |'))).toHaveLength(VARIANTS.length + compared.length + 1);
});

test('a comparison is the median of the differences within each round', () => {
  const variant = { name: 'with', handler: 'shared-token', format: 'cjs', external: [], baseline: 'without' } as const;
  const samples = (...init: number[]) => init.map(ms => ({ init: ms, firstCall: ms / 10 }));
  const [compared] = comparisons([
    { node: 22, variant: { ...variant, name: 'without', baseline: undefined }, bytes: 10, gzippedBytes: 5, samples: samples(100, 900, 200) },
    { node: 22, variant, bytes: 25, gzippedBytes: 9, samples: samples(104, 910, 203) },
  ]);
  expect(compared).toMatchObject({ variant: 'with', baseline: 'without', bytes: 15, initMs: 4, initRatio: 0.02 });
  expect([median([3, 1, 2]), median([4, 1, 2, 3])]).toEqual([2, 2.5]);
});
