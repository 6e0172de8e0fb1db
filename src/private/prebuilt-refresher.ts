import { Duration, PhysicalName, RemovalPolicy, Stack } from 'aws-cdk-lib';
import * as ec2 from 'aws-cdk-lib/aws-ec2';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as kms from 'aws-cdk-lib/aws-kms';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as logs from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { SettingsSource } from './bound-source';
import { BUNDLE, checkBundle } from './bundle';
import { problemOfOldNode } from './consumer';
import { DEFAULT_AUTH_LIMIT_MS } from './contract';
import { SharedTokenTableError } from './errors';

/** What can be chosen of the function that comes with this library. */
export interface PrebuiltFunctionProps {
  readonly timeout?: Duration;
  readonly authLimit?: Duration;
  readonly vpc?: ec2.IVpc;
  readonly vpcSubnets?: ec2.SubnetSelection;
  readonly securityGroups?: ec2.ISecurityGroup[];
  readonly logGroup?: logs.ILogGroup;
  readonly runtime?: lambda.Runtime;
  readonly memorySize?: number;
  readonly environmentEncryption?: kms.IKey;
}

/** Their names, for who brings a function: there they would have no effect. */
export const PREBUILT_FUNCTION_PROPS: readonly (keyof PrebuiltFunctionProps)[] = [
  'timeout', 'authLimit', 'vpc', 'vpcSubnets', 'securityGroups', 'logGroup', 'runtime', 'memorySize', 'environmentEncryption',
];

const HANDLER = 'index.handler';

/** What a run needs beside its auth request: to start, to read a secret, to claim and to store. */
const BESIDE_THE_REQUEST = Duration.seconds(20);

/** Lambda's limit. */
const LONGEST_TIMEOUT = Duration.minutes(15);

/** Lambda's limit. */
const DESCRIPTION_MAX_LENGTH = 256;

/** Makes the function, which needs no bundler: its code is part of this package. */
export function newPrebuiltFunction(
  scope: Construct, tokenId: string, source: SettingsSource, props: PrebuiltFunctionProps, folder: string = BUNDLE.REFRESHER,
): lambda.Function {
  const { runtime = lambda.Runtime.NODEJS_LATEST, vpc } = props;
  const timeout = timeoutOf(scope, props);
  checkRuntime(scope, runtime);
  if (!vpc && (props.vpcSubnets || props.securityGroups)) {
    throw new SharedTokenTableError(scope, {
      what: 'Subnets and security groups are those of a VPC.',
      got: `${props.vpcSubnets ? '`vpcSubnets`' : '`securityGroups`'} without \`vpc\``,
      expected: 'all of them, or none',
      todo: 'Pass the `vpc`.',
    });
  }
  checkBundle(scope, folder, 'index.js', 'The code of the refresher');

  const role = new iam.Role(scope, 'Role', {
    assumedBy: new iam.ServicePrincipal('lambda.amazonaws.com'),
    // Lambda's own policy for network interfaces: AWS extends it when Lambda needs more.
    managedPolicies: vpc ? [iam.ManagedPolicy.fromAwsManagedPolicyName('service-role/AWSLambdaVPCAccessExecutionRole')] : [],
  });
  const logGroup = props.logGroup ?? new logs.LogGroup(scope, 'Logs', { retention: logs.RetentionDays.ONE_MONTH, removalPolicy: RemovalPolicy.DESTROY });
  logGroup.grantWrite(role);
  source.credentials?.grantRead(role);

  return new lambda.Function(scope, 'Function', {
    // Named only if a stack of another account or region refers to it.
    functionName: PhysicalName.GENERATE_IF_NEEDED,
    description: `Refreshes the shared token ${tokenId}`.slice(0, DESCRIPTION_MAX_LENGTH),
    code: lambda.Code.fromAsset(folder),
    handler: HANDLER,
    runtime,
    role,
    logGroup,
    timeout,
    memorySize: props.memorySize ?? 256,
    vpc,
    vpcSubnets: props.vpcSubnets,
    securityGroups: props.securityGroups,
    environmentEncryption: props.environmentEncryption,
  });
}

/** What the function is told of its source, as JSON. */
export function settingsJson(scope: Construct, { settings }: SettingsSource): string {
  const stack = Stack.of(scope);
  const json = stack.toJsonString(settings);
  const reference = /\{\{resolve:(secretsmanager|ssm-secure):/.exec(JSON.stringify(stack.resolve(json)));
  if (!reference) return json;
  throw new SharedTokenTableError(scope, {
    what: 'CloudFormation would write the value of a secret into the environment of the function.',
    got: `a dynamic reference, '${reference[0]}...}}', among the settings of the source`,
    expected: 'credentials that the function reads by itself',
    todo: "Pass the secret as `credentials`, and name its fields: '{{field}}' in `TokenSource.httpRequest`.",
  });
}

/** Of whole seconds, as Lambda counts. */
function timeoutOf(scope: Construct, { authLimit, timeout }: PrebuiltFunctionProps): Duration {
  if (authLimit?.isUnresolved() && !timeout) {
    throw new SharedTokenTableError(scope, {
      what: 'A timeout that follows from the limit of the auth request needs its value.',
      got: 'an `authLimit` that is known only at deployment, without `timeout`',
      expected: 'a literal limit, or both',
      todo: 'Add the `timeout`, some 20 seconds above the limit.',
    });
  }
  const limitMs = authLimit?.isUnresolved() ? undefined : authLimit?.toMilliseconds();
  const chosen = timeout ?? Duration.seconds(Math.ceil((limitMs ?? DEFAULT_AUTH_LIMIT_MS) / 1_000) + BESIDE_THE_REQUEST.toSeconds());
  if (chosen.isUnresolved()) return chosen;
  if (limitMs !== undefined) checkLimit(scope, limitMs, chosen);
  if (chosen.toMilliseconds() <= LONGEST_TIMEOUT.toMilliseconds()) return chosen;
  const longestLimit = LONGEST_TIMEOUT.minus(BESIDE_THE_REQUEST);
  throw new SharedTokenTableError(scope, {
    what: `A Lambda function runs for ${LONGEST_TIMEOUT.toSeconds()} seconds at most.`,
    got: timeout ? `a \`timeout\` of ${chosen.toSeconds()} seconds` : `an \`authLimit\` that asks for a timeout of ${chosen.toSeconds()}`,
    expected: `a \`timeout\` of at most ${LONGEST_TIMEOUT.toSeconds()} seconds, and so an \`authLimit\` of at most ${longestLimit.toSeconds()}`,
    todo: `Lower \`${timeout ? 'timeout' : 'authLimit'}\`.`,
  });
}

/** A limit that somebody gave. The default one gives way to a shorter timeout. */
function checkLimit(scope: Construct, limitMs: number, timeout: Duration): void {
  if (limitMs > 0 && limitMs < timeout.toMilliseconds()) return;
  throw new SharedTokenTableError(scope, {
    what: 'An auth request ends before its function does.',
    got: `an \`authLimit\` of ${limitMs} ms and a \`timeout\` of ${timeout.toMilliseconds()} ms`,
    expected: 'a limit above zero and below the timeout',
    todo: 'Leave `timeout` out, which then leaves room enough, or set it some 20 seconds above the limit.',
  });
}

function checkRuntime(scope: Construct, runtime: lambda.Runtime): void {
  const problem = problemOfOldNode(runtime.name);
  if (problem) throw new SharedTokenTableError(scope, problem);
  if (runtime.family === lambda.RuntimeFamily.NODEJS || runtime.name.startsWith('nodejs')) return;
  throw new SharedTokenTableError(scope, {
    what: 'The refresher that comes with this library is written for Node.js.',
    got: runtime.name,
    expected: 'a Node.js runtime',
    todo: 'Leave `runtime` out, or bring a function of your own (`TokenSource.fromFunction`).',
  });
}
