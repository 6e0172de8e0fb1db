import { policiesCase } from './cases/policies';
import { PROBES, ROLES, type Outcome, type Role } from './handlers/probes';
import type { PoliciesStack } from './stacks/policies-stack';
import { LocalDeployment } from './support/local-deployment';

/** The embedded table has neither transactions nor PartiQL. */
const UNKNOWN_HERE = ['transaction', 'readableInTransaction', 'transactPut', 'partiQl', 'oldItemInTransaction'];

/** Writes whose conditions never hold. */
const IN_VAIN = ['update', 'endLease', 'clearFailure', 'expire', 'endLeaseForOldItem', 'endLeaseForNewItem', 'setToken', 'compareToken'];

let deployment: LocalDeployment<PoliciesStack>;

beforeAll(async () => {
  deployment = await LocalDeployment.start(app => policiesCase(app).stack);
});

afterAll(async () => deployment?.stop());

test.each(ROLES)('each call that the role %s tries reaches the service that is to judge it', async role => {
  const { refresher, encryptingRefresher, probers } = deployment.stack;
  if (role === 'reader') await deployment.invoke(refresher.function, {});
  if (role === 'refreshingTokenKey') await deployment.invoke(encryptingRefresher.function, {});
  const outcomes = await deployment.invoke(probers[role], {}) as Record<string, Outcome>;
  expect(outcomes).toEqual(withoutPolicies(role));
});

/** Here nothing is denied. */
function withoutPolicies(role: Role): Record<string, unknown> {
  return Object.fromEntries(Object.entries(PROBES[role]).map(([name, { call, expected }]) => {
    if (UNKNOWN_HERE.includes(name)) return [name, expect.stringMatching(/^failed: /)];
    if (IN_VAIN.includes(call)) return [name, expect.stringMatching(/^(no )?old item$/)];
    return [name, expected === 'denied' || expected === 'open' ? 'allowed' : expected];
  }));
}
