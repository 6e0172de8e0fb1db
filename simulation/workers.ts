import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { build } from 'esbuild';
import type { Row } from './budget/budget-table';
import type { ContenderName } from './budget/contenders';
import type { Setting } from './budget/rotation';
import type { CampaignResult } from './campaign';
import type { CaseLimits } from './case';
import type { Exploration, SmallWorld } from './exhaustive';

/** What a thread is given to do. */
export type Task =
  | { readonly kind: 'seeds'; readonly firstSeed: number; readonly runs: number; readonly limits: CaseLimits }
  | { readonly kind: 'world'; readonly world: SmallWorld }
  | { readonly kind: 'budget'; readonly contender: ContenderName; readonly setting: Setting };

/** And what comes of it. */
export interface TaskResult {
  readonly seeds: CampaignResult;
  readonly world: Exploration;
  readonly budget: Row;
}

/**
 * Does the tasks in as many threads as there are cores, in their order, and hands out each result as it comes.
 *
 * The simulator is bundled for that: loaded file by file, each look at another module's export costs, and closures are given their names one by one.
 */
export async function inThreads<K extends Task['kind']>(
  tasks: Iterable<Task & { readonly kind: K }>,
  done: (result: TaskResult[K], task: Task & { readonly kind: K }) => void,
): Promise<void> {
  const { outputFiles } = await build({
    entryPoints: [join(__dirname, 'worker.ts')], bundle: true, write: false, platform: 'node', target: 'node20', format: 'cjs', logLevel: 'warning',
  });
  const code = outputFiles[0]?.text ?? '';
  const queue = tasks[Symbol.iterator]();
  const thread = async () => {
    const worker = new Worker(code, { eval: true });
    try {
      for (let next = queue.next(); !next.done; next = queue.next()) done(await ask(worker, next.value) as TaskResult[K], next.value);
    } finally {
      await worker.terminate();
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, thread));
}

async function ask(worker: Worker, task: Task): Promise<unknown> {
  return new Promise((resolve, reject) => {
    worker.removeAllListeners();
    worker.once('error', reject);
    worker.once('exit', status => reject(new Error(`A thread of the simulation ended with ${status}`)));
    worker.once('message', ({ result, error }: { readonly result?: unknown; readonly error?: Error }) => {
      if (error === undefined) resolve(result);
      else reject(error);
    });
    worker.postMessage(task);
  });
}
