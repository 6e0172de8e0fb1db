import { parentPort } from 'node:worker_threads';
import { measure } from './budget/budget-table';
import { contenderOf } from './budget/contenders';
import { runSeeds } from './campaign';
import { explore } from './exhaustive';
import { withLightAbort } from './light-abort';
import { realRuntime } from './runtime';
import type { Task, TaskResult } from './workers';

/*
 * One thread of a simulation: does what it is told, and tells what came of it.
 */

const subject = { runtime: realRuntime };

async function perform(task: Task): Promise<TaskResult[keyof TaskResult]> {
  if (task.kind === 'seeds') return runSeeds({ ...task, subject });
  if (task.kind === 'budget') return withLightAbort(async () => measure(contenderOf(task.contender), task.setting));
  return withLightAbort(async () => explore(task.world, subject));
}

parentPort?.on('message', (task: Task) => {
  perform(task).then(result => parentPort?.postMessage({ result }), (error: unknown) => parentPort?.postMessage({ error }));
});
