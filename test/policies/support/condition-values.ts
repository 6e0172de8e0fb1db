import { type Authorization, otherResourceOf } from './authorizations';
import { ACCOUNT, type Input } from './aws-request';
import { ACTIONS_OF_DYNAMODB, CONDITIONS_OF_KMS, FINE_GRAINED, GLOBAL_CONDITIONS, PARTIQL, type Sourced, TRANSACTIONS } from './sources';

/*
 * What AWS fills a condition's key with, for a request: derived from what is on the wire by one table, each row of which cites AWS's document. Where no document
 * says it, the row holds every value that it might be, the one that the policies count on first, and names what asks AWS itself (docs/integration-tests.md).
 */

/** Undefined: this row leaves the key as it is. */
export type Value = string | readonly string[] | undefined;

export interface ConditionRow extends Sourced {
  /** `resource`: no key of a condition, but what the statement's resource is compared with. */
  readonly key: string;
  /** What it is, in words. */
  readonly is: string;
  /** Of which actions; all, where it is absent. */
  readonly of?: RegExp;
  /** What it may be, the assumed value first. One where it is documented. */
  readonly values: (authorization: Authorization) => readonly [Value, ...Value[]];
}

const ITEMS = /^dynamodb:(GetItem|UpdateItem|PutItem|DeleteItem|ConditionCheckItem|BatchGetItem|BatchWriteItem|Query)$/;
const WITH_ATTRIBUTES = /^dynamodb:(GetItem|UpdateItem|PutItem|DeleteItem|ConditionCheckItem|BatchGetItem|BatchWriteItem|Query|Scan)$/;
const GETS = /^dynamodb:(GetItem|BatchGetItem)$/;
const WRITES = /^dynamodb:(UpdateItem|PutItem|DeleteItem)$/;

export const CONDITION_VALUES = {
  leadingKeys: {
    key: 'dynamodb:LeadingKeys',
    is: 'the partition keys of the items that the request names, also of a single one',
    of: ITEMS,
    source: FINE_GRAINED,
    documented: true,
    values: ({ input }) => [leadingKeysOf(input)],
  },
  attributes: {
    key: 'dynamodb:Attributes',
    is: 'the top-level attributes that the parameters of the request name, in expressions too, and those of its key; nothing of what is returned',
    of: WITH_ATTRIBUTES,
    source: FINE_GRAINED,
    documented: true,
    values: ({ input }) => [attributesOf(input)],
  },
  selectOfAll: {
    key: 'dynamodb:Select',
    is: '`ALL_ATTRIBUTES` where a read names no attributes',
    of: /^dynamodb:(GetItem|BatchGetItem|Query|Scan)$/,
    source: FINE_GRAINED,
    documented: true,
    values: ({ input }) => [namesAttributes(input) ? undefined : String(input.Select ?? 'ALL_ATTRIBUTES')],
  },
  selectOfQuery: {
    key: 'dynamodb:Select',
    is: '`SPECIFIC_ATTRIBUTES` where a query or scan has a projection, which may have no other',
    of: /^dynamodb:(Query|Scan)$/,
    source: 'https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Query.html',
    documented: true,
    values: ({ input }) => [namesAttributes(input) ? String(input.Select ?? 'SPECIFIC_ATTRIBUTES') : undefined],
  },
  selectOfGet: {
    key: 'dynamodb:Select',
    is: '`SPECIFIC_ATTRIBUTES` where `GetItem` has a projection. It has no parameter `Select`; that the key applies to it is said, and not with which value',
    of: GETS,
    source: FINE_GRAINED,
    documented: false,
    cases: ['policies reader.read', 'policies operator.look'],
    values: ({ input, enclosing }) => namesAttributes(input) && !enclosing ? ['SPECIFIC_ATTRIBUTES', undefined] : [undefined],
  },
  selectInTransaction: {
    key: 'dynamodb:Select',
    is: 'the same in a transaction',
    of: GETS,
    source: TRANSACTIONS,
    documented: false,
    cases: ['policies reader.readableInTransaction'],
    values: ({ input, enclosing }) => namesAttributes(input) && enclosing ? ['SPECIFIC_ATTRIBUTES', undefined] : [undefined],
  },
  returnValues: {
    key: 'dynamodb:ReturnValues',
    is: 'the parameter `ReturnValues`; `NONE` where the request names none',
    of: WRITES,
    source: FINE_GRAINED,
    documented: true,
    values: ({ input, enclosing }) => [enclosing ? undefined : String(input.ReturnValues ?? 'NONE')],
  },
  returnValuesInTransaction: {
    key: 'dynamodb:ReturnValues',
    is: 'in a transaction, whose parts have no other: `ReturnValuesOnConditionCheckFailure`, or `NONE`',
    of: /^dynamodb:(UpdateItem|PutItem|DeleteItem|ConditionCheckItem)$/,
    source: TRANSACTIONS,
    documented: true,
    values: ({ input, enclosing }) => [enclosing && String(input.ReturnValuesOnConditionCheckFailure ?? 'NONE')],
  },
  returnValuesOfFailure: {
    key: 'dynamodb:ReturnValues',
    is: 'whether it is also `ReturnValuesOnConditionCheckFailure` of a write by itself: assumed that it is not',
    of: WRITES,
    source: FINE_GRAINED,
    documented: false,
    cases: ['policies refreshing.claimOfStored', 'policies operator.oldItem'],
    values: ({ input, enclosing }) => !enclosing && input.ReturnValuesOnConditionCheckFailure === 'ALL_OLD' ? [undefined, 'ALL_OLD'] : [undefined],
  },
  returnConsumedCapacity: {
    key: 'dynamodb:ReturnConsumedCapacity',
    is: 'the parameter `ReturnConsumedCapacity`; `NONE` where the request names none',
    of: WITH_ATTRIBUTES,
    source: FINE_GRAINED,
    documented: true,
    values: ({ input }) => [String(input.ReturnConsumedCapacity ?? 'NONE')],
  },
  enclosingOperation: {
    key: 'dynamodb:EnclosingOperation',
    is: 'the transaction that the action is a part of; absent outside of one',
    of: /^dynamodb:(GetItem|UpdateItem|PutItem|DeleteItem)$/,
    source: TRANSACTIONS,
    documented: true,
    values: ({ enclosing }) => [enclosing],
  },
  fullTableScan: {
    key: 'dynamodb:FullTableScan',
    is: 'whether a `SELECT` of PartiQL names no partition key',
    of: /^dynamodb:PartiQLSelect$/,
    source: PARTIQL,
    documented: true,
    values: ({ input }) => [String(!/WHERE tokenId =/.test(String(input.Statement)))],
  },
  leadingKeysOfStatement: {
    key: 'dynamodb:LeadingKeys',
    is: 'the partition key that a statement of PartiQL names',
    of: /^dynamodb:PartiQL/,
    source: ACTIONS_OF_DYNAMODB,
    documented: true,
    values: ({ input }) => [Array.isArray(input.Parameters) ? (input.Parameters as readonly { readonly S: string }[]).map(({ S }) => S) : undefined],
  },
  viaService: {
    key: 'kms:ViaService',
    is: 'the service that calls in the name of the principal; absent where it calls by itself',
    of: /^kms:/,
    source: CONDITIONS_OF_KMS,
    documented: true,
    values: ({ via }) => [via],
  },
  callerAccount: {
    key: 'kms:CallerAccount',
    is: 'the account of the principal',
    of: /^kms:/,
    source: CONDITIONS_OF_KMS,
    documented: true,
    values: () => [ACCOUNT],
  },
  encryptionContext: {
    key: 'kms:EncryptionContext:<name>',
    is: 'the value of that name in the encryption context of the request. The case of the name does not count; that of the value does',
    of: /^kms:(Decrypt|Encrypt|GenerateDataKey|GenerateDataKeyWithoutPlaintext|ReEncryptFrom|ReEncryptTo)$/,
    source: CONDITIONS_OF_KMS,
    documented: true,
    values: () => [undefined], // a key for each name: `contextOf`
  },
  latest: {
    key: 'resource',
    is: 'the function with `$LATEST` behind it, where `Invoke` names it so: assumed that it is not the function itself',
    of: /^lambda:InvokeFunction$/,
    source: 'https://docs.aws.amazon.com/lambda/latest/dg/lambda-api-permissions-ref.html',
    documented: false,
    cases: ['policies reader.latest'],
    values: authorization => {
      const other = otherResourceOf(authorization);
      return other === undefined ? [undefined] : [undefined, other];
    },
  },
  secureTransport: {
    key: 'aws:SecureTransport',
    is: 'whether the request came over TLS, as all of the SDK do',
    source: GLOBAL_CONDITIONS,
    documented: true,
    values: () => ['true'],
  },
} as const satisfies Readonly<Record<string, ConditionRow>>;

export type RowName = keyof typeof CONDITION_VALUES;

/** One way to read AWS's documents of an authorization: what is compared with the statements. */
export interface Reading {
  readonly action: string;
  readonly resource: string;
  readonly context: Readonly<Record<string, string | readonly string[]>>;
  /** The row whose other value it takes; absent: all is as assumed. */
  readonly otherwise?: RowName;
}

/** All ways to read an authorization, the assumed one first; in each other one row is otherwise. */
export function readingsOf(authorization: Authorization): readonly [Reading, ...Reading[]] {
  const rows = (Object.entries(CONDITION_VALUES) as [RowName, ConditionRow][])
    .filter(([, { of }]) => of === undefined || of.test(authorization.action))
    .map(([name, { key, values }]) => ({ name, key, values: values(authorization) }));
  const reading = (otherwise?: RowName, index = 0): Reading => {
    const { action, input } = authorization;
    const context: Record<string, string | readonly string[]> = { ...encryptionContextOf(action, input) };
    for (const { name, key, values } of rows) {
      const value = name === otherwise ? values[index] : values[0];
      if (value !== undefined) context[key] = value;
    }
    const { resource = authorization.resource, ...conditions } = context;
    return { action, resource: String(resource), context: conditions, ...(otherwise && { otherwise }) };
  };
  return [reading(), ...rows.flatMap(({ name, values }) => values.slice(1).map((_, i) => reading(name, i + 1)))];
}

/** Under its own key, since there is one for each name. */
function encryptionContextOf(action: string, { EncryptionContext }: Input): Record<string, string> {
  if (!CONDITION_VALUES.encryptionContext.of.test(action)) return {};
  return Object.fromEntries(Object.entries(EncryptionContext ?? {}).map(([name, value]) => [`kms:EncryptionContext:${name}`, String(value)]));
}

type Item = Readonly<Record<string, { readonly S?: string }>>;

/** Of a single item, of several, of an item that is put, and of a query. */
function leadingKeysOf({ Key, Keys, Item, Writes, KeyConditionExpression, ExpressionAttributeValues }: Input): string[] {
  const written = (Writes as readonly Readonly<Record<string, { readonly Item?: Item; readonly Key?: Item }>>[] | undefined ?? [])
    .flatMap(write => Object.values(write)).map(({ Item: put, Key: deleted }) => put ?? deleted);
  const items = [Key, Item, ...(Keys as readonly unknown[] | undefined ?? []), ...written].filter(item => item !== undefined) as Item[];
  const value = /= *(:\w+)/.exec(String(KeyConditionExpression ?? ''))?.[1];
  return [...items, ...(value === undefined ? [] : [{ tokenId: (ExpressionAttributeValues as Item)[value] ?? {} }])].map(({ tokenId }) => tokenId?.S ?? '');
}

const EXPRESSIONS = ['ProjectionExpression', 'UpdateExpression', 'ConditionExpression', 'KeyConditionExpression', 'FilterExpression'] as const;
/** Before there were expressions. */
const LEGACY_MAPS = ['AttributeUpdates', 'Expected', 'QueryFilter', 'ScanFilter', 'KeyConditions'] as const;
const KEYWORDS = new Set(['SET', 'REMOVE', 'ADD', 'DELETE', 'AND', 'OR', 'NOT', 'IN', 'BETWEEN']);

function attributesOf(input: Input): string[] {
  const { Key, Keys, Item, Writes, AttributesToGet } = input;
  const written = (Writes as readonly Readonly<Record<string, { readonly Item?: object; readonly Key?: object }>>[] | undefined ?? [])
    .flatMap(write => Object.values(write)).map(({ Item: put, Key: deleted }) => put ?? deleted);
  const maps = [Key, Item, ...(Keys as readonly unknown[] | undefined ?? []), ...written, ...LEGACY_MAPS.map(name => input[name])];
  const aliases = (input.ExpressionAttributeNames ?? {}) as Readonly<Record<string, string>>;
  const named = EXPRESSIONS.flatMap(name => topLevelNames(String(input[name] ?? ''))).map(name => aliases[name] ?? name);
  return [...new Set([...maps.flatMap(map => Object.keys(map ?? {})), ...(AttributesToGet as readonly string[] | undefined ?? []), ...named])];
}

function namesAttributes({ ProjectionExpression, AttributesToGet }: Input): boolean {
  return ProjectionExpression !== undefined || AttributesToGet !== undefined;
}

/** Of `#lease.#id = :mine AND attribute_exists(meta.list[0])`: `#lease`, `meta`. */
function topLevelNames(expression: string): string[] {
  return [...expression.matchAll(/(?<![\w:#.])(#\w+|[A-Za-z_]\w*)(?:\[\d+\]|\.#?\w+)*\s*(\()?/g)]
    .filter(([, name = '', call]) => call === undefined || KEYWORDS.has(name.toUpperCase()))
    .map(([, name = '']) => name)
    .filter(name => !KEYWORDS.has(name.toUpperCase()));
}
