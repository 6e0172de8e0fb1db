import {
  claimRequest, commitRequest, type GetRequest, readRequest, releaseRequest, type UpdateRequest,
} from '../../lambda-runtime/dynamodb-requests';
import type { Failure, Lease } from '../../lambda-runtime/token-item';
import type { Claim, Commit, Release } from '../../lambda-runtime/token-store';

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
  earlyRejections: undefined,
  expireAfter: 1_700_608_401,
  ...more,
});

const UPDATE = { TableName: 'Tokens', Key: { tokenId: 'crm' }, ReturnValues: 'ALL_NEW', ReturnValuesOnConditionCheckFailure: 'ALL_OLD' };
const claimed = (more?: Partial<Claim>) => claimRequest('Tokens', 'crm', claim(more));
const committed = (more?: Partial<Commit>) => commitRequest('Tokens', 'crm', commit(more));
const released = (release: Release) => releaseRequest('Tokens', 'crm', release);

describe('read', () => {
  test('is strongly consistent, and asks for what every reader may see', () => {
    expect(readRequest('Tokens', 'crm')).toEqual({
      TableName: 'Tokens',
      Key: { tokenId: 'crm' },
      ConsistentRead: true,
      ProjectionExpression: '#tokenId, #accessToken, #generation, #issuedAt, #expiresAt, #lease, #refreshMs, #failure, #meta, #expireAfter',
      ExpressionAttributeNames: {
        '#tokenId': 'tokenId',
        '#accessToken': 'accessToken',
        '#generation': 'generation',
        '#issuedAt': 'issuedAt',
        '#expiresAt': 'expiresAt',
        '#lease': 'lease',
        '#refreshMs': 'refreshMs',
        '#failure': 'failure',
        '#meta': 'meta',
        '#expireAfter': 'expireAfter',
      },
    });
  });

  test('never names the refresh token', () => {
    expect(JSON.stringify(readRequest('Tokens', 'crm'))).not.toContain('refreshToken');
  });

  test('takes table and token id as they come', () => {
    const arn = 'arn:aws:dynamodb:eu-west-1:111122223333:table/Tokens';
    expect(readRequest(arn, '#weird:id')).toMatchObject({ TableName: arn, Key: { tokenId: '#weird:id' } });
  });
});

describe('claim', () => {
  test('of a fresh item: no token, no lease, no failure may be there', () => {
    expect(claimed({ expireAfter: 1_700_604_812 })).toEqual({
      ...UPDATE,
      UpdateExpression: 'SET #lease = :lease, #expireAfter = :expireAfter',
      ConditionExpression: 'attribute_not_exists(#generation) AND attribute_not_exists(#issuedAt) ' +
        'AND attribute_not_exists(#lease) AND attribute_not_exists(#failure)',
      ExpressionAttributeNames: {
        '#lease': 'lease', '#expireAfter': 'expireAfter', '#generation': 'generation', '#issuedAt': 'issuedAt', '#failure': 'failure',
      },
      ExpressionAttributeValues: { ':lease': lease, ':expireAfter': 1_700_604_812 },
    });
  });

  test('of a token that was seen: it must still be that token', () => {
    expect(claimed({ base })).toEqual({
      ...UPDATE,
      UpdateExpression: 'SET #lease = :lease',
      ConditionExpression: '#generation = :baseGeneration AND #issuedAt = :baseIssuedAt ' +
        'AND attribute_not_exists(#lease) AND attribute_not_exists(#failure)',
      ExpressionAttributeNames: { '#lease': 'lease', '#generation': 'generation', '#issuedAt': 'issuedAt', '#failure': 'failure' },
      ExpressionAttributeValues: { ':lease': lease, ':baseGeneration': 7, ':baseIssuedAt': base.issuedAt },
    });
  });

  test('takeover: the lease must still be the one that ended, id and until, or be gone; its death is recorded', () => {
    expect(claimed({ base, ended: { id: other.id, until: other.until }, failure })).toEqual({
      ...UPDATE,
      UpdateExpression: 'SET #lease = :lease, #failure = :failure',
      ConditionExpression: '#generation = :baseGeneration AND #issuedAt = :baseIssuedAt ' +
        'AND (attribute_not_exists(#lease) OR (#lease.#id = :endedId AND #lease.#until = :endedUntil)) AND attribute_not_exists(#failure)',
      ExpressionAttributeNames: {
        '#lease': 'lease', '#failure': 'failure', '#generation': 'generation', '#issuedAt': 'issuedAt', '#id': 'id', '#until': 'until',
      },
      ExpressionAttributeValues: {
        ':lease': lease, ':failure': failure, ':baseGeneration': 7, ':baseIssuedAt': base.issuedAt, ':endedId': 'other', ':endedUntil': other.until,
      },
    });
  });

  test('after a cool-down: the failure must still be the one that was endured, or be gone', () => {
    expect(claimed({ base, endured: { at: earlier.at, count: earlier.count } })).toEqual({
      ...UPDATE,
      UpdateExpression: 'SET #lease = :lease',
      ConditionExpression: '#generation = :baseGeneration AND #issuedAt = :baseIssuedAt AND attribute_not_exists(#lease) ' +
        'AND (attribute_not_exists(#failure) OR (#failure.#at = :enduredAt AND #failure.#count = :enduredCount))',
      ExpressionAttributeNames: {
        '#lease': 'lease', '#generation': 'generation', '#issuedAt': 'issuedAt', '#failure': 'failure', '#at': 'at', '#count': 'count',
      },
      ExpressionAttributeValues: {
        ':lease': lease, ':baseGeneration': 7, ':baseIssuedAt': base.issuedAt, ':enduredAt': earlier.at, ':enduredCount': 1,
      },
    });
  });

  test('I4: a takeover is decided by id and until of the lease alone: one that was written without a holder can be taken over', () => {
    expect(claimed({ base, ended: other, failure })).toEqual(claimed({ base, ended: { id: other.id, until: other.until }, failure }));
  });

  test('I4: is decided by time and count of the failure alone: one written without a code can be endured', () => {
    const { at, count } = earlier;
    const { ConditionExpression, ExpressionAttributeValues } = claimed({ base, endured: earlier });
    expect(ExpressionAttributeValues)
      .toEqual({ ':lease': lease, ':baseGeneration': 7, ':baseIssuedAt': base.issuedAt, ':enduredAt': at, ':enduredCount': count });
    expect(ConditionExpression).not.toMatch(/code|retryAt/);
  });

  test('leaves token and refresh token alone', () => {
    const request = JSON.stringify(claimed({ base, ended: other, endured: earlier, failure, expireAfter: 1 }));
    expect(request).not.toMatch(/accessToken|refreshToken|expiresAt/);
  });
});

describe('commit', () => {
  test('under the own lease: token, generation + 1, the lease and the failure go', () => {
    expect(committed()).toEqual({
      ...UPDATE,
      UpdateExpression: 'SET #accessToken = :accessToken, #issuedAt = :issuedAt, #expiresAt = :expiresAt, ' +
        '#refreshMs = :refreshMs, #expireAfter = :expireAfter, #generation = if_not_exists(#generation, :zero) + :one REMOVE #failure, #lease',
      ConditionExpression: '#lease.#id = :mine',
      ExpressionAttributeNames: {
        '#accessToken': 'accessToken',
        '#generation': 'generation',
        '#issuedAt': 'issuedAt',
        '#expiresAt': 'expiresAt',
        '#refreshMs': 'refreshMs',
        '#failure': 'failure',
        '#expireAfter': 'expireAfter',
        '#lease': 'lease',
        '#id': 'id',
      },
      ExpressionAttributeValues: {
        ':accessToken': 'token-8',
        ':zero': 0,
        ':one': 1,
        ':issuedAt': NOW + 10,
        ':expiresAt': NOW + 3_600_010,
        ':refreshMs': 312,
        ':expireAfter': 1_700_608_401,
        ':mine': 'mine',
      },
    });
  });

  test('of a token without an expiry and with a rotating refresh token: no expiry and no time to live stay behind', () => {
    expect(committed({ token: { accessToken: 'token-8', issuedAt: NOW }, refreshToken: 'refresh-8', expireAfter: undefined })).toEqual({
      ...UPDATE,
      UpdateExpression: 'SET #accessToken = :accessToken, #issuedAt = :issuedAt, #refreshToken = :refreshToken, #refreshMs = :refreshMs, ' +
        '#generation = if_not_exists(#generation, :zero) + :one REMOVE #expiresAt, #failure, #expireAfter, #lease',
      ConditionExpression: '#lease.#id = :mine',
      ExpressionAttributeNames: {
        '#accessToken': 'accessToken',
        '#generation': 'generation',
        '#issuedAt': 'issuedAt',
        '#expiresAt': 'expiresAt',
        '#refreshToken': 'refreshToken',
        '#refreshMs': 'refreshMs',
        '#failure': 'failure',
        '#expireAfter': 'expireAfter',
        '#lease': 'lease',
        '#id': 'id',
      },
      ExpressionAttributeValues: {
        ':accessToken': 'token-8', ':zero': 0, ':one': 1, ':issuedAt': NOW, ':refreshToken': 'refresh-8', ':refreshMs': 312, ':mine': 'mine',
      },
    });
  });

  test('without a new refresh token leaves the stored one', () => {
    expect(JSON.stringify(committed())).not.toContain('refreshToken');
  });

  test('late, with a base: only over the token that was claimed, or over none; another\'s lease is left alone', () => {
    const request = committed({ onlyIf: { base } });
    expect(request).toEqual({
      ...UPDATE,
      UpdateExpression: 'SET #accessToken = :accessToken, #issuedAt = :issuedAt, #expiresAt = :expiresAt, ' +
        '#refreshMs = :refreshMs, #expireAfter = :expireAfter, #generation = if_not_exists(#generation, :zero) + :one REMOVE #failure',
      ConditionExpression: '(#generation = :baseGeneration AND #issuedAt = :baseIssuedAt) OR attribute_not_exists(#accessToken) OR #issuedAt < :clearlyOlder',
      ExpressionAttributeNames: {
        '#accessToken': 'accessToken',
        '#generation': 'generation',
        '#issuedAt': 'issuedAt',
        '#expiresAt': 'expiresAt',
        '#refreshMs': 'refreshMs',
        '#failure': 'failure',
        '#expireAfter': 'expireAfter',
      },
      ExpressionAttributeValues: {
        ':accessToken': 'token-8',
        ':zero': 0,
        ':one': 1,
        ':issuedAt': NOW + 10,
        ':expiresAt': NOW + 3_600_010,
        ':refreshMs': 312,
        ':expireAfter': 1_700_608_401,
        ':clearlyOlder': NOW + 10 - 4_000,
        ':baseGeneration': 7,
        ':baseIssuedAt': base.issuedAt,
      },
    });
  });

  test('late, without a base: only where there still is no token', () => {
    const { ConditionExpression, UpdateExpression, ExpressionAttributeNames } = committed({ onlyIf: { base: undefined } });
    expect(ConditionExpression).toBe('attribute_not_exists(#accessToken) OR #issuedAt < :clearlyOlder');
    expect(UpdateExpression).not.toContain('#lease');
    expect(Object.values(ExpressionAttributeNames)).not.toContain('lease');
  });

  test('of an answer of no use carries a pause in place of clearing the failure', () => {
    const { UpdateExpression, ExpressionAttributeValues } = committed({ failure });
    expect(UpdateExpression).toContain('#failure = :failure');
    expect(UpdateExpression).toMatch(/ REMOVE #lease$/);
    expect(ExpressionAttributeValues[':failure']).toEqual(failure);
  });

  test('the storm guard\'s count goes into meta, beside whatever a later version keeps there', () => {
    const first = committed({ earlyRejections: { count: 1, metaExists: false } });
    expect(first.UpdateExpression).toContain(', #meta = :meta, ');
    expect(first.ExpressionAttributeValues[':meta']).toEqual({ earlyRejections: 1 });
    const next = committed({ earlyRejections: { count: 2, metaExists: true } });
    expect(next.UpdateExpression).toContain(', #meta.#earlyRejections = :meta_earlyRejections, ');
    expect(next.ExpressionAttributeValues[':meta_earlyRejections']).toBe(2);
    expect(next.ExpressionAttributeValues).not.toHaveProperty(':meta');
    expect(JSON.stringify(committed())).not.toContain('meta');
  });

  // DynamoDB refuses a whole request whose path does not exist, and the token with it.
  test('I3: a late one, whose item may have vanished, sets nothing inside a map that may have vanished with it', () => {
    for (const onlyIf of [{ base }, { base: undefined }]) {
      expect(committed({ onlyIf, earlyRejections: { count: 2, metaExists: true } }).UpdateExpression).not.toMatch(/#meta\.#/);
    }
  });
});

describe('release', () => {
  test('gives back the own lease, and no other', () => {
    expect(released({ lease: 'mine' })).toEqual({
      ...UPDATE,
      UpdateExpression: 'REMOVE #lease',
      ConditionExpression: '#lease.#id = :mine',
      ExpressionAttributeNames: { '#lease': 'lease', '#id': 'id' },
      ExpressionAttributeValues: { ':mine': 'mine' },
    });
  });

  test('records a failure only if the token still is the claimed one', () => {
    expect(released({ lease: 'mine', failure: { failure, base } })).toEqual({
      ...UPDATE,
      UpdateExpression: 'SET #failure = :failure REMOVE #lease',
      ConditionExpression: '#lease.#id = :mine AND #generation = :baseGeneration AND #issuedAt = :baseIssuedAt',
      ExpressionAttributeNames: { '#lease': 'lease', '#id': 'id', '#failure': 'failure', '#generation': 'generation', '#issuedAt': 'issuedAt' },
      ExpressionAttributeValues: { ':mine': 'mine', ':failure': failure, ':baseGeneration': 7, ':baseIssuedAt': base.issuedAt },
    });
  });

  test('records the failure of the very first refresh only if there still is no token', () => {
    expect(released({ lease: 'mine', failure: { failure, base: undefined } }).ConditionExpression)
      .toBe('#lease.#id = :mine AND attribute_not_exists(#generation) AND attribute_not_exists(#issuedAt)');
  });
});

describe('every request', () => {
  const bases = [undefined, base];
  const updates: UpdateRequest[] = [
    ...bases.flatMap(from => [undefined, other].flatMap(ended => [undefined, earlier].flatMap(endured => [undefined, failure].flatMap(died =>
      [undefined, 1_700_604_812].map(expireAfter => claimed({ base: from, ended, endured, failure: died, expireAfter })))))),
    ...[{ lease: 'mine' }, { base: undefined }, { base }].flatMap(onlyIf => [undefined, 'refresh-8'].flatMap(refreshToken =>
      [undefined, failure].flatMap(paused => [undefined, { count: 1, metaExists: false }, { count: 2, metaExists: true }].flatMap(earlyRejections =>
        [undefined, 1_700_608_401].map(expireAfter => committed({ onlyIf, refreshToken, failure: paused, earlyRejections, expireAfter })))))),
    released({ lease: 'mine' }),
    ...bases.map(from => released({ lease: 'mine', failure: { failure, base: from } })),
  ];
  const expressionsOf = (request: UpdateRequest | GetRequest): string =>
    'UpdateExpression' in request ? `${request.UpdateExpression} ${request.ConditionExpression}` : request.ProjectionExpression;

  test('declares every name and value that its expressions use, and no other: DynamoDB refuses both', () => {
    for (const request of [...updates, readRequest('Tokens', 'crm')]) {
      const expressions = expressionsOf(request);
      const values = 'ExpressionAttributeValues' in request ? request.ExpressionAttributeValues : {};
      expect(new Set(expressions.match(/#\w+/g))).toEqual(new Set(Object.keys(request.ExpressionAttributeNames)));
      expect(new Set(expressions.match(/:\w+/g))).toEqual(new Set(Object.keys(values)));
    }
  });

  test('names attributes by alias only: none can be a reserved word', () => {
    for (const request of [...updates, readRequest('Tokens', 'crm')]) {
      const words = expressionsOf(request).replace(/[#:]\w+/g, '').match(/\w+/g) ?? [];
      for (const word of words) expect(['SET', 'REMOVE', 'AND', 'OR', 'attribute_not_exists', 'if_not_exists']).toContain(word);
      for (const [alias, name] of Object.entries(request.ExpressionAttributeNames)) expect(alias).toBe(`#${name}`);
    }
  });

  test('has no undefined value: the engine would refuse it', () => {
    for (const request of updates) expect(Object.values(request.ExpressionAttributeValues)).not.toContain(undefined);
  });

  test('never writes a path twice, nor one inside another', () => {
    for (const { UpdateExpression } of updates) {
      const [sets = '', removes = ''] = UpdateExpression.replace(/^SET /, '').split(/(?:^| )REMOVE /);
      const paths = [...sets.matchAll(/([#\w.]+) = /g)].map(match => match[1]).concat(removes === '' ? [] : removes.split(', ')) as string[];
      expect(paths.length).toBeGreaterThan(0);
      const roots = paths.map(path => path.split('.')[0]);
      expect(new Set(roots).size).toBe(roots.length);
    }
  });

  test('is conditional, and asks for the item on a failed condition', () => {
    for (const request of updates) {
      expect(request.ConditionExpression).not.toBe('');
      expect(request).toMatchObject({ ReturnValues: 'ALL_NEW', ReturnValuesOnConditionCheckFailure: 'ALL_OLD', Key: { tokenId: 'crm' } });
    }
  });

  test('writes the refresh token in a commit alone', () => {
    for (const request of updates) {
      const isCommit = request.UpdateExpression.includes('#accessToken');
      if (!isCommit) expect(JSON.stringify(request)).not.toContain('refreshToken');
      expect(request.ConditionExpression).not.toContain('refreshToken');
    }
  });
});
