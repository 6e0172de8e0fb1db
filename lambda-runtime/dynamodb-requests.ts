import type { Base } from './token-item';
import type { Claim, Commit, Release } from './token-store';
import { ATTRIBUTE, READABLE_ATTRIBUTES } from '../src/private/contract';

/*
 * The operations of the protocol as DynamoDB requests: pure, so that another language's runtime can be compared with them.
 */

/** The part of a GetItem request that this protocol uses, in the document client's spelling. */
export interface GetRequest {
  readonly TableName: string;
  readonly Key: Record<string, string>;
  readonly ConsistentRead: true;
  readonly ProjectionExpression: string;
  readonly ExpressionAttributeNames: Record<string, string>;
}

/** The part of an UpdateItem request that this protocol uses. */
export interface UpdateRequest {
  readonly TableName: string;
  readonly Key: Record<string, string>;
  readonly UpdateExpression: string;
  readonly ConditionExpression: string;
  readonly ExpressionAttributeNames: Record<string, string>;
  readonly ExpressionAttributeValues: Record<string, unknown>;
  readonly ReturnValues: 'ALL_NEW';
  readonly ReturnValuesOnConditionCheckFailure: 'ALL_OLD';
}

/** A strongly consistent read of what every caller may see. */
export function readRequest(table: string, tokenId: string): GetRequest {
  const projection = READABLE_ATTRIBUTES.map(name => `#${name}`).join(', ');
  return {
    TableName: table,
    Key: { [ATTRIBUTE.TOKEN_ID]: tokenId },
    ConsistentRead: true,
    ProjectionExpression: projection,
    ExpressionAttributeNames: namesIn(projection),
  };
}

export function claimRequest(table: string, tokenId: string, { lease, base, ended, endured, failure, expireAfter }: Claim): UpdateRequest {
  const leaseIsFree = ended === undefined ? NO_LEASE : `(${NO_LEASE} OR (#lease.#id = :endedId AND #lease.#until = :endedUntil))`;
  const noCoolDown = endured === undefined ? NO_FAILURE : `(${NO_FAILURE} OR (#failure.#at = :enduredAt AND #failure.#count = :enduredCount))`;
  return update(table, tokenId, {
    set: { lease, failure, expireAfter },
    condition: `${tokenIsStill(base)} AND ${leaseIsFree} AND ${noCoolDown}`,
    values: {
      ...valuesOf(base), ':endedId': ended?.id, ':endedUntil': ended?.until, ':enduredAt': endured?.at, ':enduredCount': endured?.count,
    },
  });
}

export function commitRequest(table: string, tokenId: string, commit: Commit): UpdateRequest {
  const { token: { accessToken, issuedAt, expiresAt }, onlyIf, refreshToken, refreshMs, failure, earlyRejections, expireAfter } = commit;
  const isLate = !('lease' in onlyIf);
  // Late, the item may have vanished, and its map with it: an entry of a map that is not there cannot be set.
  const early = isLate && earlyRejections?.metaExists ? undefined : earlyRejections;
  return update(table, tokenId, {
    set: {
      accessToken, issuedAt, expiresAt, refreshToken, refreshMs, failure, expireAfter,
      // One entry where the map exists, so that what another version keeps in it stays.
      ...(early?.metaExists ? { 'meta.#earlyRejections': early.count } : {}),
      ...(early?.metaExists === false ? { meta: { earlyRejections: early.count } } : {}),
    },
    add: '#generation = if_not_exists(#generation, :zero) + :one',
    remove: {
      expiresAt: expiresAt === undefined,
      failure: failure === undefined,
      expireAfter: expireAfter === undefined,
      lease: !isLate, // late, it is somebody else's by now, or nobody's: it stays
    },
    condition: !isLate ? LEASE_IS_MINE : onlyIf.base === undefined ? NO_TOKEN : `(${tokenIsStill(onlyIf.base)}) OR ${NO_TOKEN}`,
    values: { ':zero': 0, ':one': 1, ...(isLate ? valuesOf(onlyIf.base) : { ':mine': onlyIf.lease }) },
  });
}

export function releaseRequest(table: string, tokenId: string, { lease, failure }: Release): UpdateRequest {
  return update(table, tokenId, {
    set: { failure: failure?.failure },
    remove: { lease: true },
    condition: failure === undefined ? LEASE_IS_MINE : `${LEASE_IS_MINE} AND ${tokenIsStill(failure.base)}`,
    values: { ':mine': lease, ...valuesOf(failure?.base) },
  });
}

const NO_LEASE = 'attribute_not_exists(#lease)';
const NO_FAILURE = 'attribute_not_exists(#failure)';
const NO_TOKEN = 'attribute_not_exists(#accessToken)';
const LEASE_IS_MINE = '#lease.#id = :mine';

/** The stored token is the one that a decision was based on, or there still is none. */
function tokenIsStill(base: Base): string {
  return base === undefined
    ? 'attribute_not_exists(#generation) AND attribute_not_exists(#issuedAt)'
    : '#generation = :baseGeneration AND #issuedAt = :baseIssuedAt';
}

function valuesOf(base: Base): Values {
  return { ':baseGeneration': base?.generation, ':baseIssuedAt': base?.issuedAt };
}

type Values = Readonly<Record<string, unknown>>;

interface Update {
  /** Attributes and their new values; those without a value are left as they are. */
  readonly set: Values;
  readonly add?: string;
  /** Attributes, and whether to remove them. */
  readonly remove?: Readonly<Record<string, boolean>>;
  readonly condition: string;
  /** Of the condition and of `add`. */
  readonly values: Values;
}

/** Puts an update together. In expressions every attribute is written `#name`, so the names need no list of their own. */
function update(table: string, tokenId: string, { set, add, remove = {}, condition, values }: Update): UpdateRequest {
  const sets = Object.entries(set).filter(([, value]) => value !== undefined);
  const placeholder = (path: string) => `:${path.replace('.#', '_')}`;
  const clauses = [...sets.map(([path]) => `#${path} = ${placeholder(path)}`), ...(add === undefined ? [] : [add])].join(', ');
  const removes = Object.keys(remove).filter(name => remove[name]).map(name => `#${name}`).join(', ');
  const expression = [clauses && `SET ${clauses}`, removes && `REMOVE ${removes}`].filter(Boolean).join(' ');
  return {
    TableName: table,
    Key: { [ATTRIBUTE.TOKEN_ID]: tokenId },
    UpdateExpression: expression,
    ConditionExpression: condition,
    ExpressionAttributeNames: namesIn(`${expression} ${condition}`),
    ExpressionAttributeValues: Object.fromEntries([
      ...sets.map(([path, value]) => [placeholder(path), value] as const),
      ...Object.entries(values).filter(([, value]) => value !== undefined),
    ]),
    ReturnValues: 'ALL_NEW',
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  };
}

function namesIn(expression: string): Record<string, string> {
  return Object.fromEntries((expression.match(/#\w+/g) ?? []).map(name => [name, name.slice(1)]));
}
