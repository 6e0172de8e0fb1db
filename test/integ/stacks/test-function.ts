import { join } from 'node:path';
import { AssetHashType, Duration, RemovalPolicy } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as logs from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { buildSync } from 'esbuild';
import { SDK_MODULES } from '../../../scripts/sdk-modules';
import { SharedTokenTable } from '../../../src';

export const HANDLERS = join(__dirname, '..', 'handlers');

/** What Lambda or the layer brings along. */
export const PROVIDED_MODULES = [...SDK_MODULES, ...SharedTokenTable.RUNTIME_MODULES];

/** What all functions of the tests have in common: nothing of them outlives the stack, and they may write to no log but their own. */
export function commonProps(
  scope: Construct, id: string,
): Pick<lambda.FunctionOptions, 'timeout' | 'memorySize' | 'role' | 'logGroup'> & { runtime: lambda.Runtime } {
  const role = new iam.Role(scope, `${id}Role`, { assumedBy: new iam.ServicePrincipal('lambda.amazonaws.com') });
  const logGroup = shortLog(scope, `${id}Log`);
  logGroup.grantWrite(role);
  return { runtime: lambda.Runtime.NODEJS_22_X, timeout: Duration.seconds(20), memorySize: 256, role, logGroup };
}

export function shortLog(scope: Construct, id: string): logs.LogGroup {
  return new logs.LogGroup(scope, id, { retention: logs.RetentionDays.ONE_DAY, removalPolicy: RemovalPolicy.DESTROY });
}

/** The code of a handler, bundled. Several functions of one stack can have the same. */
export function bundled(handler: string): lambda.Code {
  return lambda.Code.fromAsset(HANDLERS, {
    bundling: {
      image: lambda.Runtime.NODEJS_22_X.bundlingImage, // never used, but asked for
      command: [handler], // CDK takes two assets of one folder for the same where nothing that can be written as JSON differs
      local: { tryBundle: outputDir => bundle(handler, outputDir) },
    },
    assetHashType: AssetHashType.OUTPUT,
  });
}

/** In this process: faster than a container, or than a process for each. */
function bundle(handler: string, outputDir: string): boolean {
  buildSync({
    entryPoints: [join(HANDLERS, `${handler}.ts`)],
    outfile: join(outputDir, 'index.js'),
    bundle: true,
    platform: 'node',
    target: 'node22',
    format: 'cjs',
    external: PROVIDED_MODULES,
    logLevel: 'warning',
  });
  return true;
}

/** A function of the test itself. */
export function testFunction(scope: Construct, id: string, { code, environment, timeout }: {
  readonly code: lambda.Code;
  readonly environment?: Record<string, string>;
  readonly timeout?: Duration;
}): lambda.Function {
  const common = commonProps(scope, id);
  return new lambda.Function(scope, id, { ...common, timeout: timeout ?? common.timeout, handler: 'index.handler', code, environment });
}
