import type { SoakResult } from '../../soak/soak';
import { outputOf, REPOSITORY } from '../support/command';

test('a small soak: processes killed and frozen in their auth calls, a table that breaks, wrong clocks; nothing is lost', async () => {
  const args = ['--import', 'tsx', 'soak/main.ts', '--processes', '3', '--rotations', '8', '--json'];
  const result = JSON.parse(await outputOf(process.execPath, args, { cwd: REPOSITORY })) as SoakResult;
  expect(result.problems).toEqual([]);
  expect(result.rotations).toBeGreaterThanOrEqual(8);
  expect(result.faults).toBeGreaterThan(0);
  expect(result.calls).toBeGreaterThan(100);
}, 180_000);
