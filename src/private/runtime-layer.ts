import { join } from 'node:path';
import { Stack } from 'aws-cdk-lib';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { IConstruct } from 'constructs';
import { BUNDLE, checkBundle } from './bundle';
import { PACKAGE_NAME, RUNTIME_MODULE } from './contract';

/** Unlikely to be anybody else's id in a stack. */
const LAYER_ID = 'SharedTokenTableRuntime';

/** Where the runtime was tested. Told to people who browse layers; no reason to refuse a function on a newer one. */
const TESTED_RUNTIMES = ['nodejs20.x', 'nodejs22.x', 'nodejs24.x'];

/**
 * The layer with the runtime, in the consumer's own stack.
 *
 * Each stack has its own, nested ones included: a layer that one stack exports to another can never be updated, because every new version is another resource
 * and CloudFormation does not change an export in use.
 */
export function runtimeLayerFor(consumer: IConstruct, folder: string = BUNDLE.LAYER): lambda.ILayerVersion {
  const stack = Stack.of(consumer);
  const existing = stack.node.tryFindChild(LAYER_ID);
  if (existing) return existing as lambda.LayerVersion;

  checkBundle(consumer, folder, join('nodejs', 'node_modules', RUNTIME_MODULE, 'index.js'), 'The runtime that goes into the layer');
  const layer = new lambda.LayerVersion(stack, LAYER_ID, {
    code: lambda.Code.fromAsset(folder),
    description: `${PACKAGE_NAME}/runtime`,
    license: 'Apache-2.0',
  });
  // On the resource alone: the L2 would refuse each function whose runtime is newer than this list.
  (layer.node.defaultChild as lambda.CfnLayerVersion).compatibleRuntimes = TESTED_RUNTIMES;
  return layer;
}
