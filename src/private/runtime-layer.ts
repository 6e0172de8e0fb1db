import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Stack } from 'aws-cdk-lib';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { IConstruct } from 'constructs';
import { PACKAGE_NAME, RUNTIME_MODULE } from './contract';
import { SharedTokenTableError } from './errors';

/** Unlikely to be anybody else's id in a stack. */
const LAYER_ID = 'SharedTokenTableRuntime';

/** The same place seen from `src/private` and from `lib/private`, in this repository and in an installed package. */
const LAYER_FOLDER = resolve(__dirname, '..', '..', 'assets', 'layer');

/** Where the runtime was tested. Told to people who browse layers; no reason to refuse a function on a newer one. */
const TESTED_RUNTIMES = ['nodejs20.x', 'nodejs22.x', 'nodejs24.x'];

/**
 * The layer with the runtime, in the consumer's own stack.
 *
 * Each stack has its own, nested ones included: a layer that one stack exports to another can never be updated, because every new version is another resource
 * and CloudFormation does not change an export in use.
 */
export function runtimeLayerFor(consumer: IConstruct, folder: string = LAYER_FOLDER): lambda.ILayerVersion {
  const stack = Stack.of(consumer);
  const existing = stack.node.tryFindChild(LAYER_ID);
  if (existing) return existing as lambda.LayerVersion;

  const runtime = join(folder, 'nodejs', 'node_modules', RUNTIME_MODULE, 'index.js');
  if (!existsSync(runtime)) {
    throw new SharedTokenTableError(consumer, {
      what: 'The runtime that goes into the layer is missing from this package.',
      got: `no file ${runtime}`,
      expected: 'the bundle that is published with it',
      todo: `Install ${PACKAGE_NAME} again. In a clone of its repository, run "npm run bundle".`,
    });
  }
  const layer = new lambda.LayerVersion(stack, LAYER_ID, {
    code: lambda.Code.fromAsset(folder),
    description: `${PACKAGE_NAME}/runtime`,
    license: 'Apache-2.0',
  });
  // On the resource alone: the L2 would refuse each function whose runtime is newer than this list.
  (layer.node.defaultChild as lambda.CfnLayerVersion).compatibleRuntimes = TESTED_RUNTIMES;
  return layer;
}
