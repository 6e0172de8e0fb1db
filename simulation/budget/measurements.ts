import { measure, type Row, SETTINGS } from './budget-table';
import { ASKING, type ContenderName, CONTENDERS, waiters } from './contenders';
import type { Setting } from './rotation';
import { withLightAbort } from '../light-abort';
import { inThreads } from '../workers';

/** Tells how far it is. */
type Progress = (text: string) => void;

/** Every contender in every setting, in the order of the settings. */
export async function measureBudget(progress: Progress): Promise<readonly Row[]> {
  return measureAll(CONTENDERS, SETTINGS, progress);
}

/** Readers that ask: from one of them to more than most have. */
const READERS: readonly Setting[] = [1, 10, 50, 200, 1_000].map(instances => ({ instances, providerMs: 300, providerCv: 0, tokenKb: 0.5 }));

/** Readers that ask a refresher, which is warm or has to be started. */
export async function measureRefresher(progress: Progress): Promise<readonly Row[]> {
  return measureAll(ASKING, READERS, progress);
}

async function measureAll(contenders: readonly ContenderName[], settings: readonly Setting[], progress: Progress): Promise<readonly Row[]> {
  const tasks = contenders.flatMap(contender => settings.map(setting => ({ kind: 'budget' as const, contender, setting })));
  const rows = new Map<object, Row>();
  // The longest first, so that no thread is left alone with one.
  await inThreads([...tasks].sort((one, other) => other.setting.instances - one.setting.instances), (row, task) => {
    rows.set(task, row);
    progress(`${rows.size} of ${tasks.length} rows`);
  });
  return tasks.flatMap(task => rows.get(task) ?? []);
}

/** Where ways to wait differ: many instances; and so many that the partition decides. */
const COMPARED: readonly Setting[] = [
  ...[300, 2_000].flatMap(providerMs => [0, 0.3].map(providerCv => ({ instances: 1_000, providerMs, providerCv, tokenKb: 0.5 }))),
  { instances: 10_000, providerMs: 300, providerCv: 0, tokenKb: 0.5 },
];

/** The runtime beside copies of it that wait otherwise. */
export async function measureStrategies(progress: Progress): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const waiter of waiters()) {
    for (const setting of COMPARED) {
      rows.push(await withLightAbort(async () => measure(waiter, setting)));
      progress(`${waiter.name}: ${rows.length} rows`);
    }
  }
  return rows;
}
