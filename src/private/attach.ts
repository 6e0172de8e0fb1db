import { Annotations } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { IConstruct } from 'constructs';
import { AttachedFunction } from './attached-function';
import { consumerOf, DefinedFunction, ImportedFunction, Packaging } from './consumer';
import { ENV, RUNTIME_MODULE } from './contract';
import { SharedTokenTableError, warningId } from './errors';
import { ImportedAttachment } from './imported-attachment';
import { Reference } from './reference';
import { NamedRefresher } from './refresher-map';
import { runtimeLayerFor } from './runtime-layer';
import { tableVariable } from './variables';
import { TokenAccess } from '../token-access';

/** What a function gets. */
export interface Attachment {
  readonly table: Reference;
  /** The variable that tells the function its table. */
  readonly variable: string;
  readonly access: TokenAccess;
  /** Whom the function asks for a token that it only reads. */
  readonly refresher?: NamedRefresher;
  readonly grant: (grantee: iam.IGrantable) => iam.Grant;
}

/** Lambda's grammar for a variable's name. */
const VARIABLE_NAME = /^[a-zA-Z][a-zA-Z0-9_]+$/;

/**
 * Gives a function all it needs to share tokens: layer, environment, permissions.
 *
 * @param scope whose tokens they are
 */
export function attach(scope: IConstruct, target: lambda.IFunction, attachment: Attachment): iam.Grant {
  const consumer = consumerOf(scope, target);
  checkVariable(target, attachment.variable);
  return consumer.kind === 'imported' ? attachImported(consumer, attachment) : attachDefined(consumer, attachment);
}

/** The same for a function that is known to be defined here. */
export function attachDefined(consumer: DefinedFunction, { variable, table, access, refresher, grant }: Attachment): iam.Grant {
  const attached = AttachedFunction.of(consumer);
  attached.setVariable(tableVariable(variable, table));
  if (refresher) attached.asks(refresher);
  if (access === TokenAccess.REFRESH) attached.refreshes();
  if (consumer.packaging === 'node') attached.addLayer(runtimeLayerFor(consumer.function));
  else warnOfMissingLayer(consumer.function, consumer.packaging);
  return grant(consumer.function);
}

function attachImported(consumer: ImportedFunction, { variable, table, refresher, grant }: Attachment): iam.Grant {
  const imported = consumer.function;
  if (!imported.role) {
    throw new SharedTokenTableError(imported, {
      what: 'Nothing of this function can be set: neither environment and layer nor permissions.',
      got: 'a function imported without its role',
      expected: 'a function that this app defines, or one imported with its role',
      todo: 'Attach it in the app that defines it (`SharedTokenTable.fromTableName`), or import it with `Function.fromFunctionAttributes({ functionArn, role })`.',
    });
  }
  const attached = ImportedAttachment.of(consumer);
  attached.uses(table, variable);
  if (refresher) attached.asks(refresher);
  return grant(imported);
}

function warnOfMissingLayer(target: lambda.Function, packaging: Exclude<Packaging, 'node'>): void {
  const message = {
    image: `A function from a container image cannot have layers: install the npm package in the image, so that it finds ${RUNTIME_MODULE}.`,
    other: `The runtime is written for Node.js, so this function (${target.runtime.name}) gets environment and permissions but no layer: it must follow the token protocol itself.`,
  }[packaging];
  Annotations.of(target).addWarningV2(warningId('noLayer'), message);
}

function checkVariable(target: lambda.IFunction, variable: string): void {
  const taken = Object.values<string>(ENV).filter(name => name !== ENV.TABLE);
  if (VARIABLE_NAME.test(variable) && !taken.includes(variable)) return;
  throw new SharedTokenTableError(target, {
    what: '`tableVariable` names the environment variable that holds the table.',
    got: `'${variable}'`,
    expected: `letters, digits and underscores, at least two, a letter first, and none of ${taken.join(', ')}`,
    todo: "Choose a name such as 'ERP_TOKENS'.",
  });
}
