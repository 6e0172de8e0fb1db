import { referenceContender } from './reference-contender';
import type { Contender } from './rotation';
import { runtimeContender } from './runtime-contender';
import { STRATEGIES } from './strategies';
import { brokenRuntime, realRuntime } from '../runtime';

export const CONTENDERS = ['runtime', 'reference'] as const;
export const ASKING = ['warm refresher', 'cold refresher'] as const;
export type ContenderName = (typeof CONTENDERS | typeof ASKING)[number];

export function contenderOf(name: ContenderName): Contender {
  if (name === 'reference') return referenceContender();
  return runtimeContender(name, realRuntime, name === 'runtime' ? undefined : { isWarm: name === 'warm refresher' });
}

/** The runtime as it is, and private copies of it that wait otherwise. */
export function* waiters(): Generator<Contender> {
  yield runtimeContender('the runtime\'s', realRuntime);
  for (const [index, { name }] of STRATEGIES.entries()) {
    yield runtimeContender(name, brokenRuntime({
      file: 'decide.ts',
      find: /nextLookIn\(running, now, situation\.jitter\)/,
      replace: `(require('../simulation/budget/strategies') as typeof import('../simulation/budget/strategies')).STRATEGIES[${index}]!.look(situation)`,
    }));
  }
}
