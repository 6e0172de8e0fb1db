import { Annotations, CfnResource, Stack } from 'aws-cdk-lib';
import * as cloudfront from 'aws-cdk-lib/aws-cloudfront';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { Construct, IConstruct } from 'constructs';
import { Problem, SharedTokenTableError, warningId } from './errors';

/** The oldest major version of Node.js that the runtime works on. */
const OLDEST_NODE = 20;

/** How a function gets its code and so the runtime. */
export type Packaging = 'node' | 'image' | 'other';

/** A function that this app defines, so that all of it can be set. */
export interface DefinedFunction {
  readonly kind: 'defined';
  readonly function: lambda.Function;
  readonly resource: lambda.CfnFunction;
  readonly packaging: Packaging;
}

/** A function defined elsewhere: its role may take statements, the rest is out of reach. */
export interface ImportedFunction {
  readonly kind: 'imported';
  readonly function: lambda.IFunction;
}

/**
 * Finds the function behind whatever stands for one, by what it can do rather than by its class: `SingletonFunction`, for one, is no `Function`.
 *
 * @param scope what is asked to serve it
 */
export function consumerOf(scope: IConstruct, consumer: lambda.IFunction): DefinedFunction | ImportedFunction {
  refuseWhatIsNoFunction(scope, consumer);
  refuseEdge(consumer, consumer);
  warnOfPublishedVersion(consumer);
  const unqualified = versionOf(consumer)?.lambda ?? consumer;
  refuseEdge(consumer, unqualified);

  const resource = unqualified.permissionsNode.defaultChild;
  if (!isFunctionResource(resource)) return { kind: 'imported', function: unqualified };
  // A SingletonFunction is made of a Function in the same stack; all of them share it, and what was set on it.
  const definition = resource.node.scope as lambda.Function;
  const problem = problemOfOldNode(definition.runtime.name);
  if (problem) throw new SharedTokenTableError(definition, problem);
  return { kind: 'defined', function: definition, resource, packaging: packagingOf(definition) };
}

/** TypeScript sees to this; the other languages of jsii and plain JavaScript may not. */
function refuseWhatIsNoFunction(scope: IConstruct, consumer: lambda.IFunction | undefined): void {
  if (consumer?.permissionsNode !== undefined) return;
  const isConstruct = Construct.isConstruct(consumer);
  throw new SharedTokenTableError(isConstruct ? consumer : scope, {
    what: 'Only a Lambda function can be attached: it gets a layer and environment variables.',
    got: isConstruct ? consumer.constructor.name : typeof consumer,
    expected: 'a function, an alias or a version',
    todo: 'For a role, an ECS task or another grantee use `grantRead` (of a table `grantRefresh`, too), and `environment`.',
  });
}

/** The version that an alias or a version stands for. */
function versionOf(consumer: lambda.IFunction): lambda.IVersion | undefined {
  if ('aliasName' in consumer) return (consumer as lambda.IAlias).version;
  return 'lambda' in consumer ? consumer as lambda.IVersion : undefined;
}

function isFunctionResource(construct: unknown): construct is lambda.CfnFunction {
  return construct instanceof CfnResource && construct.cfnResourceType === lambda.CfnFunction.CFN_RESOURCE_TYPE_NAME;
}

function packagingOf(definition: lambda.Function): Packaging {
  const { runtime } = definition;
  if (runtime.name === lambda.Runtime.FROM_IMAGE.name) return 'image';
  return runtime.family === lambda.RuntimeFamily.NODEJS || runtime.name.startsWith('nodejs') ? 'node' : 'other';
}

/** What is wrong with a runtime of Lambda that is too old; nothing with one that is newer than this library, of another language, or not known by now. */
export function problemOfOldNode(runtime: unknown): Problem | undefined {
  const version = /^nodejs(\d*)/.exec(String(runtime))?.[1]; // the first of all was `nodejs` and no more
  if (version === undefined || Number(version) >= OLDEST_NODE) return undefined;
  return {
    what: `The runtime needs Node.js ${OLDEST_NODE} or later.`,
    got: String(runtime),
    expected: `nodejs${OLDEST_NODE}.x or later`,
    todo: 'Set the `runtime` of the function to a version that Lambda supports, such as `lambda.Runtime.NODEJS_22_X`.',
  };
}

/** `EdgeFunction.lambda` and its aliases hand out an inner Function that looks like any other, but its role still trusts Lambda@Edge. */
function refuseEdge(consumer: lambda.IFunction, candidate: lambda.IFunction): void {
  if (!(candidate instanceof cloudfront.experimental.EdgeFunction) && !trustsEdge(candidate.role)) return;
  throw new SharedTokenTableError(consumer, {
    what: 'Lambda@Edge allows neither environment variables nor layers, so a function there cannot be attached.',
    got: 'a Lambda@Edge function',
    expected: 'a function that runs in a region',
    todo: [
      'Let an ordinary function make the call (an origin behind the distribution, say),',
      "or install the npm package with the edge function, name the table in its code (`new SharedToken(id, { table: '<ARN>' })`) and use `grantRead`.",
    ].join(' '),
  });
}

function trustsEdge(role?: iam.IRole): boolean {
  const trust = (role as iam.Role | undefined)?.assumeRolePolicy;
  // toJSON, because resolving the document itself would freeze its statements.
  return trust !== undefined && JSON.stringify(Stack.of(role!).resolve(trust.toJSON())).includes('edgelambda.amazonaws.com');
}

/** What a version was published with never changes. `currentVersion` is published anew whenever the function changes; `$LATEST` is the function itself. */
function warnOfPublishedVersion(consumer: lambda.IFunction): void {
  const version = versionOf(consumer);
  if (!version) return;
  const isCurrent = version === version.lambda.node.tryFindChild('CurrentVersion');
  if (isCurrent || version.version === '$LATEST') return;
  Annotations.of(consumer).addWarningV2(warningId('publishedVersion'), [
    'A version that is already published keeps the environment and layers it was published with, and gets none of what is attached now.',
    'Use `fn.currentVersion`, which is published again when its function changes, or publish a new version.',
  ].join(' '));
}
