import { IntegTest } from '@aws-cdk/integ-tests-alpha';
import { App, Aspects, CfnElement, CfnResource, type Stack } from 'aws-cdk-lib';
import { CfnVersion } from 'aws-cdk-lib/aws-lambda';
import type { IConstruct } from 'constructs';

/** What integ-runner sets while it makes or compares snapshots, and not while it deploys. */
const SNAPSHOT_REGION = 'test-region';

/** What is declared in an app: the stack, and what is asserted of it. */
export type IntegCase = (app: App) => { readonly stack: Stack; readonly test: IntegTest };

/** Keeps what CDK notes of the use of its own constructs out of snapshots. */
const NO_NOTES = { '@aws-cdk/core:enableAdditionalMetadataCollection': false };

/** Makes the app of a test file. */
export function runCase(declare: IntegCase): void {
  const app = new App({ treeMetadata: false, postCliContext: NO_NOTES });
  declare(app);
  if (process.env.CDK_INTEG_REGION === SNAPSHOT_REGION) Aspects.of(app).add({ visit: makeRepeatable });
  app.synth();
}

/** A test of one stack. A snapshot holds no assets, so there is no former version of the stack that could be deployed first. */
export function integTest(app: App, stack: Stack): IntegTest {
  return new IntegTest(app, `${stack.stackName}Test`, { testCases: [stack], stackUpdateWorkflow: false });
}

/**
 * What changes with each bundle or each run stays out of a snapshot, as hashes of assets do: the hash in the logical id of a function's version, and the time by which
 * assertions are told to run again. A deployment has both.
 */
function makeRepeatable(construct: IConstruct): void {
  if (!CfnResource.isCfnResource(construct)) return;
  if (construct instanceof CfnVersion) construct.overrideLogicalId(idWithoutHash(construct));
  if (construct.cfnResourceType.startsWith('Custom::DeployAssert')) construct.addPropertyOverride('salt', 'none');
}

function idWithoutHash(element: CfnElement): string {
  return element.stack.getLogicalId(element).replace(/[0-9a-f]{32}$/, '');
}
