import { authorizationsOf } from './support/authorizations';
import { type AwsRequest, dynamoDb, forToken, kms, TABLE } from './support/aws-request';
import type { Reading } from './support/condition-values';
import { isAllowed, isAllowedAsAssumed, type PolicyStatement, type Principal } from './support/iam';
import { claim, endLease, lookRequest, read, TRIED, wire } from './support/matrix';
import { expectPage, grantsText } from './support/page';
import { type Kind, KINDS, type Level, LEVELS, type PolicyStack, policyStackOf, type Selection, SELECTIONS } from './support/stacks';
import { OPERATOR_WRITTEN_ATTRIBUTES, READABLE_ATTRIBUTES } from '../../src/private/contract';

/*
 * No condition of a grant is decoration: without it something is allowed that must not be.
 */

const stacks = Object.fromEntries(KINDS.map(kind => [kind, policyStackOf(kind)])) as Record<Kind, PolicyStack>;

/** What each level is denied: rows of the matrix, and its own requests for other tokens. */
function deniedRequests(level: Level, selection: Selection, { names }: PolicyStack): AwsRequest[] {
  const own = {
    reading: [dynamoDb('GetItem', read)],
    refreshing: [dynamoDb('GetItem', read), dynamoDb('UpdateItem', claim)],
    operating: [dynamoDb('GetItem', wire(lookRequest(TABLE, 'crm'))), dynamoDb('UpdateItem', endLease)],
  }[level];
  const withKey = ['Decrypt', 'GenerateDataKey'].map(operation => kms(operation, { KeyId: names.tokenKey, EncryptionContext: { table: TABLE, tokenId: 'crm' } }));
  const others = [...own, ...names.tokenKey !== undefined ? withKey : []].map(request => forToken(request, 'erp'));
  const tried = Object.values(TRIED).flat().filter(({ allowed }) => !allowed.includes(level)).flatMap(({ request }) => request(names) ?? []);
  return [...selection === 'all' ? [] : others, ...tried.flatMap(request => isOfOneToken(request) ? GRANTED[selection].map(id => forToken(request, id)) : [request])];
}

/** For each form of statement a token that it is for: the requests of the matrix are about `crm`. */
const GRANTED: Readonly<Record<Selection, readonly string[]>> = { ids: ['crm'], pattern: ['bot-1'], both: ['crm', 'bot-1'], all: ['crm'] };

function isOfOneToken({ input }: AwsRequest): boolean {
  return JSON.stringify([input.Key, input.EncryptionContext]).includes('"crm"');
}

/**
 * Requests of which AWS tells the policy too little. None is known to exist: each names a key and attributes. But `ForAllValues` holds for what is absent, so that AWS's
 * documents want a `Null` beside it: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_condition-single-vs-multi-valued-context-keys.html
 */
function untoldReadings(tokenId: string): Reading[] {
  const resource = `arn:aws:dynamodb:eu-central-1:111122223333:table/${TABLE}`;
  const reading = { action: 'dynamodb:GetItem', resource, context: { 'dynamodb:Select': 'SPECIFIC_ATTRIBUTES', 'dynamodb:LeadingKeys': [tokenId], 'dynamodb:Attributes': ['tokenId', 'generation'] } };
  const writing = { action: 'dynamodb:UpdateItem', resource, context: { 'dynamodb:ReturnValues': 'NONE', 'dynamodb:LeadingKeys': [tokenId], 'dynamodb:Attributes': ['tokenId', 'lease'] } };
  return [reading, writing].flatMap(told => ['dynamodb:LeadingKeys', 'dynamodb:Attributes'].map(key => (
    { ...told, context: Object.fromEntries(Object.entries(told.context).filter(([name]) => name !== key)) as Reading['context'] })));
}

/** The condition that is taken away. */
interface Removed {
  readonly statement: PolicyStatement;
  readonly operator: string;
  readonly key: string;
}

const conditionsOf = ({ statements }: Principal): Removed[] => statements.flatMap(statement => (
  Object.entries(statement.Condition ?? {}).flatMap(([operator, keys]) => Object.keys(keys).map(key => ({ statement, operator, key })))));

function without({ arn, statements }: Principal, { statement, operator, key }: Removed): Principal {
  const { [operator]: keys = {}, ...others } = statement.Condition ?? {};
  const rest = Object.fromEntries(Object.entries(keys).filter(([name]) => name !== key));
  const Condition = { ...others, ...(Object.keys(rest).length > 0 && { [operator]: rest }) };
  return { arn, statements: statements.map(one => one === statement ? { ...one, Condition } : one) };
}

const selections = Object.keys(SELECTIONS) as Selection[];
const grants = KINDS.flatMap(kind => LEVELS.flatMap(level => selections.map(selection => [kind, level, selection] as const)));

test.each(grants)('%s tokens, %s, %s: without any of the conditions something is allowed that is denied', async (kind, level, selection) => {
  const { granted, cloud } = stacks[kind];
  const principal = granted[level][selection];
  const requests: AwsRequest[] = [];
  for (const request of deniedRequests(level, selection, stacks[kind])) {
    if (!await isAllowedAsAssumed(request, principal, cloud)) requests.push(request);
  }
  const untold = GRANTED[selection].flatMap(untoldReadings);
  const decoration: string[] = [];
  const forUntoldAlone: string[] = [];
  const removed = conditionsOf(principal);
  for (const condition of removed) {
    const weaker = without(principal, condition);
    const actions = [condition.statement.Action].flat();
    const touched = requests.filter(request => authorizationsOf(request, cloud).some(({ action }) => actions.includes(action)));
    if (await some(touched, async request => isAllowedAsAssumed(request, weaker, cloud))) continue;
    const name = `${condition.operator} ${condition.key}`;
    forUntoldAlone.push(name);
    const isNeeded = async (reading: Reading) => !await isAllowed(reading, principal, cloud) && await isAllowed(reading, weaker, cloud);
    if (!await some(untold, isNeeded)) decoration.push(name);
  }
  expect(decoration).toEqual([]);
  expect(forUntoldAlone.filter(name => !name.startsWith('Null '))).toEqual([]);
  // Only who may refresh all tokens of a table without keys has no condition.
  expect(removed.length === 0).toBe(kind === 'plain' && level === 'refreshing' && selection === 'all');
});

test('docs/policies.md shows the grants for one token', () => {
  const { plain, encrypted, 'at rest': atRest } = stacks;
  const countOf = (level: Level) => plain.single[level].statements.length;
  const addedTo = (level: Level, { single }: PolicyStack) => ({ ...single[level], statements: single[level].statements.slice(countOf(level)) });
  const sameAsPlain = (level: Level, { single }: PolicyStack) => single[level].statements.slice(0, countOf(level));
  for (const level of LEVELS) {
    for (const other of [encrypted, atRest]) expect(sameAsPlain(level, other)).toEqual(plain.single[level].statements);
    expect(addedTo(level, atRest).statements).toEqual(addedTo('reading', atRest).statements);
  }
  expect(addedTo('operating', encrypted).statements).toEqual([]);
  expectPage('grants', grantsText({
    '`tokens.grantRead(role, \'crm\')`:': plain.single.reading,
    '`tokens.grantRefresh(role, \'crm\')`:': plain.single.refreshing,
    '`tokens.grantOperate(role, \'crm\')`:': plain.single.operating,
    'Where the table has a `tokenEncryptionKey`, `grantRead` adds (`grantOperate` adds nothing):': addedTo('reading', encrypted),
    'and `grantRefresh`:': addedTo('refreshing', encrypted),
    'Where the table has a customer\'s key at rest (`encryption`), all three add:': addedTo('reading', atRest),
  }));
});

test('what the readings of too little are made of is what grants are about', () => {
  expect(READABLE_ATTRIBUTES).toEqual(expect.arrayContaining(['tokenId', 'generation']));
  expect(OPERATOR_WRITTEN_ATTRIBUTES).toEqual(expect.arrayContaining(['tokenId', 'lease']));
});

async function some<T>(all: readonly T[], holds: (one: T) => Promise<boolean>): Promise<boolean> {
  for (const one of all) {
    if (await holds(one)) return true;
  }
  return false;
}
