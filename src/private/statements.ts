import * as kms from 'aws-cdk-lib/aws-kms';
import { ACTION, ENCRYPTION_CONTEXT, OPERATOR_READABLE_ATTRIBUTES, OPERATOR_WRITTEN_ATTRIBUTES, READABLE_ATTRIBUTES } from './contract';
import { TokenIdSelection } from './token-ids';
import { TokenAccess } from '../token-access';

/** The part of a policy statement that a grant decides. */
export interface GrantedStatement {
  readonly actions: string[];
  readonly resourceArn: string;
  readonly conditions?: Conditions;
}

export interface Conditions {
  readonly [operator: string]: { readonly [key: string]: string | string[] };
}

/** What the statements are about. */
export interface GrantedTable {
  readonly tableName: string;
  readonly tableArn: string;
  readonly encryptionKey?: kms.IKey;
  readonly tokenEncryptionKey?: kms.IKey;
  readonly env: { readonly region: string };
}

const SELECT = 'dynamodb:Select';
const ATTRIBUTES = 'dynamodb:Attributes';
const RETURN_VALUES = 'dynamodb:ReturnValues';
const LEADING_KEYS = 'dynamodb:LeadingKeys';

/** Everything that the runtime needs for this access: its own calls, and the customer keys behind them. */
export function statementsFor(table: GrantedTable, access: TokenAccess, selection: TokenIdSelection): GrantedStatement[] {
  const allow = access === TokenAccess.READ ? readStatement : refreshStatement;
  return [...tableStatements(table, selection, allow), ...keyStatements(table), ...tokenKeyStatements(table, access, selection)];
}

/** What an operator needs: no token, to read or to write, and so no key that encrypts tokens. */
export function operatorStatementsFor(table: GrantedTable, selection: TokenIdSelection): GrantedStatement[] {
  return [lookStatement, mendStatement].flatMap(allow => tableStatements(table, selection, allow)).concat(keyStatements(table));
}

/** To ask a refresher: its function without a qualifier, for the alias of its schedule can have more done. */
export function askStatement(refresher: { readonly functionArn: string }): GrantedStatement {
  return { actions: [ACTION.ASK], resourceArn: refresher.functionArn };
}

/** Literals and patterns go into statements of their own, because one condition cannot compare some ids exactly and others by prefix. */
function statementsForIds({ all, literals, patterns }: TokenIdSelection, allow: (ids?: ComparedIds) => GrantedStatement): GrantedStatement[] {
  if (all) return [allow()];
  const compared: ComparedIds[] = [{ operator: 'StringEquals', values: literals }, { operator: 'StringLike', values: patterns }];
  return compared.filter(({ values }) => values.length > 0).map(allow);
}

interface ComparedIds {
  readonly operator: 'StringEquals' | 'StringLike';
  readonly values: string[];
}

function tableStatements(table: GrantedTable, selection: TokenIdSelection, allow: Allow): GrantedStatement[] {
  return statementsForIds(selection, ids => allow(table.tableArn, ids));
}

type Allow = (resourceArn: string, ids?: ComparedIds) => GrantedStatement;

/** GetItem alone, of the readable attributes alone. */
function readStatement(resourceArn: string, ids?: ComparedIds): GrantedStatement {
  return { actions: [ACTION.READ], resourceArn, conditions: attributeConditions(READABLE_ATTRIBUTES, ids, { [SELECT]: 'SPECIFIC_ATTRIBUTES' }) };
}

/** GetItem of what says how a token fares, and not of the token. */
function lookStatement(resourceArn: string, ids?: ComparedIds): GrantedStatement {
  return { actions: [ACTION.READ], resourceArn, conditions: attributeConditions(OPERATOR_READABLE_ATTRIBUTES, ids, { [SELECT]: 'SPECIFIC_ATTRIBUTES' }) };
}

/** UpdateItem that asks for nothing back, and names no token. Of the old item that a failed condition returns no condition key knows. */
function mendStatement(resourceArn: string, ids?: ComparedIds): GrantedStatement {
  return { actions: [ACTION.WRITE], resourceArn, conditions: attributeConditions(OPERATOR_WRITTEN_ATTRIBUTES, ids, { [RETURN_VALUES]: 'NONE' }) };
}

/**
 * These attributes alone. Each condition closes a way to the others: `Null` the request that names no attributes at all (`ForAllValues` holds for an empty set),
 * and what else must be equal the request that asks for every attribute.
 */
function attributeConditions(attributes: readonly string[], ids: ComparedIds | undefined, equal: Conditions[string]): Conditions {
  const named: Conditions = { 'ForAllValues:StringEquals': { [ATTRIBUTES]: [...attributes] } };
  return merge({ StringEquals: equal, Null: { [ATTRIBUTES]: 'false' } }, named, leadingKeyConditions(ids));
}

/**
 * GetItem and UpdateItem of whole items. No condition on `dynamodb:ReturnValues`: whether it covers the old item that a failed condition returns is not
 * documented, and a condition that does could deny the claims that the protocol lives by.
 */
function refreshStatement(resourceArn: string, ids?: ComparedIds): GrantedStatement {
  return { actions: [ACTION.READ, ACTION.WRITE], resourceArn, ...(ids && { conditions: leadingKeyConditions(ids) }) };
}

function leadingKeyConditions(ids?: ComparedIds): Conditions {
  if (!ids) return {};
  return { [`ForAllValues:${ids.operator}`]: { [LEADING_KEYS]: ids.values }, Null: { [LEADING_KEYS]: 'false' } };
}

/**
 * To read or write an item DynamoDB asks the key to decrypt the table's own data key, in the caller's name. It encrypts with that data key, so a writer needs
 * no more than a reader.
 */
function keyStatements(table: GrantedTable): GrantedStatement[] {
  if (!table.encryptionKey) return [];
  return [{
    actions: [ACTION.DECRYPT],
    resourceArn: table.encryptionKey.keyArn,
    conditions: { StringEquals: { 'kms:ViaService': `dynamodb.${table.env.region}.amazonaws.com` } },
  }];
}

/** To decrypt tokens, and to encrypt those that were fetched: of this table and these ids alone, as KMS is told them with each call. */
function tokenKeyStatements(
  { tokenEncryptionKey: key, tableName }: GrantedTable, access: TokenAccess, selection: TokenIdSelection,
): GrantedStatement[] {
  if (!key) return [];
  const contextKey = (name: string) => `kms:EncryptionContext:${name}`;
  const table: Conditions = { StringEquals: { [contextKey(ENCRYPTION_CONTEXT.TABLE)]: tableName } };
  return statementsForIds(selection, ids => ({
    actions: access === TokenAccess.READ ? [ACTION.DECRYPT] : [ACTION.DECRYPT, ACTION.ENCRYPT],
    resourceArn: key.keyArn,
    conditions: merge(table, ids ? { [ids.operator]: { [contextKey(ENCRYPTION_CONTEXT.TOKEN_ID)]: ids.values } } : {}),
  }));
}

function merge(...parts: Conditions[]): Conditions {
  const merged: { [operator: string]: { [key: string]: string | string[] } } = {};
  for (const part of parts) {
    for (const [operator, keys] of Object.entries(part)) merged[operator] = { ...merged[operator], ...keys };
  }
  return merged;
}
