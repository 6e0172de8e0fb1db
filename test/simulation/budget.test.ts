import { readRequest } from '../../lambda-runtime/dynamodb-requests';
import { measure, type Row } from '../../simulation/budget/budget-table';
import { type ContenderName, contenderOf } from '../../simulation/budget/contenders';
import { readUnits, writeUnits } from '../../simulation/budget/item-size';
import { Partition, Throttled } from '../../simulation/budget/partition';
import type { Setting } from '../../simulation/budget/rotation';
import { missed } from '../../simulation/budget/targets';
import { budgetText } from '../../simulation/budget/text';
import { withLightAbort } from '../../simulation/light-abort';
import { Scheduler } from '../../simulation/scheduler';

const measured = async (contender: ContenderName, setting: Partial<Setting> & Pick<Setting, 'instances'>, rotations: number): Promise<Row> => {
  return withLightAbort(async () => measure(contenderOf(contender), { providerMs: 300, providerCv: 0, tokenKb: 0.5, ...setting }, rotations));
};

describe('what a rotation costs', () => {
  test('the budgets are met with a provider of 300 ms, by 1 to 1,000 instances', async () => {
    const rows = [
      await measured('runtime', { instances: 1 }, 8),
      await measured('runtime', { instances: 10 }, 8),
      await measured('runtime', { instances: 100 }, 8),
      await measured('runtime', { instances: 1_000 }, 2),
      await measured('runtime', { instances: 1_000, providerCv: 0.3 }, 5),
    ];

    expect(missed(rows)).toEqual([]);
    expect(rows.map(({ authCalls, failed }) => [authCalls, failed])).toEqual(rows.map(() => [1, 0]));
    expect(budgetText(rows)).toContain('The runtime meets every budget.');
  });

  test('alone, an instance reads, claims and commits', async () => {
    expect(await measured('runtime', { instances: 1 }, 3)).toMatchObject({ requestsPerInstance: 3, readUnits: 1, writeUnits: 2 });
    // A write costs a unit for each KB, and the item has a little more than the token.
    expect(await measured('runtime', { instances: 1, tokenKb: 3 }, 3)).toMatchObject({ requestsPerInstance: 3, readUnits: 1, writeUnits: 8 });
  });

  test('the reference algorithm claims, reads at once, and then waits much longer than it has to', async () => {
    const row = await measured('reference', { instances: 100 }, 4);
    expect(row).toMatchObject({ authCalls: 1, failed: 0 });
    expect(row.writeUnits).toBeCloseTo(1 + 1 / 100, 2); // everybody claims, one commits
    expect(row.requestsPerInstance).toBeGreaterThan(3);
    expect(row.overP99Ms).toBeGreaterThan(1_000);
  });

  test('a seed gives the same rotation each time', async () => {
    for (const contender of ['runtime', 'reference'] as const) {
      const once = await measured(contender, { instances: 50, providerCv: 0.3 }, 2);
      expect(await measured(contender, { instances: 50, providerCv: 0.3 }, 2)).toEqual(once);
    }
  });

  test('200 readers invoke a warm refresher ten times at most, and a cold one no more often than there are readers; either asks the provider once', async () => {
    const rows = [await measured('warm refresher', { instances: 200 }, 8), await measured('cold refresher', { instances: 200 }, 2)];
    expect(missed(rows)).toEqual([]);
    expect(rows.map(({ authCalls, failed }) => [authCalls, failed])).toEqual([[1, 0], [1, 0]]);
    expect(rows[1]?.invocations).toBeLessThanOrEqual(200);
  });

  test('what misses a budget is named', () => {
    const row: Row = {
      contender: 'runtime',
      instances: 1_000,
      providerMs: 300,
      providerCv: 0,
      tokenKb: 0.5,
      authCalls: 1,
      invocations: 0,
      requestsPerInstance: 2.2,
      readUnits: 2,
      writeUnits: 0.2,
      overP50Ms: 40,
      overP99Ms: 75,
      overMaxMs: 9_000,
      failed: 0,
    };
    expect(missed([row, { ...row, contender: 'reference', failed: 7 }])).toEqual([]);
    expect(missed([{ ...row, overP99Ms: 76 }])).toEqual([
      'overP99Ms is 76, and should be 75 at most (1000 instances, provider 300 ms, cv 0, token 0.5 KB)',
    ]);
    const others: Partial<Row>[] = [
      { authCalls: 2 }, { failed: 1 },
      { requestsPerInstance: 2.21 }, { providerCv: 0.3, requestsPerInstance: 3.11 },
      { providerMs: 2_000, overP99Ms: 351 }, { providerCv: 0.3, overP99Ms: 201 },
      { instances: 10_000, overMaxMs: 5_001 },
    ];
    for (const other of others) expect(missed([{ ...row, ...other }])).toHaveLength(1);
  });
});

describe('a partition', () => {
  const item = (bytes: number) => ({ tokenId: 'crm', accessToken: '-'.repeat(bytes - 'tokenIdcrmaccessToken'.length) });

  test('bills reads by 4 KB and writes by 1 KB, failed conditions too', () => {
    expect([undefined, item(4_096), item(4_097)].map(readUnits)).toEqual([1, 1, 2]);
    expect([item(1_024), item(1_025), item(3_072)].map(before => writeUnits(before, undefined))).toEqual([1, 2, 3]);
    expect(writeUnits(item(100), item(2_000))).toBe(2);
    expect(readUnits({ tokenId: 'crm', lease: { id: '-'.repeat(4_060), since: 1_700_000_000_000, until: 1_700_000_000_000 } })).toBe(2);
  });

  test('gives 3,000 reads at once, then 3,000 a second', () => {
    const scheduler = new Scheduler(0);
    const partition = new Partition(scheduler);
    partition.table.put(item(500));
    const read = () => partition.get(readRequest('tokens', 'crm'));

    for (let count = 0; count < 3_000; count++) read();
    expect(read).toThrow(Throttled);
    scheduler.now += 2;
    for (let count = 0; count < 6; count++) read();
    expect(read).toThrow(Throttled);
    scheduler.now += 60_000;
    for (let count = 0; count < 3_000; count++) read();
    expect(read).toThrow(Throttled);
    expect(partition).toMatchObject({ requests: 6_009, readUnits: 6_006, writeUnits: 0 });
  });
});
