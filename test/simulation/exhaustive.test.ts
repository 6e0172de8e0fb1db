import { ChoiceTree } from '../../simulation/choice-tree';
import { explore, SMALLEST_WORLDS } from '../../simulation/exhaustive';
import { withLightAbort } from '../../simulation/light-abort';
import { realRuntime } from '../../simulation/runtime';
import { subjectOf, VARIANTS } from '../../simulation/variants';

test('a choice tree takes every way once', () => {
  const tree = new ChoiceTree();
  const ways: string[] = [];
  do {
    const first = tree.choose(2);
    ways.push(first === 0 ? `0 ${tree.choose(3)}` : `1 ${tree.choose(2)} ${tree.choose(2)}`);
  } while (tree.next());

  expect(ways).toEqual(['0 0', '0 1', '0 2', '1 0 0', '1 0 1', '1 1 0', '1 1 1']);
});

test.each(SMALLEST_WORLDS)('every schedule of a small world keeps every promise: %j', async world => {
  const { schedules, violation } = await withLightAbort(async () => explore(world, { runtime: realRuntime }));

  expect(violation).toBeUndefined();
  expect(schedules).toBeGreaterThan(300);
});

test('a defect is found by going through every schedule, too, with its trace', async () => {
  const variant = VARIANTS.find(({ name }) => name === 'claim without looking at the lease');
  if (variant === undefined) throw new Error('No such variant');
  const { violation } = await explore({ instances: 2, faults: 0, provider: 'client-credentials', start: 'usable' }, subjectOf(variant));

  expect(violation?.invariant).toBe('I1');
  expect(violation?.trace.at(-1)).toContain('I1 is violated');
});
