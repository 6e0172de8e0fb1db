import {
  claimRequest, clearFailureRequest, commitRequest, endLeaseRequest, expireRequest, type GetRequest, lookRequest, type OperatorRequest, readRequest,
  releaseRequest, renewRequest, type UpdateRequest,
} from '../../lambda-runtime/dynamodb-requests';
import type { Failure, Lease } from '../../lambda-runtime/token-item';
import type { Claim, Commit, Release } from '../../lambda-runtime/token-store';
import { OPERATOR_READABLE_ATTRIBUTES, OPERATOR_WRITTEN_ATTRIBUTES } from '../../src/private/contract';

/*
 * Each request of its own is a vector of docs/protocol-vectors.json. Here is what holds for all.
 */
const NOW = 1_700_000_000_000;
const lease: Lease = { id: 'mine', since: NOW, until: NOW + 12_000, holder: 'fn request-1' };
const other: Lease = { id: 'other', since: NOW - 20_000, until: NOW - 8_000, holder: 'fn request-0' };
const failure: Failure = { code: '503', count: 2, at: NOW, retryAt: NOW + 2_000 };
const earlier: Failure = { code: '503', count: 1, at: NOW - 9_000, retryAt: NOW - 8_000 };
const base = { generation: 7, issuedAt: NOW - 3_600_000 };

const claim = (more: Partial<Claim> = {}): Claim =>
  ({ lease, base: undefined, ended: undefined, endured: undefined, failure: undefined, expireAfter: undefined, ...more });
const commit = (more: Partial<Commit> = {}): Commit => ({
  onlyIf: { lease: 'mine' },
  token: { accessToken: 'token-8', issuedAt: NOW + 10, expiresAt: NOW + 3_600_010 },
  refreshToken: undefined,
  refreshMs: 312,
  failure: undefined,
  meta: undefined,
  expireAfter: 1_700_608_401,
  ...more,
});

const METAS: readonly Commit['meta'][] = [
  undefined,
  { entries: { earlyRejections: 1 }, exists: false },
  { entries: { earlyRejections: 2 }, exists: true },
  { entries: { earlyRejections: 2, source: 'crm.1' }, exists: true },
  { entries: { source: 'crm.1' }, exists: false },
];

const claimed = (more?: Partial<Claim>) => claimRequest('Tokens', 'crm', claim(more));
const committed = (more?: Partial<Commit>) => commitRequest('Tokens', 'crm', commit(more));
const released = (release: Release) => releaseRequest('Tokens', 'crm', release);

test('table and token id are taken as they come', () => {
  const arn = 'arn:aws:dynamodb:eu-west-1:111122223333:table/Tokens';
  expect(readRequest(arn, '#weird:id')).toMatchObject({ TableName: arn, Key: { tokenId: '#weird:id' } });
});

describe('every request', () => {
  const bases = [undefined, base];
  const updates: UpdateRequest[] = [
    ...bases.flatMap(from => [undefined, other].flatMap(ended => [undefined, earlier].flatMap(endured => [undefined, failure].flatMap(died =>
      [undefined, 1_700_604_812].map(expireAfter => claimed({ base: from, ended, endured, failure: died, expireAfter })))))),
    ...[{ lease: 'mine' }, { base: undefined }, { base }].flatMap(onlyIf => [undefined, 'refresh-8'].flatMap(refreshToken =>
      [undefined, failure].flatMap(paused => METAS.flatMap(meta =>
        [undefined, 1_700_608_401].map(expireAfter => committed({ onlyIf, refreshToken, failure: paused, meta, expireAfter })))))),
    renewRequest('Tokens', 'crm', { lease: 'mine', until: NOW + 900_000 }),
    released({ lease: 'mine' }),
    ...bases.map(from => released({ lease: 'mine', failure: { failure, base: from } })),
  ];
  const ofOperators: OperatorRequest[] = [
    endLeaseRequest('Tokens', 'crm', other), clearFailureRequest('Tokens', 'crm', failure), expireRequest('Tokens', 'crm', base, NOW),
  ];
  const reads = [readRequest('Tokens', 'crm'), lookRequest('Tokens', 'crm')];
  const all = [...updates, ...ofOperators, ...reads];
  const expressionsOf = (request: UpdateRequest | OperatorRequest | GetRequest): string =>
    'UpdateExpression' in request ? `${request.UpdateExpression} ${request.ConditionExpression}` : request.ProjectionExpression;

  test('declares every name and value that its expressions use, and no other: DynamoDB refuses both', () => {
    for (const request of all) {
      const expressions = expressionsOf(request);
      const values = 'ExpressionAttributeValues' in request ? request.ExpressionAttributeValues : {};
      expect(new Set(expressions.match(/#\w+/g))).toEqual(new Set(Object.keys(request.ExpressionAttributeNames)));
      expect(new Set(expressions.match(/:\w+/g))).toEqual(new Set(Object.keys(values)));
    }
  });

  test('names attributes by alias only: none can be a reserved word', () => {
    for (const request of all) {
      const words = expressionsOf(request).replace(/[#:]\w+/g, '').match(/\w+/g) ?? [];
      for (const word of words) expect(['SET', 'REMOVE', 'AND', 'OR', 'attribute_not_exists', 'if_not_exists']).toContain(word);
      for (const [alias, name] of Object.entries(request.ExpressionAttributeNames)) expect(alias).toBe(`#${name}`);
    }
  });

  test('has no undefined value: the engine would refuse it', () => {
    for (const request of [...updates, ...ofOperators]) expect(Object.values(request.ExpressionAttributeValues)).not.toContain(undefined);
  });

  test('never writes a path twice, nor one inside another', () => {
    for (const { UpdateExpression } of [...updates, ...ofOperators]) {
      const [sets = '', removes = ''] = UpdateExpression.replace(/^SET /, '').split(/(?:^| )REMOVE /);
      const paths = [...sets.matchAll(/([#\w.]+) = /g)].map(match => match[1]).concat(removes === '' ? [] : removes.split(', ')) as string[];
      expect(paths.length).toBeGreaterThan(0);
      expect(new Set(paths).size).toBe(paths.length);
      expect(paths.filter(path => paths.some(inner => inner.startsWith(`${path}.`)))).toEqual([]);
    }
  });

  test('is conditional, and asks for the item on a failed condition', () => {
    for (const request of updates) {
      expect(request.ConditionExpression).not.toBe('');
      expect(request).toMatchObject({ ReturnValues: 'ALL_NEW', ReturnValuesOnConditionCheckFailure: 'ALL_OLD', Key: { tokenId: 'crm' } });
    }
  });

  test('of an operator names no token, what grants let it name alone, and asks for nothing back', () => {
    /** Attributes of the item, which policies know; not what is inside of one. */
    const namesOf = (request: OperatorRequest | GetRequest) => expressionsOf(request).match(/(?<!\.)#\w+/g)?.map(alias => alias.slice(1)) ?? [];
    for (const request of ofOperators) {
      expect(OPERATOR_WRITTEN_ATTRIBUTES).toEqual(expect.arrayContaining(namesOf(request)));
      expect(request.ConditionExpression).not.toBe('');
      expect(request).toMatchObject({ ReturnValues: 'NONE', Key: { tokenId: 'crm' } });
      expect(request).not.toHaveProperty('ReturnValuesOnConditionCheckFailure');
    }
    expect(new Set(ofOperators.flatMap(namesOf)).size).toBe(OPERATOR_WRITTEN_ATTRIBUTES.length - 1); // the key has no alias
    expect(namesOf(lookRequest('Tokens', 'crm'))).toEqual(OPERATOR_READABLE_ATTRIBUTES);
    for (const name of [...ofOperators, lookRequest('Tokens', 'crm')].flatMap(namesOf)) expect(['accessToken', 'refreshToken']).not.toContain(name);
  });

  test('writes the refresh token in a commit alone', () => {
    for (const request of updates) {
      const isCommit = request.UpdateExpression.includes('#accessToken');
      if (!isCommit) expect(JSON.stringify(request)).not.toContain('refreshToken');
      expect(request.ConditionExpression).not.toContain('refreshToken');
    }
  });
});
