import { createHash } from 'node:crypto';
import { SharedTokenError } from '../../lambda-runtime/errors';
import { RefresherTrouble } from '../../lambda-runtime/refresher-port';
import { Random } from '../../simulation/random';
import { SimulatedTime } from '../support/simulated-process';
import { fresh, simulatedProvider } from '../support/simulated-provider';
import { simulatedRefresher, type SimulatedRefresherOptions } from '../support/simulated-refresher';

/*
 * Rule 13: readers that ask a refresher, to the millisecond. A request to the table takes 10 ms there and back, the way to the refresher 15 ms, and a
 * process' random number is always one half, by which it waits 435 ms before it asks.
 */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const BEFORE_ASKING_MS = 435;
let time: SimulatedTime;
beforeEach(() => {
  time = new SimulatedTime();
});

const stored = (more: object = {}) => ({ accessToken: 'old', generation: 3, issuedAt: time.now - 10 * MINUTE, expiresAt: time.now + 50 * MINUTE, refreshMs: 50, ...more });
const expired = () => ({ accessToken: 'old', generation: 3, issuedAt: time.now - 60 * MINUTE, expiresAt: time.now - MINUTE, refreshMs: 50 });
const leaseOf = (ms: number) => ({ id: 'other', since: time.now, until: time.now + ms, holder: 'other' });
const start = (options: Partial<SimulatedRefresherOptions> = {}) => {
  const provider = simulatedProvider(time, [50, fresh('new')]);
  const refresher = simulatedRefresher(time, { refresh: provider.refresh, ...options });
  const reader = time.process(refresher);
  return { provider, refresher, reader };
};
const FINGERPRINT_OF_OLD = createHash('sha256').update('old').digest('hex').slice(0, 12);

/** A reader that holds the stored token, and whose API refuses it. */
const refused = async ({ reader }: Pick<ReturnType<typeof start>, 'reader'>) => {
  const token = reader.token();
  expect(await time.until(token.get())).toBe('old');
  token.reject('old');
  return token;
};

describe('a reader whose token was refused', () => {
  test('reads, waits a jitter, reads again, and asks', async () => {
    time.put(stored());
    const { provider, refresher, reader } = start();
    const token = await refused({ reader });
    const began = time.passed;
    expect(await time.until(token.get())).toBe('new');
    expect(reader.story()).toEqual(['read', 'adopted', 'rejected', 'read', 'waiting', 'read', 'asked', 'waiting', 'read', 'adopted']);
    expect(refresher.invocations).toMatchObject([{ at: began + 10 + BEFORE_ASKING_MS + 11, how: 'now' }]);
    expect(provider.asked).toHaveLength(1);
  });

  test('looks at once when the answer comes, whenever it had planned to', async () => {
    time.put(stored({ refreshMs: 5 * SECOND }));
    const { reader } = start();
    const token = await refused({ reader });
    const began = time.passed;
    expect(await time.until(token.get())).toBe('new');
    // Two looks before it asks, and one after; in between the way there, three requests to the table, the provider, and the way back.
    expect(time.passed - began).toBe(10 + BEFORE_ASKING_MS + 11 + 15 + 30 + 50 + 15 + 10);
  });

  test('names its generation and a fingerprint, never the token', async () => {
    time.put(stored());
    const { refresher, reader } = start();
    await time.until((await refused({ reader })).get());
    expect(refresher.invocations.map(({ asked }) => asked)).toEqual([{ generation: 3, fingerprint: FINGERPRINT_OF_OLD }]);
    expect(JSON.stringify(refresher.invocations)).not.toContain('old');
  });

  test('asks nobody where the second look shows a lease: it waits for what that brings', async () => {
    const old = stored();
    time.put(old);
    const { refresher, reader } = start();
    const token = await refused({ reader });
    time.after(100, () => time.put({ ...old, lease: leaseOf(12 * SECOND) }));
    time.after(600, () => time.put({ ...old, accessToken: 'of another', generation: 4, issuedAt: time.now }));
    expect(await time.until(token.get())).toBe('of another');
    expect(refresher.invocations).toEqual([]);
  });

  test('whose refresher died asks when that one\'s lease is over for others, too: the first ask helps', async () => {
    const old = stored();
    time.put(old);
    const { refresher, reader } = start();
    const token = await refused({ reader });
    time.put({ ...old, lease: leaseOf(3 * SECOND) });
    expect(await time.until(token.get())).toBe('new');
    expect(refresher.invocations).toHaveLength(1);
  });

  test.each([['waits for its moment to ask', false, 1], ['waits for another\'s lease', true, 0]])('loads what asking takes while it %s', async (_, isLeased, loads) => {
    const old = stored();
    time.put(old);
    let loaded = 0;
    const reader = time.process({ prepare: () => { loaded++; }, ask: async () => new Promise(() => undefined) });
    const token = await refused({ reader });
    if (isLeased) time.put({ ...old, lease: leaseOf(12 * SECOND) });
    await time.errorOf(token.get({ timeoutMs: 300 }));
    expect(loaded).toBe(loads);
  });

  test('asks nobody during a cool-down, and fails with the time of the next try', async () => {
    const old = stored();
    time.put(old);
    const { refresher, reader } = start();
    const token = await refused({ reader });
    const retryAt = time.now + MINUTE;
    time.put({ ...old, failure: { code: 'down', count: 1, at: time.now, retryAt } });
    expect(await time.errorOf(token.get())).toMatchObject({ code: 'COOLING_DOWN', retryAt });
    expect(refresher.invocations).toEqual([]);
  });

  test('is not held up by a failure that nobody needed, nor is the refresher', async () => {
    const old = stored();
    time.put(old);
    const { reader } = start();
    const token = await refused({ reader });
    time.put({ ...old, failure: { code: 'down', count: 1, at: time.now, retryAt: time.now + MINUTE, forced: true } });
    expect(await time.until(token.get())).toBe('new');
  });

  test('a token that was replaced meanwhile costs one read, and asks nobody', async () => {
    time.put(stored());
    const { refresher, reader } = start();
    const token = await refused({ reader });
    time.put({ ...stored(), accessToken: 'of another', generation: 4, issuedAt: time.now });
    expect(await time.until(token.get())).toBe('of another');
    expect(refresher.invocations).toEqual([]);
  });

  test('all callers of a process ask once', async () => {
    time.put(stored());
    const { refresher, reader } = start();
    const token = await refused({ reader });
    expect(new Set(await time.until(Promise.all(Array.from({ length: 100 }, async () => token.get()))))).toEqual(new Set(['new']));
    expect(refresher.invocations).toHaveLength(1);
  });
});

describe('a reader', () => {
  test('that finds no item asks for a first token', async () => {
    const { refresher, reader } = start();
    expect(await time.until(reader.token().get())).toBe('new');
    expect(refresher.invocations).toMatchObject([{ asked: {}, how: 'now' }]);
  });

  test('whose token has expired asks, and names none: it was not refused', async () => {
    time.put(expired());
    const { refresher, reader } = start();
    expect(await time.until(reader.token().get())).toBe('new');
    expect(refresher.invocations).toMatchObject([{ asked: {}, how: 'now' }]);
  });

  test('that can refresh itself asks nobody', async () => {
    const { refresher, reader } = start();
    expect(await time.until(reader.token({ refresh: async () => fresh('own') }).get())).toBe('own');
    expect(refresher.invocations).toEqual([]);
  });

  test('without a refresher looks for two seconds, then says that it only reads', async () => {
    expect(await time.errorOf(time.process().token().get())).toMatchObject({ code: 'NO_USABLE_TOKEN' });
    expect(time.passed).toBeGreaterThanOrEqual(2 * SECOND);
    expect(time.passed).toBeLessThan(2.2 * SECOND);
  });

  test('in the window before the expiry hands in that a successor is needed, and goes on with its token', async () => {
    time.put(stored({ issuedAt: time.now - 59 * MINUTE, expiresAt: time.now + 45 * SECOND }));
    const { refresher, provider, reader } = start();
    const token = reader.token();
    expect(await time.until(token.get())).toBe('old');
    expect(refresher.invocations).toMatchObject([{ asked: {}, how: 'ahead' }]);
    await time.pass(200);
    expect(await time.until(token.get())).toBe('old'); // its pause is not over
    expect(time.item()).toMatchObject({ accessToken: 'new' });
    await time.pass(15 * SECOND);
    expect(await time.until(token.get())).toBe('new');
    expect(refresher.invocations).toHaveLength(1);
    expect(provider.asked).toHaveLength(1);
  });

  test('does not fail where that cannot be handed in', async () => {
    time.put(stored({ issuedAt: time.now - 59 * MINUTE, expiresAt: time.now + 45 * SECOND }));
    const { reader } = start({ trouble: () => new SharedTokenError('ACCESS_DENIED', 'no') });
    expect(await time.until(reader.token().get())).toBe('old');
  });
});

describe('a refresher that does not help', () => {
  const ended = async (trouble: Error | undefined, timeoutMs = 60 * SECOND) => {
    const { refresher, reader } = start({ trouble: () => trouble });
    return { error: await time.errorOf(reader.token().get({ timeoutMs })), asks: refresher.invocations.length };
  };

  test('is not asked again where this function may not ask: ACCESS_DENIED', async () => {
    expect(await ended(new SharedTokenError('ACCESS_DENIED', 'may not be invoked'))).toMatchObject({ error: { code: 'ACCESS_DENIED' }, asks: 1 });
  });

  test.each([
    ['its own', new SharedTokenError('ACCESS_DENIED', 'may not be invoked'), 'ACCESS_DENIED'],
    ['another', new RefresherTrouble('not asked', 'TooManyRequestsException: Rate exceeded'), 'REFRESHER_FAILED'],
  ])('is told of by an event, with %s code', async (_, trouble, code) => {
    time.put(stored());
    const { reader } = start({ trouble: () => trouble });
    const token = await refused({ reader });
    await time.errorOf(token.get({ timeoutMs: 600 }));
    expect(reader.events.filter(({ type }) => type === 'asked')).toMatchObject([{ generation: 3 }, { generation: 3, code }]);
    expect(reader.events.filter(event => event.type === 'asked' && event.code !== undefined)).toHaveLength(1);
  });

  test('is told of by no event once everyone has left', async () => {
    const { reader } = start({ trouble: () => new RefresherTrouble('failed', 'failed (Unhandled): see its log') });
    await time.errorOf(reader.token().get({ timeoutMs: 10 + BEFORE_ASKING_MS + 11 + 5 }));
    await time.pass(SECOND);
    expect(reader.events.filter(({ type }) => type === 'asked')).toEqual([expect.not.objectContaining({ code: expect.anything() as unknown })]);
  });

  test('for as long as it takes to see that an answer is lost, is asked again', async () => {
    const reader = time.process({ ask: async () => new Promise(() => undefined) });
    const error = await time.errorOf(reader.token().get({ timeoutMs: 45 * SECOND }));
    expect(error).toMatchObject({ code: 'DEADLINE_EXCEEDED', message: expect.stringContaining('the refresher could not be asked (no answer in time)') as string });
    expect(reader.events.filter(event => event.type === 'asked' && event.code === undefined).length).toBeGreaterThan(3);
  });

  test('that failed is what a call is told that ends before it is given up', async () => {
    const { error, asks } = await ended(new RefresherTrouble('failed', 'failed (Unhandled): see its log'), 800);
    expect(error).toMatchObject({ code: 'DEADLINE_EXCEEDED', message: expect.stringContaining('before the deadline: the refresher failed (Unhandled): see its log') as string });
    expect(asks).toBe(1);
  });

  test('is given three more tries where somebody is seen to refresh in between', async () => {
    let asks = 0;
    const { reader } = start({
      trouble: () => {
        if (++asks === 2) time.put({ lease: leaseOf(3 * SECOND) }); // and dies
        return new RefresherTrouble('failed', 'failed (Unhandled): see its log');
      },
    });
    expect(await time.errorOf(reader.token().get({ timeoutMs: 60 * SECOND }))).toMatchObject({ code: 'REFRESHER_FAILED' });
    expect(asks).toBe(2 + 3);
  });

  test('and fails before it can note why, is asked three times: REFRESHER_FAILED', async () => {
    expect(await ended(new RefresherTrouble('failed', 'failed (Unhandled): see its log'))).toMatchObject({
      error: { code: 'REFRESHER_FAILED', message: expect.stringContaining('the refresher failed (Unhandled): see its log. It was asked 3 times') as string }, asks: 3,
    });
  });

  test('and has no capacity is asked again, ever later, until the deadline, whose error says so', async () => {
    const { error, asks } = await ended(new RefresherTrouble('not asked', 'TooManyRequestsException: Rate exceeded'));
    expect(error).toMatchObject({ code: 'DEADLINE_EXCEEDED', message: expect.stringContaining('the refresher could not be asked (TooManyRequestsException') as string });
    expect(asks).toBeGreaterThan(5);
    expect(asks).toBeLessThan(12);
  });

  test('is left alone for a while by the whole process, whose calls fail at once', async () => {
    const { refresher, reader } = start({ trouble: () => new RefresherTrouble('failed', 'failed (Unhandled): see its log') });
    const token = reader.token();
    await time.errorOf(token.get());
    const began = time.passed;
    expect(await time.errorOf(token.get())).toMatchObject({ code: 'REFRESHER_FAILED' });
    expect(time.passed - began).toBeLessThan(50);
    expect(refresher.invocations).toHaveLength(3);
    await time.pass(15 * SECOND);
    await time.errorOf(token.get());
    expect(refresher.invocations).toHaveLength(6);
  });

  test('and has not answered by the deadline: the error says so', async () => {
    const reader = time.process({ ask: async () => new Promise(() => undefined) });
    const error = await time.errorOf(reader.token().get({ timeoutMs: 3 * SECOND }));
    expect(error).toMatchObject({ code: 'DEADLINE_EXCEEDED', message: expect.stringContaining('has not answered yet') as string });
  });

  test('and finds nothing to do is asked three times: NO_USABLE_TOKEN', async () => {
    time.put(stored());
    const reader = time.process({ ask: async () => time.sleep(30) });
    const token = await refused({ reader });
    expect(await time.errorOf(token.get())).toMatchObject({ code: 'NO_USABLE_TOKEN', message: expect.stringContaining('no new token is in the table') as string });
    expect(reader.story().filter(type => type === 'asked')).toHaveLength(3);
  });

  test('or whose answer is lost: the token is found in the table all the same', async () => {
    const { refresh } = simulatedProvider(time, [50, fresh('new')]);
    const working = simulatedRefresher(time, { refresh });
    const reader = time.process({
      ask: async (...request) => {
        await working.ask(...request);
        return new Promise(() => undefined);
      },
    });
    expect(await time.until(reader.token().get())).toBe('new');
    expect(time.passed).toBeLessThan(SECOND);
  });

  test('what it noted in the table is what readers are told', async () => {
    const { refresh } = simulatedProvider(time, [50, Object.assign(new Error('no'), { code: 'invalid_client' })]);
    const { reader } = start({ refresh });
    expect(await time.errorOf(reader.token().get())).toMatchObject({ code: 'COOLING_DOWN', message: expect.stringContaining('invalid_client') as string });
  });
});

describe('a refresher that is asked', () => {
  const refresherOf = (process = time.process()) => {
    const provider = simulatedProvider(time, [50, fresh('new')]);
    return { provider, token: process.token({ refresh: provider.refresh }) };
  };
  const asked = { generation: 3, fingerprint: FINGERPRINT_OF_OLD };

  test.each([
    ['refreshes the token that a reader names', asked, true],
    ['leaves alone one that replaced it', { generation: 2, fingerprint: FINGERPRINT_OF_OLD }, false],
    ['leaves alone one of another string', { generation: 3, fingerprint: '000000000000' }, false],
    ['leaves alone one that nobody names', {}, false],
  ])('%s', async (_, ask, expected) => {
    time.put(stored());
    const { token, provider } = refresherOf();
    expect(await time.until(token.refresh({ asked: ask }))).toBe(expected);
    expect(provider.asked).toHaveLength(expected ? 1 : 0);
  });

  test('refreshes what is about to expire, has expired, or is not there', async () => {
    for (const item of [stored({ issuedAt: time.now - 59 * MINUTE, expiresAt: time.now + MINUTE }), expired(), {}]) {
      time.put(item);
      expect(await time.until(refresherOf().token.refresh({ asked: {} }))).toBe(true);
    }
  });

  test('reads first: what its memory holds may have been replaced, and the successor refused', async () => {
    time.put(stored({ accessToken: 'older', generation: 2 }));
    const process = time.process();
    const { token, provider } = refresherOf(process);
    expect(await time.until(token.get())).toBe('older');
    time.put(stored());
    expect(await time.until(token.refresh({ asked }))).toBe(true);
    expect(provider.asked).toHaveLength(1);
  });

  test('cannot be made to go beyond the storm guard: a token too young is not given up, and the age doubles', async () => {
    time.put(stored());
    const provider = simulatedProvider(time, [50, fresh('new')]);
    const token = time.process().token({ refresh: provider.refresh });
    for (const endsAt = time.passed + MINUTE; time.passed < endsAt;) {
      const { generation, accessToken } = time.item() as { generation: number; accessToken: string };
      const fingerprint = createHash('sha256').update(accessToken).digest('hex').slice(0, 12);
      await time.until(token.refresh({ asked: { generation, fingerprint } }).catch(() => false));
      await time.pass(100);
    }
    expect(provider.asked.length).toBeLessThanOrEqual(4);
  });

  test.each([[{ generation: 3 }], [{ fingerprint: 'abc' }], ['crm'], [null]])('refuses %j, which no reader says', async malformed => {
    await expect(refresherOf().token.refresh({ asked: malformed as object })).rejects.toMatchObject({ code: 'INVALID_OPTION' });
  });
});

describe('a token of another source', () => {
  const LONG_AGO = new Date('2000-01-01');
  const refreshing = (source: string, name: string) => {
    const provider = simulatedProvider(time, [50, fresh(name)]);
    return { provider, token: time.process().token({ refresh: provider.refresh, source }) };
  };

  test('is due, and once: what replaces it names its source', async () => {
    time.put(stored({ meta: { source: 'first' } }));
    expect(await time.until(refreshing('first', 'needless').token.refresh({ since: LONG_AGO }))).toBe(false);
    expect(await time.until(refreshing('second', 'new').token.refresh({ since: LONG_AGO }))).toBe(true);
    expect(time.item()).toMatchObject({ accessToken: 'new', meta: { source: 'second' } });
    await time.pass(5 * SECOND);
    expect(await time.until(refreshing('second', 'needless').token.refresh({ since: LONG_AGO }))).toBe(false);
  });

  test('is used all the same until it is replaced', async () => {
    time.put(stored({ meta: { source: 'first' } }));
    expect(await time.until(refreshing('second', 'new').token.get())).toBe('old');
  });

  test('whose successor is being fetched is left to whoever fetches it', async () => {
    time.put(stored({ meta: { source: 'first' }, lease: leaseOf(10 * SECOND) }));
    expect(await time.until(refreshing('second', 'new').token.refresh({ since: LONG_AGO }))).toBe(false);
  });

  test.each([
    ['another provider is neither passed on nor kept', 'other.example#scope', undefined, undefined],
    ['the same provider is, whatever else has changed', 'auth.example#other', 'stored', 'stored'],
  ])('a refresh token of %s', async (_, storedSource, passed, kept) => {
    time.put(stored({ meta: { source: storedSource }, refreshToken: 'stored' }));
    const { token, provider } = refreshing('auth.example#scope', 'new');
    expect(await time.until(token.refresh({ since: LONG_AGO }))).toBe(true);
    expect(provider.asked[0]?.request.refreshToken).toBe(passed);
    expect(time.item()?.refreshToken).toBe(kept);
  });
});

describe('200 readers whose token is revoked', () => {
  const revoke = async (seed: number, isWarm: boolean) => {
    time = new SimulatedTime();
    time.put(stored());
    const { provider, refresher } = start({ isWarm });
    const random = new Random(seed);
    const readers = await Promise.all(Array.from({ length: 200 }, async () => {
      const process = time.process(refresher);
      const token = process.token();
      await time.until(token.get());
      process.random = random.next();
      return token;
    }));
    const began = time.passed;
    const answers = readers.map(async token => {
      await time.sleep(random.between(0, 20));
      token.reject('old');
      return token.get();
    });
    expect(new Set(await time.until(Promise.all(answers)))).toEqual(new Set(['new']));
    return { authCalls: provider.asked.length, invocations: refresher.invocations.length, ms: time.passed - began };
  };

  test('make one auth call and at most ten invocations of a warm refresher', async () => {
    for (let seed = 1; seed <= 20; seed++) {
      const { authCalls, invocations } = await revoke(seed, true);
      expect(authCalls).toBe(1);
      expect(invocations).toBeLessThanOrEqual(10);
    }
  });

  test('make one auth call also where its first environment has to be started', async () => {
    expect(await revoke(1, false)).toMatchObject({ authCalls: 1 });
  });
});
