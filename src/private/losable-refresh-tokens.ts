import { Annotations, Stack } from 'aws-cdk-lib';
import * as dynamodb from 'aws-cdk-lib/aws-dynamodb';
import { IConstruct } from 'constructs';
import { warningId } from './errors';
import { renderedResource } from './rendered';
import { identityOf } from './table-identity';

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

/**
 * Warns of a table that is deleted with its stack, or by a change that replaces it, and with it the newest refresh token. At synthesis: removal policies may be set
 * later. Of a table that no stack of this app defines nothing is known; whoever defines it decides.
 *
 * Not of a table without point-in-time recovery that is kept: a backup holds a refresh token of before, which is no good at a provider that replaces them; and at one
 * that does not, the first one, in the secret, still is.
 *
 * @param scope the refresher
 * @param tableIdentity as `identityOf` has it
 */
export function warnOfLosableRefreshTokens(scope: IConstruct, tokenId: string, tableIdentity: string): void {
  const table = scope.node.root.node.findAll().filter(isTable).find(one => identityOfTable(one) === tableIdentity);
  if (!table) return;
  const { Properties: properties = {}, DeletionPolicy: atRemoval = '', UpdateReplacePolicy: atReplacement = '' } = renderedResource<TableProperties>(table);
  const replicas = properties.Replicas ?? [properties];
  const isKept = KEPT.includes(atRemoval) && KEPT.includes(atReplacement);
  if (isKept || replicas.every(({ DeletionProtectionEnabled }) => DeletionProtectionEnabled === true)) return;
  const isBackedUp = replicas.some(({ PointInTimeRecoverySpecification: recovery }) => recovery?.PointInTimeRecoveryEnabled === true);
  Annotations.of(scope).addWarningV2(warningId('losableRefreshToken'), [
    `The refresh token of '${tokenId}' is lost when its table, ${table.node.scope?.node.path}, goes with its stack or is replaced: nothing protects the table from deletion.`,
    'At a provider that replaces refresh tokens no other one works, the one in the secret included, so that a person has to log in again.',
    isBackedUp
      ? 'DynamoDB keeps a last backup for 35 days, which somebody would have to restore.'
      : 'Without point-in-time recovery no backup is left either.',
    'Remove `removalPolicy` from the table, or set `deletionProtection: true`.',
    // Not of the refresher: up to some version, CDK heeds what was acknowledged of a construct itself only for warnings that were there before.
    `Where the token may be lost, as in a test, acknowledge that: \`Annotations.of(tokens).acknowledgeWarning('${warningId('losableRefreshToken')}')\`, of the table.`,
  ].join(' '));
}

type CfnAnyTable = dynamodb.CfnTable | dynamodb.CfnGlobalTable;

function isTable(construct: IConstruct): construct is CfnAnyTable {
  return construct instanceof dynamodb.CfnTable || construct instanceof dynamodb.CfnGlobalTable;
}

function identityOfTable(table: CfnAnyTable): string {
  const { account, region } = Stack.of(table);
  return identityOf(table, { name: table.ref, arn: table.attrArn, env: { account, region }, isNameReliable: true });
}
