import type { App } from 'aws-cdk-lib';
import { roundsOf } from './expectations';
import { integTest } from '../stacks/integ-test';
import { ReactiveStack } from '../stacks/reactive-stack';

/** Functions that refresh for themselves: however many notice at once, each rotation makes one auth call. */
export function reactiveCase(app: App) {
  const stack = new ReactiveStack(app, 'SharedTokenReactive');
  const test = integTest(app, stack);
  // The first token, and three that replace a revoked one.
  test.assertions.invokeFunction({ functionName: stack.conductor.functionName, payload: '{}' }).expect(roundsOf(1, 1, 1, 1));
  return { stack, test };
}
