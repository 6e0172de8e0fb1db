import { CLEARLY_OLDER_MS } from './timing';
import type { Base, Failure, Lease } from './token-item';
import type { Claim, Commit, Release, Renewal } from './token-store';
import { type AttributeName, OPERATOR_READABLE_ATTRIBUTES, READABLE_ATTRIBUTES } from '../src/private/contract';

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

type Change = Omit<UpdateRequest, 'ReturnValues' | 'ReturnValuesOnConditionCheckFailure'>;

/** An operator's write: it asks for nothing back, for what an item holds is not for operators. */
export interface OperatorRequest extends Change {
  readonly ReturnValues: 'NONE';
}

/** A strongly consistent read of what every caller may see. */
export function readRequest(table: string, tokenId: string): GetRequest {
  return get(table, tokenId, READABLE_ATTRIBUTES);
}

/** The same of what an operator may see: no token. */
export function lookRequest(table: string, tokenId: string): GetRequest {
  return get(table, tokenId, OPERATOR_READABLE_ATTRIBUTES);
}

function get(table: string, tokenId: string, attributes: readonly string[]): GetRequest {
  const projection = attributes.map(name => `#${name}`).join(', ');
  return {
    TableName: table,
    Key: { tokenId },
    ConsistentRead: true,
    ProjectionExpression: projection,
    ExpressionAttributeNames: namesIn(projection),
  };
}

export function claimRequest(table: string, tokenId: string, { lease, base, ended, endured, failure, expireAfter }: Claim): UpdateRequest {
  const leaseIsFree = ended ? `(${NO_LEASE} OR (#lease.#id = :endedId AND #lease.#until = :endedUntil))` : NO_LEASE;
  const noCoolDown = endured ? `(${NO_FAILURE} OR (#failure.#at = :enduredAt AND #failure.#count = :enduredCount))` : NO_FAILURE;
  return update(table, tokenId, {
    set: { lease, failure, expireAfter },
    condition: `${tokenIsStill(base)} AND ${leaseIsFree} AND ${noCoolDown}`,
    values: {
      ...valuesOf(base), ':endedId': ended?.id, ':endedUntil': ended?.until, ':enduredAt': endured?.at, ':enduredCount': endured?.count,
    },
  });
}

export function commitRequest(table: string, tokenId: string, commit: Commit): UpdateRequest {
  const { token: { accessToken, issuedAt, expiresAt = GONE }, refreshToken, refreshMs, failure = GONE, expireAfter = GONE } = commit;
  const { meta, onlyIf, keepsFailure } = commit;
  const isLate = !('lease' in onlyIf);
  const isMine = commit.isSameRefreshToken ? `${LEASE_IS_MINE} AND #refreshToken = :same` : LEASE_IS_MINE;
  return update(table, tokenId, {
    set: {
      accessToken,
      issuedAt,
      expiresAt,
      refreshToken,
      refreshMs,
      failure: keepsFailure ? undefined : failure,
      expireAfter,
      ...(meta && metaWith(meta, isLate)),
      lease: isLate ? undefined : GONE, // late, it is somebody else's by now, or nobody's: it stays
    },
    add: ['#generation = if_not_exists(#generation, :zero) + :one'],
    condition: !isLate ? isMine : `${onlyIf.base ? `(${tokenIsStill(onlyIf.base)}) OR ` : ''}${NO_TOKEN} OR ${TOKEN_IS_OLDER}`,
    values: {
      ':zero': 0,
      ':one': 1,
      ...(isLate
        ? { ...valuesOf(onlyIf.base), ':clearlyOlder': issuedAt - CLEARLY_OLDER_MS }
        : { ':mine': onlyIf.lease, ':same': commit.isSameRefreshToken && refreshToken }),
    },
  });
}

/**
 * Entry by entry where the map exists, so that what another version keeps in it stays. Late, the item may have vanished, and its map with it: an entry of a map
 * that is not there cannot be set.
 */
function metaWith({ entries, exists }: NonNullable<Commit['meta']>, isLate: boolean): Update['set'] {
  if (!exists) return { meta: Object.fromEntries(given({ ...entries })) };
  return isLate ? {} : { 'meta.#earlyRejections': entries.earlyRejections, 'meta.#source': entries.source };
}

export function renewRequest(table: string, tokenId: string, { lease, until }: Renewal): UpdateRequest {
  return update(table, tokenId, { set: { 'lease.#until': until }, condition: LEASE_IS_MINE, values: { ':mine': lease } });
}

export function releaseRequest(table: string, tokenId: string, { lease, failure }: Release): UpdateRequest {
  return update(table, tokenId, {
    set: { failure: failure?.failure, refreshToken: failure?.refreshToken, expireAfter: failure?.refreshToken && GONE, lease: GONE },
    condition: failure ? `${LEASE_IS_MINE} AND ${tokenIsStill(failure.base)}` : LEASE_IS_MINE,
    values: { ':mine': lease, ...valuesOf(failure?.base) },
  });
}

/** Ends a lease that was seen, whoever holds it. */
export function endLeaseRequest(table: string, tokenId: string, { id, until }: Pick<Lease, 'id' | 'until'>): OperatorRequest {
  return mend(table, tokenId, {
    set: { lease: GONE }, condition: '#lease.#id = :seenId AND #lease.#until = :seenUntil', values: { ':seenId': id, ':seenUntil': until },
  });
}

/** Ends the cool-down after a failure that was seen. */
export function clearFailureRequest(table: string, tokenId: string, { at, count }: Pick<Failure, 'at' | 'count'>): OperatorRequest {
  return mend(table, tokenId, {
    set: { failure: GONE }, condition: '#failure.#at = :seenAt AND #failure.#count = :seenCount', values: { ':seenAt': at, ':seenCount': count },
  });
}

/** Has a token that was seen expire now, unless it has expired already. */
export function expireRequest(table: string, tokenId: string, base: NonNullable<Base>, now: number): OperatorRequest {
  return mend(table, tokenId, {
    set: { expiresAt: now },
    condition: `${tokenIsStill(base)} AND (attribute_not_exists(#expiresAt) OR #expiresAt > :expiresAt)`,
    values: valuesOf(base),
  });
}

function mend(table: string, tokenId: string, what: Update): OperatorRequest {
  return { ...changeOf(table, tokenId, what), ReturnValues: 'NONE' };
}

const NO_LEASE = 'attribute_not_exists(#lease)';
const NO_FAILURE = 'attribute_not_exists(#failure)';
const NO_TOKEN = 'attribute_not_exists(#accessToken)';
/** Another late answer, of an earlier request; by more than two clocks may differ. */
const TOKEN_IS_OLDER = '#issuedAt < :clearlyOlder';
const LEASE_IS_MINE = '#lease.#id = :mine';

/** The stored token is the one that a decision was based on, or there still is none. */
function tokenIsStill(base: Base): string {
  return base
    ? '#generation = :baseGeneration AND #issuedAt = :baseIssuedAt'
    : 'attribute_not_exists(#generation) AND attribute_not_exists(#issuedAt)';
}

function valuesOf(base: Base): Values {
  return { ':baseGeneration': base?.generation, ':baseIssuedAt': base?.issuedAt };
}

type Values = Readonly<Record<string, unknown>>;

/** In place of a value: the attribute is removed. */
const GONE = null;

interface Update {
  /** Attributes and their new values. What has none (`undefined`) is left as it is; what is `GONE` is removed. */
  readonly set: Partial<Record<AttributeName | 'meta.#earlyRejections' | 'meta.#source' | 'lease.#until', unknown>>;
  readonly add?: readonly string[];
  readonly condition: string;
  /** Of the condition and of `add`. */
  readonly values: Values;
}

function update(table: string, tokenId: string, what: Update): UpdateRequest {
  return { ...changeOf(table, tokenId, what), ReturnValues: 'ALL_NEW', ReturnValuesOnConditionCheckFailure: 'ALL_OLD' };
}

/** Puts an update together. In expressions every attribute is written `#name`, so the names need no list of their own. */
function changeOf(table: string, tokenId: string, { set, add = [], condition, values }: Update): Change {
  const placeholder = (path: string) => `:${path.replace('.#', '_')}`;
  const changes = given(set);
  const sets = changes.filter(([, value]) => value !== GONE);
  const removes = changes.filter(([, value]) => value === GONE).map(([path]) => `#${path}`).join(', ');
  const clauses = sets.map(([path]) => `#${path} = ${placeholder(path)}`).concat(add).join(', ');
  const expression = [clauses && `SET ${clauses}`, removes && `REMOVE ${removes}`].filter(Boolean).join(' ');
  return {
    TableName: table,
    Key: { tokenId },
    UpdateExpression: expression,
    ConditionExpression: condition,
    ExpressionAttributeNames: namesIn(`${expression} ${condition}`),
    ExpressionAttributeValues: Object.fromEntries([...sets.map(([path, value]) => [placeholder(path), value]), ...given(values)]) as Values,
  };
}

function given(values: Values): [string, unknown][] {
  return Object.entries(values).filter(([, value]) => value !== undefined);
}

function namesIn(expression: string): Record<string, string> {
  const names: Record<string, string> = {};
  for (const name of expression.match(/#\w+/g) ?? []) names[name] = name.slice(1);
  return names;
}
