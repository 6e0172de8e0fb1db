import { Annotations, ResourceEnvironment, Stack } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { AttachedFunction } from './attached-function';
import { consumerOf, ImportedFunction, Packaging } from './consumer';
import { ENV, RUNTIME_MODULE } from './contract';
import { SharedTokenTableError, warningId } from './errors';
import { runtimeLayerFor } from './runtime-layer';

/** What a function gets. */
export interface Attachment {
  /** The variable that tells the function its table. */
  readonly variable: string;
  /** The table's name or ARN, as the stack that renders it needs it. */
  readonly table: string;
  /** The table's name or ARN, as a function in this account and region needs it. */
  readonly tableFrom: (env: ResourceEnvironment) => string;
  readonly grant: (grantee: iam.IGrantable) => iam.Grant;
}

/** Lambda's grammar for a variable's name. */
const VARIABLE_NAME = /^[a-zA-Z][a-zA-Z0-9_]+$/;

/** Gives a function all it needs to share tokens: layer, environment, permissions. */
export function attach(target: lambda.IFunction, attachment: Attachment): iam.Grant {
  checkVariable(target, attachment.variable);
  const consumer = consumerOf(target);
  if (consumer.kind === 'imported') return attachImported(consumer, attachment);

  const attached = AttachedFunction.of(consumer);
  attached.setVariable(attachment.variable, attachment.table, 'the table that the function uses');
  if (consumer.packaging === 'node') attached.addLayer(runtimeLayerFor(consumer.function));
  else warnOfMissingLayer(consumer.function, consumer.packaging);
  return attachment.grant(consumer.function);
}

function attachImported(consumer: ImportedFunction, attachment: Attachment): iam.Grant {
  const { function: imported } = consumer;
  if (!imported.role) {
    throw new SharedTokenTableError(imported, {
      what: 'Nothing of this function can be set: neither environment and layer nor permissions.',
      got: 'a function imported without its role',
      expected: 'a function that this app defines, or one imported with its role',
      todo: 'Attach it in the app that defines it (`SharedTokenTable.fromTableName`), or import it with `Function.fromFunctionAttributes({ functionArn, role })`.',
    });
  }
  Annotations.of(imported).addWarningV2(warningId('importedFunction'), [
    'Only permissions can be given to an imported function.',
    `Whoever defines it must set the environment variable ${attachment.variable} to ${JSON.stringify(Stack.of(imported).resolve(attachment.tableFrom(imported.env)))}`,
    `and make ${RUNTIME_MODULE} available, by the npm package or a layer.`,
  ].join(' '));
  return attachment.grant(imported);
}

function warnOfMissingLayer(target: lambda.Function, packaging: Exclude<Packaging, 'node'>): void {
  const message = {
    image: `A function from a container image cannot have layers: install the npm package in the image, so that it finds ${RUNTIME_MODULE}.`,
    other: `The runtime is written for Node.js, so this function (${target.runtime.name}) gets environment and permissions but no layer: it must follow the token protocol itself.`,
  }[packaging];
  Annotations.of(target).addWarningV2(warningId('noLayer'), message);
}

function checkVariable(target: lambda.IFunction, variable: string): void {
  const taken: readonly string[] = [ENV.FUNCTION_TIMEOUT_MS, ENV.REFRESHERS];
  if (VARIABLE_NAME.test(variable) && !taken.includes(variable)) return;
  throw new SharedTokenTableError(target, {
    what: '`tableVariable` names the environment variable that holds the table.',
    got: `'${variable}'`,
    expected: `letters, digits and underscores, at least two, a letter first, and none of ${taken.join(', ')}`,
    todo: "Choose a name such as 'ERP_TOKENS'.",
  });
}
