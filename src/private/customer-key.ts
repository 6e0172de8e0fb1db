import { Annotations, IResolvable, IResolveContext, IResource, Lazy, Stack, Token, Tokenization } from 'aws-cdk-lib';
import * as dynamodb from 'aws-cdk-lib/aws-dynamodb';
import * as kms from 'aws-cdk-lib/aws-kms';
import { IConstruct } from 'constructs';
import { SharedTokenTableError, warningId } from './errors';
import { isOther } from './reference';

/** Reserved for the keys of AWS services. */
const SERVICE_ALIAS = 'alias/aws/';

/** Whether TableV2 would refuse to render this encryption: it looks the region up among the replicas' keys, also when there are no replicas. */
export function needsKnownRegion(encryption: dynamodb.TableEncryptionV2 | undefined, region: string): encryption is dynamodb.TableEncryptionV2 {
  return encryption?.type === dynamodb.TableEncryption.CUSTOMER_MANAGED && Token.isUnresolved(region);
}

/** Puts the key on the table of a stack that knows no region. Such a table has one replica, itself: TableV2 refuses others there. */
export function encryptWith(table: dynamodb.TableV2, key: kms.IKey): void {
  const resource = table.node.defaultChild as dynamodb.CfnGlobalTable;
  resource.sseSpecification = { sseEnabled: true, sseType: 'KMS' };
  const replicas = resource.replicas;
  resource.replicas = Lazy.uncachedAny({
    produce: context => rendered(replicas, context).map(replica => ({ ...replica, sseSpecification: { kmsMasterKeyId: key.keyArn } })),
  });
  // Else `table.grantReadData` and the like would leave the key out.
  Object.defineProperty(table, 'encryptionKey', { value: key, enumerable: true });
}

type Replicas = dynamodb.CfnGlobalTable['replicas'];
type Replica = dynamodb.CfnGlobalTable.ReplicaSpecificationProperty;

function rendered(replicas: Replicas, context: IResolveContext): Replica[] {
  return Tokenization.isResolvable(replicas) ? (replicas as IResolvable).resolve(context) : replicas as Replica[];
}

/** The key that statements are for. To use a key by an alias, a principal needs permission for the key: KMS does not authorize by the ARN of an alias. */
export function keyItself(scope: IConstruct, key: kms.IKey): kms.IKey {
  const itself = targetOf(key) ?? key;
  if (!itself.keyArn.includes(':alias/') && !('aliasName' in itself)) return itself;
  throw new SharedTokenTableError(scope, {
    what: 'Whoever uses a key needs permission for the key itself: KMS does not authorize by the ARN of an alias.',
    got: `an alias that does not tell its key, '${itself.keyArn}'`,
    expected: 'the key itself',
    todo: 'Import the key: `Key.fromKeyArn(this, id, keyArn)`, or `Key.fromLookup(this, id, { aliasName })`, which finds the key behind an alias.',
  });
}

/** The key that encrypts tokens, which grants are for. */
export function tokenKey(table: IResource, key: kms.IKey | undefined): kms.IKey | undefined {
  if (!key) return undefined;
  const itself = symmetric(table, keyItself(table, key));
  const { account } = itself.env;
  // Where it is of the table's account, and that is another one, `crossAccountPrincipal` says it of whoever is granted anything.
  if (isOther(account, table.env.account) && isOther(account, Stack.of(table).account)) {
    Annotations.of(table).addWarningV2(warningId('crossAccountKey'), [
      `The key that encrypts the tokens is in account ${account}: the policies of those who use the table are not enough.`,
      'Whoever manages the key must let their roles use it by its policy: kms:Decrypt, and kms:GenerateDataKey for those who refresh.',
    ].join(' '));
  }
  return itself;
}

/** A key that data keys can be made with, as far as that is known. */
function symmetric(scope: IConstruct, key: kms.IKey): kms.IKey {
  const resource = key.node.defaultChild;
  const keySpec = resource instanceof kms.CfnKey ? resource.keySpec : undefined;
  if (keySpec === undefined || Token.isUnresolved(keySpec) || keySpec === kms.KeySpec.SYMMETRIC_DEFAULT) return key;
  throw new SharedTokenTableError(scope, {
    what: 'Tokens are encrypted with a symmetric key.',
    got: `${key.node.path}, of the kind ${keySpec}`,
    expected: 'a key without `keySpec`',
    todo: 'Use another key: `new Key(this, id, { enableKeyRotation: true })`.',
  });
}

/** The key that a policy must name for what it encrypts; none for the keys of AWS services, whose own policies let in all of an account. */
export function keyToPermit(scope: IConstruct, key: kms.IKey | undefined): kms.IKey | undefined {
  if (!key || isOfService(key)) return undefined;
  return keyItself(scope, key);
}

function isOfService(key: kms.IKey): boolean {
  const { aliasName } = key as { readonly aliasName?: string };
  return (aliasName ?? '').startsWith(SERVICE_ALIAS) || key.keyArn.includes(`:${SERVICE_ALIAS}`);
}

/** The key behind an alias, where it is known: an alias that was imported by name alone throws when it is asked. */
function targetOf(key: kms.IKey): kms.IKey | undefined {
  if (!('aliasName' in key)) return undefined;
  try {
    return (key as kms.IAlias).aliasTargetKey;
  } catch {
    return undefined;
  }
}
