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
  return {
    TableName: table,
    Key: { [ATTRIBUTE.TOKEN_ID]: tokenId },
    ConsistentRead: true,
    ProjectionExpression: READABLE_ATTRIBUTES.map(name => `#${name}`).join(', '),
    ExpressionAttributeNames: Object.fromEntries(READABLE_ATTRIBUTES.map(name => [`#${name}`, name])),
  };
}

export function claimRequest(table: string, tokenId: string, claim: Claim): UpdateRequest {
  const update = new UpdateBuilder();
  update.set(ATTRIBUTE.LEASE, claim.lease);
  update.set(ATTRIBUTE.FAILURE, claim.failure);
  update.set(ATTRIBUTE.EXPIRE_AFTER, claim.expireAfter);
  const sameToken = update.baseIs(claim.base);
  const leaseIsFree = update.absentOr(ATTRIBUTE.LEASE, claim.ended);
  const noCoolDown = update.absentOr(ATTRIBUTE.FAILURE, claim.endured);
  return update.build(table, tokenId, `${sameToken} AND ${leaseIsFree} AND ${noCoolDown}`);
}

export function commitRequest(table: string, tokenId: string, commit: Commit): UpdateRequest {
  const update = new UpdateBuilder();
  const { token, onlyIf, earlyRejections } = commit;
  update.set(ATTRIBUTE.ACCESS_TOKEN, token.accessToken);
  update.increment(ATTRIBUTE.GENERATION);
  update.set(ATTRIBUTE.ISSUED_AT, token.issuedAt);
  update.setOrRemove(ATTRIBUTE.EXPIRES_AT, token.expiresAt);
  update.set(ATTRIBUTE.REFRESH_TOKEN, commit.refreshToken);
  update.set(ATTRIBUTE.REFRESH_MS, commit.refreshMs);
  update.setOrRemove(ATTRIBUTE.FAILURE, commit.failure);
  update.setOrRemove(ATTRIBUTE.EXPIRE_AFTER, commit.expireAfter);
  if (earlyRejections?.metaExists) update.set(`${ATTRIBUTE.META}.earlyRejections`, earlyRejections.count);
  else if (earlyRejections) update.set(ATTRIBUTE.META, { earlyRejections: earlyRejections.count });
  if ('lease' in onlyIf) {
    update.remove(ATTRIBUTE.LEASE);
    return update.build(table, tokenId, update.equals(`${ATTRIBUTE.LEASE}.id`, onlyIf.lease));
  }
  // Late: the lease is somebody else's by now, or nobody's; it stays.
  const noToken = `attribute_not_exists(${update.name(ATTRIBUTE.ACCESS_TOKEN)})`;
  return update.build(table, tokenId, onlyIf.base === undefined ? noToken : `(${update.baseIs(onlyIf.base)}) OR ${noToken}`);
}

export function releaseRequest(table: string, tokenId: string, release: Release): UpdateRequest {
  const update = new UpdateBuilder();
  update.remove(ATTRIBUTE.LEASE);
  const mine = update.equals(`${ATTRIBUTE.LEASE}.id`, release.lease);
  if (release.failure === undefined) return update.build(table, tokenId, mine);
  update.set(ATTRIBUTE.FAILURE, release.failure.failure);
  return update.build(table, tokenId, `${mine} AND ${update.baseIs(release.failure.base)}`);
}

/** Collects the clauses of one UpdateItem with their names and values. A path may have two parts: `lease.id`. */
class UpdateBuilder {
  private readonly sets: string[] = [];
  private readonly removes: string[] = [];
  private readonly names: Record<string, string> = {};
  private readonly values: Record<string, unknown> = {};

  name(path: string): string {
    return path.split('.').map(part => {
      this.names[`#${part}`] = part;
      return `#${part}`;
    }).join('.');
  }

  set(path: string, value: unknown): void {
    if (value !== undefined) this.sets.push(`${this.name(path)} = ${this.value(path, value)}`);
  }

  remove(path: string): void {
    this.removes.push(this.name(path));
  }

  setOrRemove(path: string, value: unknown): void {
    if (value === undefined) this.remove(path);
    else this.set(path, value);
  }

  increment(path: string): void {
    this.sets.push(`${this.name(path)} = if_not_exists(${this.name(path)}, ${this.value('zero', 0)}) + ${this.value('one', 1)}`);
  }

  equals(path: string, value: unknown): string {
    return `${this.name(path)} = ${this.value(`is ${path}`, value)}`;
  }

  /** The stored token is the one that a decision was based on, or there still is none. */
  baseIs(base: Base): string {
    if (base !== undefined) return `${this.equals(ATTRIBUTE.GENERATION, base.generation)} AND ${this.equals(ATTRIBUTE.ISSUED_AT, base.issuedAt)}`;
    return `attribute_not_exists(${this.name(ATTRIBUTE.GENERATION)}) AND attribute_not_exists(${this.name(ATTRIBUTE.ISSUED_AT)})`;
  }

  /** The map is absent, or still the one that was seen. */
  absentOr(path: string, seen: Readonly<Record<string, unknown>> | undefined): string {
    const absent = `attribute_not_exists(${this.name(path)})`;
    if (seen === undefined) return absent;
    const same = Object.entries(seen).map(([part, value]) => this.equals(`${path}.${part}`, value)).join(' AND ');
    return `(${absent} OR (${same}))`;
  }

  build(table: string, tokenId: string, condition: string): UpdateRequest {
    const clauses = [this.sets.length > 0 && `SET ${this.sets.join(', ')}`, this.removes.length > 0 && `REMOVE ${this.removes.join(', ')}`];
    return {
      TableName: table,
      Key: { [ATTRIBUTE.TOKEN_ID]: tokenId },
      UpdateExpression: clauses.filter(Boolean).join(' '),
      ConditionExpression: condition,
      ExpressionAttributeNames: this.names,
      ExpressionAttributeValues: this.values,
      ReturnValues: 'ALL_NEW',
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    };
  }

  private value(path: string, value: unknown): string {
    const key = `:${path.replace(/[ .](\w)/g, (_, letter: string) => letter.toUpperCase())}`;
    this.values[key] = value;
    return key;
  }
}
