import { inspect } from 'node:util';
import { SharedTokenError } from '../../lambda-runtime';
import { SharedTokenOperator, type SharedTokenState } from '../../lambda-runtime/operator';
import { stateOf } from '../../lambda-runtime/operator/token-state';
import { parseItem } from '../../lambda-runtime/token-item';
import { ENV } from '../../src/private/contract';
import type { Fault } from '../../testing-kit';
import { tablePerFile } from '../support/per-test';

const { table, tokenId } = tablePerFile();
const SECOND = 1_000;
const MINUTE = 60_000;
const SENTINEL = 'sentinel-credential';

const lease = (more: object = {}) => ({ id: 'lease-1', since: Date.now() - 3 * SECOND, until: Date.now() + 9 * SECOND, holder: 'orders request-1', ...more });
const failure = (more: object = {}) => ({ code: '503', count: 2, at: Date.now() - SECOND, retryAt: Date.now() + MINUTE, ...more });
const stored = (more: object = {}) => {
  const now = Date.now();
  const secrets = { accessToken: SENTINEL, refreshToken: SENTINEL };
  return { tokenId: tokenId(), ...secrets, generation: 4, issuedAt: now - 10 * MINUTE, expiresAt: now + 50 * MINUTE, ...more };
};
const operator = () => new SharedTokenOperator(tokenId(), { table: table().name });
const item = async () => table().item(tokenId());

describe('a look', () => {
  test('says who refreshes, what went wrong and when the token ends, and asks for no token', async () => {
    const put = stored({ lease: lease(), failure: failure({ forced: true }), meta: { source: 'https://auth.example.com#0123' } });
    await table().put(put);
    const state = await operator().state();
    expect(state).toEqual({
      tokenId: tokenId(),
      at: expect.any(Number),
      generation: 4,
      issuedAt: put.issuedAt,
      expiresAt: put.expiresAt,
      lease: { id: 'lease-1', holder: 'orders request-1', since: expect.any(Number), until: expect.any(Number), isOver: false },
      failure: { code: '503', count: 2, at: expect.any(Number), retryAt: expect.any(Number), isForced: true },
      source: 'https://auth.example.com#0123',
      summary: expect.stringMatching(/^Generation 4, issued 10 min ago, expires in 50 min\. orders request-1 has been refreshing it for 3 s, until /),
    });
    expect(JSON.stringify(state)).not.toContain(SENTINEL);
    const [request] = table().requests;
    expect(request).toMatchObject({ operation: 'GetItem', body: { ConsistentRead: true } });
    expect(Object.values(request?.body.ExpressionAttributeNames as object)).not.toContain('accessToken');
  });

  test('finds no item where nobody has fetched the token', async () => {
    expect(await operator().state()).toMatchObject({ generation: undefined, lease: undefined, failure: undefined, summary: 'No token is stored. Nobody is refreshing it.' });
  });

  test('goes by the table\'s time', async () => {
    await table().put(stored());
    table().pass(20 * MINUTE);
    expect((await operator().state()).summary).toMatch(/issued 30 min ago, expires in 30 min/);
  });

  test('leaves nothing in an operator that could be printed', async () => {
    await table().put(stored());
    const mending = operator();
    await mending.state();
    expect(inspect(mending, { depth: 9, showHidden: true })).not.toContain('issuedAt');
    expect(JSON.stringify(mending)).toBe(JSON.stringify({ tokenId: tokenId() }));
  });
});

describe('the summary', () => {
  const at = 1_700_000_000_000;
  const summaryOf = (attributes: object): string => stateOf('crm', { item: parseItem('crm', { ...attributes }), expiresAt: (attributes as SharedTokenState).expiresAt, at }).summary;
  const token = { accessToken: 'token', generation: 7, issuedAt: at - 2 * 3_600_000 };

  test.each([
    ['an expired token', { ...token, expiresAt: at - 30_000 }, 'Generation 7, issued 2 h ago, expired 30 s ago. Nobody is refreshing it.'],
    ['a token that expires this moment', { ...token, expiresAt: at }, 'Generation 7, issued 2 h ago, expired 0 s ago. Nobody is refreshing it.'],
    ['a token without an expiry', { ...token, issuedAt: at - 5 * 86_400_000 }, 'Generation 7, issued 5 days ago, without an expiry. Nobody is refreshing it.'],
    ['a lease in its grace', { lease: { id: 'a', since: at - 5_000, until: at - 1_999, holder: 'orders 1' } },
      'No token is stored. orders 1 has been refreshing it for 5 s, until 2023-11-14T22:13:18.001Z at the latest.'],
    ['a lease that is over', { lease: { id: 'a', since: at - 5_000, until: at - 2_000, holder: 'orders 1' } },
      'No token is stored. orders 1 began to refresh it 5 s ago and never ended: the next who needs a token takes over.'],
    ['a lease of nobody known', { lease: { id: 'a', since: at, until: at + 1 } },
      'No token is stored. Somebody has been refreshing it for 0 s, until 2023-11-14T22:13:20.001Z at the latest.'],
    ['a cool-down', { failure: { code: 'invalid_client', count: 3, at, retryAt: at + 240_000 } },
      'No token is stored. Nobody is refreshing it. The last refresh failed (invalid_client, no. 3 in a row): the next is tried in 4 min at the earliest.'],
    ['a cool-down that is over', { failure: { code: '503', count: 1, at: at - 9_000, retryAt: at } },
      'No token is stored. Nobody is refreshing it. The last refresh failed (503, no. 1 in a row): the next may be tried.'],
    ['a forced refresh that failed', { failure: { code: '503', count: 1, at, retryAt: at + 1_000, forced: true } },
      'No token is stored. Nobody is refreshing it. The last refresh, which nobody needed, failed (503, no. 1 in a row): the next is tried in 1 s at the earliest.'],
    ['a source', { ...token, meta: { source: 'https://auth.example.com#1' } },
      'Generation 7, issued 2 h ago, without an expiry. Nobody is refreshing it. It came from https://auth.example.com#1.'],
  ])('of %s', (_, attributes, expected) => expect(summaryOf(attributes)).toBe(expected));

  test('shows no control characters, whoever wrote them: it is for terminals', () => {
    const hostile = summaryOf({ lease: { id: 'a', since: at, until: at + 9, holder: 'a\u001b[2Jb\u009bc\u202ed\n' }, meta: { source: '\u0007' } });
    expect(hostile).toContain('a?[2Jb?c?d?');
    expect(hostile).toContain('It came from ?.');
  });
});

describe('endLease', () => {
  test('ends the lease, and nothing else', async () => {
    const rest = stored({ failure: failure() });
    await table().put({ ...rest, lease: lease() });
    expect(await operator().endLease()).toBe(true);
    expect(await item()).toEqual(rest);
  });

  test('has nothing to do where there is none, and makes no item', async () => {
    expect(await operator().endLease()).toBe(false);
    expect(await item()).toBeUndefined();
    expect(table().operations()).toEqual(['GetItem']);
  });

  test('ends the lease that was seen, also when its holder has renewed it since; not another\'s', async () => {
    await table().put(stored({ lease: lease() }));
    const seen = await operator().state();
    await table().set(tokenId(), 'lease', lease({ until: Date.now() + 15 * MINUTE }));
    expect(await operator().endLease(seen)).toBe(true);

    await table().set(tokenId(), 'lease', lease({ id: 'lease-2' }));
    expect(await operator().endLease(seen)).toBe(false);
    expect(await item()).toHaveProperty('lease.id', 'lease-2');
  });

  test('ends none where none was seen, and asks nothing', async () => {
    await table().put(stored());
    const seen = await operator().state();
    await table().set(tokenId(), 'lease', lease());
    table().requests.length = 0;
    expect(await operator().endLease(seen)).toBe(false);
    expect(table().operations()).toEqual([]);
  });

  test('takes what was seen as the text that a tool kept of it', async () => {
    await table().put(stored({ lease: lease() }));
    const kept = JSON.parse(JSON.stringify(await operator().state())) as SharedTokenState;
    table().requests.length = 0;
    expect(await operator().endLease(kept)).toBe(true);
    expect(table().operations()).toEqual(['GetItem', 'UpdateItem']);
  });

  test('what an operator looked at before counts no more than what anybody else did', async () => {
    const mending = operator();
    await mending.state();
    await table().put(stored({ lease: lease() }));
    expect(await mending.endLease()).toBe(true);
  });
});

test.each(['endLease', 'clearFailure', 'expire'] as const)('%s is not about the state of another token, or about what is none', async method => {
  await table().put(stored({ lease: lease(), failure: failure() }));
  const seen = await operator().state();
  const wrongs: object[] = [
    await new SharedTokenOperator(`${tokenId()}-other`).state(),
    ...['tokenId', 'at', 'generation', 'issuedAt'].map(field => ({ ...seen, [field]: undefined })),
    ...['expiresAt', 'at', 'lease', 'failure'].map(field => ({ ...seen, [field]: null })),
    ...['id', 'until'].map(field => ({ ...seen, lease: { ...seen.lease, [field]: undefined } })),
    ...['at', 'count'].map(field => ({ ...seen, failure: { ...seen.failure, [field]: '1' } })),
  ];
  table().requests.length = 0;
  for (const wrong of [...wrongs, undefined, null, 'lease-1', 1, {}, Promise.resolve(seen)]) {
    await expect(operator()[method](wrong as SharedTokenState)).rejects.toMatchObject({ code: 'INVALID_OPTION', tokenId: tokenId() });
  }
  expect(table().operations()).toEqual([]);
});

describe('clearFailure', () => {
  test('removes the failure, and nothing else', async () => {
    const rest = stored({ lease: lease() });
    await table().put({ ...rest, failure: failure() });
    expect(await operator().clearFailure()).toBe(true);
    expect(await item()).toEqual(rest);
    expect(await operator().clearFailure()).toBe(false);
  });

  test.each([['the number', { count: 3 }], ['the moment', { at: 7 }]])('leaves one that came after the look: nobody saw it (%s tells)', async (_, other) => {
    const first = failure();
    await table().put(stored({ failure: first }));
    const seen = await operator().state();
    await table().set(tokenId(), 'failure', { ...first, ...other });
    expect(await operator().clearFailure(seen)).toBe(false);
    expect(await item()).toMatchObject({ failure: other });
    expect(await operator().clearFailure()).toBe(true); // it looks for itself
  });
});

describe('expire', () => {
  test('sets the expiry to now, by the table\'s time, and nothing else', async () => {
    const put = stored({ lease: lease(), failure: failure() });
    await table().put(put);
    table().pass(10 * MINUTE);
    const before = Date.now();
    expect(await operator().expire()).toBe(true);
    const after = await item();
    expect(after).toEqual({ ...put, expiresAt: expect.any(Number) });
    expect(after?.expiresAt).toBeGreaterThan(before + 10 * MINUTE - 2 * SECOND);
    expect(after?.expiresAt).toBeLessThan(Date.now() + 10 * MINUTE + 2 * SECOND);
  });

  test.each([
    ['there is no item', undefined],
    ['the token has expired', stored({ expiresAt: Date.now() - 1 })],
    ['there is a lease alone', { lease: lease() }],
  ])('has nothing to do where %s', async (_, attributes) => {
    if (attributes) await table().put({ ...attributes, tokenId: tokenId() });
    expect(await operator().expire()).toBe(false);
    expect(table().operations()).toEqual(['GetItem']);
  });

  test('leaves a token alone that was fetched since it was seen', async () => {
    await table().put(stored());
    const seen = await operator().state();
    const successor = stored({ generation: 5, issuedAt: Date.now() + 5 * SECOND });
    await table().put(successor);
    expect(await operator().expire(seen)).toBe(false);
    expect(await item()).toEqual(successor);
  });

  test('leaves any other token alone than the one that was seen', async () => {
    await table().put(stored());
    const seen = await operator().state();
    const recent = Date.now() - 20 * SECOND;
    for (const other of [{ generation: 5, issuedAt: recent }, { generation: 5, issuedAt: seen.issuedAt }, { issuedAt: recent }]) {
      const put = stored(other);
      await table().put(put);
      expect(await operator().expire(seen)).toBe(false);
      expect(await item()).toEqual(put);
    }
  });

  test('of nothing that was seen, does not spare one that is stored during its look, but was asked for before', async () => {
    await table().put(stored());
    let writes = 0;
    table().faults = async ({ operation }) => {
      if (operation === 'UpdateItem' && ++writes === 1) await table().put(stored({ generation: 5, issuedAt: Date.now() - 20 * SECOND }));
      return undefined;
    };
    expect(await operator().expire()).toBe(true);
    expect(writes).toBe(2);
    expect(await item()).toMatchObject({ generation: 5 });
    expect((await item())?.expiresAt).toBeLessThan(Date.now() + 2 * SECOND);
  });

  test('by the table\'s time, also on a machine whose clock is wrong, and with a state from elsewhere', async () => {
    await table().put(stored());
    const seen = await operator().state();
    table().pass(30 * MINUTE); // whose clock is now half an hour ahead of this machine's
    expect(await operator().expire(seen)).toBe(true);
    expect((await item())?.expiresAt).toBeGreaterThan(Date.now() + 29 * MINUTE);
  });
});

describe('trouble', () => {
  const code = (expected: string) => expect.objectContaining({ code: expected, tokenId: tokenId() }) as SharedTokenError;

  test('a write whose reply was lost is sent again, and counts as done', async () => {
    await table().put(stored({ lease: lease(), failure: failure() }));
    const mending = operator();
    for (const method of ['endLease', 'clearFailure', 'expire'] as const) {
      table().requests.length = 0;
      let writes = 0;
      table().faults = ({ operation }) => operation === 'UpdateItem' && ++writes === 1 ? { kind: 'dropAfter' } : undefined;
      expect([method, await mending[method]()]).toEqual([method, true]);
      expect(table().operations()).toEqual(['GetItem', 'UpdateItem', 'UpdateItem', 'GetItem']);
    }
  });

  test('an item that changes after each look is given up, with a typed error', async () => {
    await table().put(stored({ lease: lease() }));
    let renewals = 0;
    table().faults = async ({ operation }) => {
      if (operation === 'UpdateItem') await table().set(tokenId(), 'lease', lease({ until: Date.now() + MINUTE + ++renewals }));
      return undefined;
    };
    await expect(operator().endLease()).rejects.toEqual(code('ITEM_CHANGED'));
    expect(renewals).toBe(5);
    expect(await item()).toHaveProperty('lease');
  });

  test('passes where it may: throttling, a connection that breaks', async () => {
    await table().put(stored());
    const faults: Fault[] = [{ kind: 'error', type: 'ProvisionedThroughputExceededException' }, { kind: 'dropBefore' }];
    table().faults = () => faults.shift();
    expect(await operator().state()).toMatchObject({ generation: 4 });
    expect(table().operations()).toEqual(['GetItem', 'GetItem', 'GetItem']);
  });

  test.each<[string, 'ProvisionedThroughputExceededException' | undefined, RegExp]>([
    ['throttles', 'ProvisionedThroughputExceededException', /throttled every request/],
    ['cannot be reached', undefined, /could not be reached/],
  ])('a table that %s for good is an error', async (_, type, message) => {
    table().faults = () => type ? { kind: 'error', type } : { kind: 'dropBefore' };
    await expect(operator().state()).rejects.toMatchObject({ code: 'TABLE_UNAVAILABLE', message: expect.stringMatching(message) });
    expect(table().operations()).toHaveLength(4);
  });

  test('what a policy denies names the grant of operators', async () => {
    table().faults = () => ({ kind: 'error', type: 'AccessDeniedException' });
    await expect(operator().expire()).rejects.toMatchObject({ code: 'ACCESS_DENIED', message: expect.stringContaining('grantOperate') });
    expect(table().operations()).toHaveLength(1);
  });

  test('an item that something else wrote is an error, and left alone', async () => {
    await table().put(stored({ lease: { id: 7 } }));
    await expect(operator().endLease()).rejects.toEqual(code('INVALID_ITEM'));
    expect(table().operations()).toEqual(['GetItem']);
  });

  test('a table that is not there is an error', async () => {
    await expect(new SharedTokenOperator('crm', { table: 'Elsewhere' }).state()).rejects.toMatchObject({ code: 'TABLE_NOT_FOUND' });
  });
});

describe('where', () => {
  test('the table may be given by its ARN, and with the key that encrypts its tokens behind it, which an operator does not need', async () => {
    await table().put(stored());
    const arn = `arn:aws:dynamodb:us-east-1:111122223333:table/${table().name}`;
    for (const name of [arn, `${arn}#arn:aws:kms:us-east-1:111122223333:key/1234`]) {
      expect(await new SharedTokenOperator(tokenId(), { table: name }).state()).toMatchObject({ generation: 4 });
    }
    expect(table().requests.map(({ body }) => body.TableName)).toEqual([arn, arn]);
  });

  test('the table is that of the environment, where none is given', async () => {
    expect(process.env[ENV.TABLE]).toBe(table().name);
    await new SharedTokenOperator(tokenId()).state();
    expect(table().operations()).toEqual(['GetItem']);
  });

  test.each<[string, unknown[], string]>([
    ['an empty id', [''], 'INVALID_TOKEN_ID'],
    ['an unknown option', ['crm', { tabel: 'Tokens' }], 'INVALID_OPTION'],
    ['an empty table', ['crm', { table: '' }], 'INVALID_OPTION'],
    ['options that are none', ['crm', null], 'INVALID_OPTION'],
  ])('%s is refused at once', (_, args, expected) => {
    const make = () => new SharedTokenOperator(...args as ConstructorParameters<typeof SharedTokenOperator>);
    expect(make).toThrow(SharedTokenError);
    expect(make).toThrow(expect.objectContaining({ code: expected }) as SharedTokenError);
  });
});
