import type { Lease, StoredToken, TokenItem } from '../../lambda-runtime/token-item';
import { type TokenMemory, tokenMemory } from '../../lambda-runtime/token-memory';
import type { Commit } from '../../lambda-runtime/token-store';
import { MovableHost } from '../support/instance';

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;

/** A host that stands still unless a test moves it. */
class StillHost extends MovableHost {
  override now = () => 1_700_000_000_000 + this.wallOffset;
  override monotonic = () => 5_000 + this.monotonicOffset;
}

let host: StillHost;
let memory: TokenMemory;
beforeEach(() => {
  host = new StillHost();
  memory = tokenMemory(host);
});

const token = (accessToken: string, more: Partial<StoredToken> = {}): StoredToken =>
  ({ accessToken, generation: 1, issuedAt: host.now(), expiresAt: host.now() + HOUR, ...more });
const itemWith = (stored: StoredToken | undefined, more: Partial<TokenItem> = {}): TokenItem =>
  ({ base: stored && { generation: stored.generation, issuedAt: stored.issuedAt }, token: stored, ...more });
const lease = (more: Partial<Lease> = {}): Lease => ({ id: 'a', since: host.now(), until: host.now() + 10 * SECOND, holder: '', ...more });
/** A reply to a request that begins now. */
const learn = (item: TokenItem | undefined): void => memory.apply(item, memory.requestStarts());
const commitOf = (accessToken: string, more: Partial<Commit> = {}): Commit => ({
  onlyIf: { base: undefined },
  token: { accessToken, issuedAt: host.now(), expiresAt: host.now() + HOUR },
  refreshToken: undefined,
  refreshMs: 1,
  failure: undefined,
  meta: undefined,
  expireAfter: undefined,
  ...more,
});

describe('replies', () => {
  test('one is applied only if its request began after that of the last one applied', () => {
    const [early, late] = [memory.requestStarts(), memory.requestStarts()];
    memory.apply(itemWith(token('new')), late);
    memory.apply(itemWith(token('old')), early);
    expect(memory.item?.token?.accessToken).toBe('new');
  });

  test('an overtaken one neither takes a token away nor restarts the watch of a lease', () => {
    const [early, late] = [memory.requestStarts(), memory.requestStarts()];
    memory.apply(itemWith(token('new'), { lease: lease({ id: 'b' }) }), late);
    host.pass(3 * SECOND);
    memory.apply(undefined, early);
    memory.apply(itemWith(undefined, { lease: lease({ id: 'a' }) }), early);
    expect(memory.item?.token?.accessToken).toBe('new');
    expect(memory.view().leaseWatchedMs).toBe(3 * SECOND);
  });

  test('in any order of arrival, the reply to the latest request stands in the end', () => {
    for (const order of permutations([1, 2, 3, 4])) {
      const each = tokenMemory(host);
      order.forEach(() => each.requestStarts());
      for (const request of order) each.apply(itemWith(token(`token-${request}`)), request);
      expect(each.item?.token?.accessToken).toBe('token-4');
    }
  });

  test('numbers of requests only ever grow', () => {
    expect([memory.requestStarts(), memory.requestStarts(), memory.requestStarts()]).toEqual([1, 2, 3]);
  });

  test('an item that vanished is gone from memory, too', () => {
    learn(itemWith(token('old')));
    learn(undefined);
    expect(memory.item).toBeUndefined();
  });

  test('a token is news once, however often it is seen; the same string, issued again, is news again', () => {
    const first = itemWith(token('first'));
    learn(first);
    expect([memory.isNews(), memory.markTold(), memory.isNews()]).toEqual([true, undefined, false]);
    learn({ ...first, lease: lease() });
    expect(memory.isNews()).toBe(false);
    learn(itemWith(token('second', { generation: 2 })));
    expect([memory.isNews(), memory.markTold(), memory.isNews()]).toEqual([true, undefined, false]);
    host.pass(60 * SECOND);
    learn(itemWith(token('second', { generation: 3 })));
    expect([memory.isNews(), memory.markTold(), memory.isNews()]).toEqual([true, undefined, false]);
  });
});

describe('the watch of a lease', () => {
  test('begins when the lease is first seen, and runs on while id and until stay', () => {
    const held = lease();
    learn({ lease: held });
    expect(memory.view().leaseWatchedMs).toBe(0);
    host.pass(4 * SECOND);
    learn({ lease: { ...held, holder: 'renamed' } });
    expect(memory.view().leaseWatchedMs).toBe(4 * SECOND);
  });

  test('restarts when `until` moves: the holder renewed it', () => {
    const held = lease();
    learn({ lease: held });
    host.pass(4 * SECOND);
    learn({ lease: { ...held, until: held.until + 1 } });
    expect(memory.view().leaseWatchedMs).toBe(0);
    host.pass(SECOND);
    learn({ lease: { ...held, until: held.until + 1 } });
    expect(memory.view().leaseWatchedMs).toBe(SECOND);
  });

  test('restarts with another lease', () => {
    const held = lease();
    learn({ lease: held });
    host.pass(4 * SECOND);
    learn({ lease: { ...held, id: 'b' } });
    expect(memory.view().leaseWatchedMs).toBe(0);
  });

  test('goes by the monotonic clock alone', () => {
    learn({ lease: lease() });
    host.wallOffset += HOUR;
    expect(memory.view().leaseWatchedMs).toBe(0);
    host.wallOffset -= 2 * HOUR;
    host.monotonicOffset += 7;
    expect(memory.view().leaseWatchedMs).toBe(7);
  });

  test('of a lease that was gone in between begins anew for its successor', () => {
    learn({ lease: lease() });
    host.pass(4 * SECOND);
    learn({});
    learn({ lease: lease({ id: 'b' }) });
    expect(memory.view().leaseWatchedMs).toBe(0);
  });
});

describe('a rejection', () => {
  beforeEach(() => {
    learn(itemWith(token('present', { generation: 7 })));
    host.pass(HOUR / 4);
  });

  test('of the token in memory is noted: this string, this issue, this moment', () => {
    expect(memory.reject('present', host.now())).toBe(true);
    expect(memory.view().rejection).toEqual({ accessToken: 'present', issuedAt: memory.item?.token?.issuedAt, at: host.now() });
  });

  test('a late 401 for another token than the one in memory changes nothing', () => {
    expect(memory.reject('former', host.now())).toBe(false);
    expect(memory.view().rejection).toBeUndefined();
    memory.reject('present', host.now());
    const noted = memory.view().rejection;
    expect(memory.reject('former', host.now() + 1)).toBe(false);
    expect(memory.view().rejection).toBe(noted);
  });

  test('told again counts as the first one did', () => {
    memory.reject('present', host.now());
    const noted = memory.view().rejection;
    host.pass(HOUR);
    expect(memory.reject('present', host.now())).toBe(true);
    expect(memory.view().rejection).toEqual(noted);
  });

  test('of a token younger than five seconds is not believed', () => {
    learn(itemWith(token('young', { generation: 8 })));
    host.pass(5 * SECOND - 1);
    expect(memory.reject('young', host.now())).toBe(false);
    expect(memory.view().rejection).toBeUndefined();
    host.pass(1);
    expect(memory.reject('young', host.now())).toBe(true);
  });

  test('of a token from the future is believed once it was known for the minimum age, by the monotonic clock', () => {
    learn(itemWith(token('ahead', { issuedAt: host.now() + HOUR, expiresAt: host.now() + 2 * HOUR })));
    expect(memory.reject('ahead', host.now())).toBe(false);
    host.monotonicOffset += 5 * SECOND;
    expect(memory.reject('ahead', host.now())).toBe(true);
  });

  test('of the same string, issued again, needs the minimum age again, counted from the new issue', () => {
    memory.reject('present', host.now());
    const former = memory.view().rejection;
    learn(itemWith(token('present', { generation: 8 })));
    host.pass(SECOND);
    expect(memory.reject('present', host.now())).toBe(false);
    expect(memory.view().rejection).toBe(former);
    host.pass(4 * SECOND);
    expect(memory.reject('present', host.now())).toBe(true);
    expect(memory.view().rejection).toEqual({ accessToken: 'present', issuedAt: memory.item?.token?.issuedAt, at: host.now() });
  });

  test('a string that was seen again without a new issue keeps the moment when it was first seen', () => {
    learn(memory.item);
    expect(memory.reject('present', memory.item?.token?.issuedAt ?? 0)).toBe(true);
  });

  test('with no token in memory is noted for every issue up to now', () => {
    learn(undefined);
    expect(memory.reject('stored-elsewhere', host.now())).toBe(true);
    expect(memory.view().rejection).toEqual({ accessToken: 'stored-elsewhere', issuedAt: host.now(), at: host.now() });
    const fresh = tokenMemory(host);
    expect(fresh.reject('stored-elsewhere', 5)).toBe(true);
    expect(fresh.view().rejection).toEqual({ accessToken: 'stored-elsewhere', issuedAt: 5, at: 5 });
  });
});

describe('the storm guard\'s count', () => {
  const known = (earlyRejections: number | undefined, life: number | undefined = HOUR): void => {
    const expiresAt = life === undefined ? undefined : host.now() + life;
    learn(itemWith(token('present', { expiresAt }), { meta: earlyRejections === undefined ? undefined : { earlyRejections } }));
  };

  test('is one more if the token was rejected before half its life', () => {
    known(undefined);
    host.pass(HOUR / 2 - 1);
    memory.reject('present', host.now());
    expect(memory.earlyRejections()).toBe(1);
  });

  test('counts on from the generations before', () => {
    known(3);
    host.pass(41 * SECOND);
    memory.reject('present', host.now());
    expect(memory.earlyRejections()).toBe(4);
  });

  test('starts anew after a token that lived half its life', () => {
    known(3);
    host.pass(HOUR / 2);
    memory.reject('present', host.now());
    expect(memory.earlyRejections()).toBe(0);
  });

  test('starts anew after a token that was not rejected', () => {
    known(3);
    expect(memory.earlyRejections()).toBe(0);
    host.pass(2 * HOUR);
    expect(memory.earlyRejections()).toBe(0);
  });

  test('goes by the moment of the rejection, not of the refresh', () => {
    known(1);
    host.pass(11 * SECOND);
    memory.reject('present', host.now());
    host.pass(HOUR);
    expect(memory.earlyRejections()).toBe(2);
  });

  test('takes a token without an expiry to live 20 minutes', () => {
    known(0, undefined);
    learn(itemWith({ accessToken: 'endless', generation: 2, issuedAt: host.now() }));
    host.pass(600 * SECOND - 1);
    memory.reject('endless', host.now());
    expect(memory.earlyRejections()).toBe(1);
  });

  test('is none without a token, and none for the successor of the rejected one', () => {
    expect(memory.earlyRejections()).toBe(0);
    known(3);
    host.pass(60 * SECOND);
    memory.reject('present', host.now());
    learn(itemWith(token('successor', { generation: 2 }), { meta: { earlyRejections: 4 } }));
    expect(memory.earlyRejections()).toBe(0);
  });

  test('is none for the same string, issued again and not refused again', () => {
    known(0);
    host.pass(60 * SECOND);
    memory.reject('present', host.now());
    host.pass(SECOND);
    learn(itemWith(token('present', { generation: 2 }), { meta: { earlyRejections: 1 } }));
    host.pass(HOUR);
    expect(memory.earlyRejections()).toBe(0);
  });

  test('makes the next rejection wait longer', () => {
    known(2);
    host.pass(20 * SECOND - 1);
    expect(memory.reject('present', host.now())).toBe(false);
    host.pass(1);
    expect(memory.reject('present', host.now())).toBe(true);
  });
});

describe('the moment to refresh ahead', () => {
  test('is drawn once for each token that is seen', () => {
    const draws = [0.25, 0.75, 0.5];
    host.random = () => draws.shift() ?? NaN;
    const first = itemWith(token('first'));
    learn(first);
    expect(memory.view().aheadJitter).toBe(0.25);
    learn({ ...first, lease: lease() });
    expect(memory.view().aheadJitter).toBe(0.25);
    learn(itemWith(token('second', { generation: 2 })));
    expect(memory.view().aheadJitter).toBe(0.75);
    host.pass(SECOND);
    learn(itemWith(token('second', { generation: 3 })));
    expect(memory.view().aheadJitter).toBe(0.5);
  });
});

describe('a token that could not be stored yet', () => {
  test('is in use as if it were: the next generation, without lease and failure, the rest as it was', () => {
    learn(itemWith(token('old', { generation: 7 }), {
      lease: lease(), failure: { code: '503', count: 1, at: 0, retryAt: 0 }, meta: { earlyRejections: 2 }, refreshMs: 300, refreshToken: 'r-1',
    }));
    const commit = commitOf('new');
    memory.applyUnsaved(commit);
    expect(memory.unsaved).toBe(commit);
    expect(memory.item?.token).toEqual({ ...commit.token, generation: 8 });
    expect(memory.item).toMatchObject({ meta: { earlyRejections: 2 }, refreshMs: 300, refreshToken: 'r-1' });
    expect(memory.item?.base?.generation).toBe(7); // what the table holds, and so what a claim asks for
    expect(memory.item?.lease).toBeUndefined();
    expect(memory.item?.failure).toBeUndefined();
  });

  test('stays in use over what the table says, until another token was stored', () => {
    const stored = itemWith(token('old', { generation: 7 }));
    learn(stored);
    const { base } = stored;
    const commit = { ...commitOf('new'), onlyIf: { base } };
    memory.applyUnsaved(commit);
    learn({ ...stored, lease: lease() });
    expect(memory.item?.token?.accessToken).toBe('new');
    expect(memory.item?.lease).toBeDefined();
    learn(undefined); // deleted: it still is the newest there is
    expect(memory.item?.token?.accessToken).toBe('new');
    learn(itemWith(token('another', { generation: 8 })));
    expect(memory.item?.token?.accessToken).toBe('another');
  });

  test('begins at generation 1 where there was none, and counts on where only the token was removed', () => {
    memory.applyUnsaved(commitOf('first'));
    expect(memory.item?.token?.generation).toBe(1);
    learn({ base: { generation: 4, issuedAt: 1 } });
    memory.applyUnsaved(commitOf('next'));
    expect(memory.item?.token?.generation).toBe(5);
  });

  test('keeps its generation over what the table says', () => {
    learn(itemWith(token('old', { generation: 6 })));
    memory.applyUnsaved(commitOf('mine', { onlyIf: { base: memory.item?.base } }));
    expect(memory.item?.token?.generation).toBe(7);
    learn(itemWith(token('old', { generation: 6 })));
    expect(memory.item?.token).toMatchObject({ accessToken: 'mine', generation: 7 });
  });

  test('is not to be rejected before the minimum age, like any other', () => {
    memory.applyUnsaved(commitOf('new'));
    expect(memory.reject('new', host.now())).toBe(false);
    host.pass(5 * SECOND);
    expect(memory.reject('new', host.now())).toBe(true);
  });

  test('is the same token when the table shows it later: nothing new came', () => {
    const commit = commitOf('new');
    memory.applyUnsaved(commit);
    expect(memory.isNews()).toBe(true);
    memory.markTold();
    host.pass(3 * SECOND);
    learn(itemWith({ ...commit.token, generation: 9 }));
    expect(memory.isNews()).toBe(false);
    host.pass(2 * SECOND);
    expect(memory.reject('new', commit.token.issuedAt)).toBe(true);
  });
});

function permutations(values: readonly number[]): number[][] {
  if (values.length < 2) return [[...values]];
  return values.flatMap(value => permutations(values.filter(other => other !== value)).map(rest => [value, ...rest]));
}
