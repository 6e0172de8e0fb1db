import { Annotations, Stack } from 'aws-cdk-lib';
import * as dynamodb from 'aws-cdk-lib/aws-dynamodb';
import * as kms from 'aws-cdk-lib/aws-kms';
import { IConstruct } from 'constructs';
import { warningId } from './errors';
import { Rendered, renderedResource } from './rendered';
import { identityOf, resourceOf } from './table-identity';

interface ReplicaProperties {
  readonly DeletionProtectionEnabled?: unknown;
  readonly PointInTimeRecoverySpecification?: { readonly PointInTimeRecoveryEnabled?: unknown };
}

/** A table without replicas has the same of its own. */
interface TableProperties extends ReplicaProperties {
  readonly Replicas?: readonly ReplicaProperties[];
}

/** With which CloudFormation keeps a resource that is there already. */
const KEPT = ['Retain', 'RetainExceptOnCreate'];

/** Where a refresh token is. */
export interface RefreshTokenHome {
  /** Of the table, as `identityOf` has it. */
  readonly identity: string;
  /** What it is encrypted with: by DynamoDB, by the runtime. */
  readonly keys: readonly (kms.IKey | undefined)[];
}

/**
 * Warns of a table that is deleted with its stack, or by a change that replaces it, and with it the newest refresh token; and of a key that is, without which the
 * table that is left cannot be read. At synthesis: removal policies may be set later. Of what no stack of this app defines nothing is known; whoever defines it decides.
 *
 * Not of a table without point-in-time recovery that is kept: a backup holds a refresh token of before, which is no good at a provider that replaces them; and at one
 * that does not, the first one, in the secret, still is.
 *
 * @param scope the refresher
 */
export function warnOfLosableRefreshTokens(scope: IConstruct, tokenId: string, { identity, keys }: RefreshTokenHome): void {
  const table = scope.node.root.node.findAll().filter(isTable).find(one => identityOfTable(one) === identity);
  if (table && warnOfTable(scope, tokenId, table)) return;
  const losable = [...new Set(keys.map(key => resourceOf(key?.keyArn)))].filter(isKey).filter(key => !isKept(renderedResource(key)));
  if (losable.length === 0) return;
  const named = losable.map(key => key.node.scope?.node.path).join(' and ');
  warn(scope, `The refresh token of '${tokenId}' cannot be read any more when a key that encrypts it, ${named}, goes with its stack or is replaced.`, [
    'KMS deletes a key 7 to 30 days later; until then somebody can cancel that.',
    'Keep the key: remove its `removalPolicy`.',
  ]);
}

/** @returns is it one to warn of? */
function warnOfTable(scope: IConstruct, tokenId: string, table: CfnAnyTable): boolean {
  const rendered = renderedResource<TableProperties>(table);
  const { Properties: properties = {} } = rendered;
  const replicas = properties.Replicas ?? [properties];
  if (isKept(rendered) || replicas.every(({ DeletionProtectionEnabled }) => DeletionProtectionEnabled === true)) return false;
  const isBackedUp = replicas.some(({ PointInTimeRecoverySpecification: recovery }) => recovery?.PointInTimeRecoveryEnabled === true);
  warn(scope, `The refresh token of '${tokenId}' is lost when its table, ${table.node.scope?.node.path}, goes with its stack or is replaced: nothing protects the table from deletion.`, [
    isBackedUp
      ? 'DynamoDB keeps a last backup for 35 days, which somebody would have to restore.'
      : 'Without point-in-time recovery no backup is left either.',
    'Remove `removalPolicy` from the table, or set `deletionProtection: true`.',
  ]);
  return true;
}

function warn(scope: IConstruct, what: string, more: readonly string[]): void {
  Annotations.of(scope).addWarningV2(warningId('losableRefreshToken'), [
    what,
    'At a provider that replaces refresh tokens no other one works, the one in the secret included, so that a person has to log in again.',
    ...more,
    // Not of the refresher: up to some version, CDK heeds what was acknowledged of a construct itself only for warnings that were there before.
    `Where the token may be lost, as in a test, acknowledge that: \`Annotations.of(tokens).acknowledgeWarning('${warningId('losableRefreshToken')}')\`, of the table.`,
  ].join(' '));
}

function isKept({ DeletionPolicy: atRemoval = '', UpdateReplacePolicy: atReplacement = '' }: Rendered<unknown>): boolean {
  return KEPT.includes(atRemoval) && KEPT.includes(atReplacement);
}

function isKey(construct: IConstruct | undefined): construct is kms.CfnKey {
  return construct instanceof kms.CfnKey;
}

type CfnAnyTable = dynamodb.CfnTable | dynamodb.CfnGlobalTable;

function isTable(construct: IConstruct): construct is CfnAnyTable {
  return construct instanceof dynamodb.CfnTable || construct instanceof dynamodb.CfnGlobalTable;
}

function identityOfTable(table: CfnAnyTable): string {
  const { account, region } = Stack.of(table);
  return identityOf(table, { name: table.ref, arn: table.attrArn, env: { account, region }, isNameReliable: true });
}
