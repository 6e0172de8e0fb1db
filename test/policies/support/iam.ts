import { allowedContextKeysForRequest, runSimulation, type Simulation } from '@cloud-copilot/iam-simulate';
import { authorizationsOf, type Place } from './authorizations';
import type { AwsRequest } from './aws-request';
import { type Reading, readingsOf, type RowName } from './condition-values';

/** A statement as policies have it, all references resolved. */
export interface PolicyStatement {
  readonly Effect: string;
  readonly Action: string | readonly string[];
  readonly Resource?: string | readonly string[];
  readonly Principal?: unknown;
  readonly Condition?: Readonly<Record<string, Readonly<Record<string, string | readonly string[]>>>>;
}

/** Who makes requests: a role, by what its own policies say. */
export interface Principal {
  readonly arn: string;
  readonly statements: readonly PolicyStatement[];
}

/** Where requests go: the account, and what the keys in it say. */
export interface Cloud extends Place {
  readonly account: string;
  /** Policies of resources, by their ARNs. */
  readonly resourcePolicies: ReadonlyMap<string, readonly PolicyStatement[]>;
}

/** What becomes of a request. */
export interface Verdict {
  readonly isAllowed: boolean;
  /** Rows of the table that no document confirms, and on which this depends. */
  readonly unless: readonly RowName[];
}

/** What AWS says to a request, as its documents have it; and whether it hangs on what no document says. */
export async function verdictOf(request: AwsRequest, principal: Principal, cloud: Cloud): Promise<Verdict> {
  const readings = authorizationsOf(request, cloud).map(readingsOf);
  const assumed = await isAllowedAsAssumed(request, principal, cloud);
  const unless = new Set<RowName>();
  for (const row of new Set(readings.flat().flatMap(({ otherwise }) => otherwise ?? []))) {
    const others = readings.map(all => all.find(({ otherwise }) => otherwise === row) ?? all[0]);
    if (await allAllowed(others, principal, cloud) !== assumed) unless.add(row);
  }
  return { isAllowed: assumed, unless: [...unless] };
}

/** The same, all documents being read as they are meant. */
export async function isAllowedAsAssumed(request: AwsRequest, principal: Principal, cloud: Cloud): Promise<boolean> {
  return allAllowed(authorizationsOf(request, cloud).map(authorization => readingsOf(authorization)[0]), principal, cloud);
}

async function allAllowed(readings: readonly Reading[], principal: Principal, cloud: Cloud): Promise<boolean> {
  for (const reading of readings) {
    if (!await isAllowed(reading, principal, cloud)) return false;
  }
  return true;
}

/** Asks the simulator. It must know the action, its resource and each key of the context: what it would leave out is an error of the table. */
export async function isAllowed({ action, resource, context }: Reading, principal: Principal, cloud: Cloud): Promise<boolean> {
  const policy = (statements: readonly PolicyStatement[]): unknown => ({ Version: '2012-10-17', Statement: respelled(statements) });
  const resourcePolicy = cloud.resourcePolicies.get(resource);
  const result = await runSimulation({
    request: {
      principal: principal.arn,
      action,
      resource: { resource, accountId: cloud.account },
      contextVariables: await respelledContext(action, resource, context),
    },
    identityPolicies: principal.statements.length === 0 ? [] : [{ name: 'granted', policy: policy(principal.statements) }],
    serviceControlPolicies: [],
    resourceControlPolicies: [],
    ...(resourcePolicy && { resourcePolicy: policy(resourcePolicy) as object }),
  }, {});
  if (result.resultType !== 'single') throw new Error(`${action} on ${resource}: ${JSON.stringify(result)}`);
  const { ignoredContextKeys } = result.result;
  if (ignoredContextKeys && ignoredContextKeys.length > 0) throw new Error(`${action} has no condition keys ${ignoredContextKeys.join(', ')}.`);
  return result.overallResult === 'Allowed';
}

const OF_ENCRYPTION_CONTEXT = 'kms:EncryptionContext:';
const RESPELLED = 'aws:PrincipalTag/';
const PATTERN_OF_KEY = 'kms:encryptioncontext:${encryptioncontextkey}';

/**
 * The simulator takes no value for `kms:EncryptionContext:<name>`: of a family of keys it knows those alone whose variable part stands behind a slash. So both sides
 * spell it as a key of such a family, which is text, too, and whose name's case does not count either. No policy here has conditions on tags.
 */
function respelled(statements: readonly PolicyStatement[]): unknown {
  return JSON.parse(JSON.stringify(statements).replaceAll(`"${OF_ENCRYPTION_CONTEXT}`, `"${RESPELLED}`));
}

async function respelledContext(action: string, resource: string, context: Reading['context']): Promise<Simulation['request']['contextVariables']> {
  const [service = '', name = ''] = action.split(':');
  const names = Object.keys(context).filter(key => key.startsWith(OF_ENCRYPTION_CONTEXT));
  if (names.length > 0 && !(await allowedContextKeysForRequest(service, name, resource, false, undefined)).includes(PATTERN_OF_KEY)) throw new Error(`${action} has no encryption context.`);
  return Object.fromEntries(Object.entries(context).map(([key, value]) => [key.replace(OF_ENCRYPTION_CONTEXT, RESPELLED), typeof value === 'string' ? value : [...value]]));
}
