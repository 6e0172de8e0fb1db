import type { App } from 'aws-cdk-lib';
import { outcomesOf } from './expectations';
import { ROLES } from '../handlers/probes';
import { integTest } from '../stacks/integ-test';
import { PoliciesStack } from '../stacks/policies-stack';

/** What only AWS decides: each role tries what it may do, and what it must not. */
export function policiesCase(app: App) {
  const stack = new PoliciesStack(app, 'SharedTokenPolicies');
  const test = integTest(app, stack);
  for (const role of ROLES) {
    test.assertions.invokeFunction({ functionName: stack.probers[role].functionName, payload: '{}' }).expect(outcomesOf(role));
  }
  return { stack, test };
}
