import { SharedTokenError } from '../../lambda-runtime/errors';
import { tokenError } from '../../lambda-runtime/token-error';
import { TableTrouble } from '../../lambda-runtime/token-store';
import { SimulatedTime } from '../support/simulated-process';

/*
 * Requests to the table, to the millisecond: each takes 10 ms there and back, and the host's random number is always one half.
 */

const HOUR = 3_600_000;
let time: SimulatedTime;
beforeEach(() => { time = new SimulatedTime(); });

const storeToken = () => time.put({ accessToken: 'old', generation: 3, issuedAt: time.now - HOUR / 2, expiresAt: time.now + HOUR / 2 });
const moments = () => time.requests.map(({ at }) => at);

test('a request without an answer is sent again: after a second, then two, then four, and a pause that grows', async () => {
  storeToken();
  time.faults = ({ at }) => at < 7_000 ? 'request vanishes' : undefined;
  expect(await time.until(time.process().token().get())).toBe('old');
  expect(moments()).toEqual([0, 1_038, 3_113, 7_263]);
});

test('one that meets trouble at once is sent again after the pause', async () => {
  storeToken();
  time.faults = ({ at }) => at < 200 ? 'request lost' : undefined;
  expect(await time.until(time.process().token().get())).toBe('old');
  expect(moments()).toEqual([0, 48, 133, 293]);
});

test.each([
  ['request lost', 'could not be reached'],
  ['throttled', 'throttled every request'],
] as const)('%s until the deadline: an error that says so, no later than that', async (fault, words) => {
  time.faults = () => fault;
  const error = await time.errorOf(time.process().token().get({ timeoutMs: 1_500 }));
  expect(error).toMatchObject({ name: 'SharedTokenError', code: 'TABLE_UNAVAILABLE', tokenId: 'crm', message: expect.stringContaining(words) });
  const trouble = (error as SharedTokenError).original();
  expect(trouble).toBeInstanceOf(TableTrouble);
  expect(trouble).toMatchObject({ throttled: fault === 'throttled', message: fault === 'throttled' ? 'The table throttles' : 'The table could not be reached' });
  expect(time.passed).toBeLessThanOrEqual(1_500);
  expect(time.passed).toBeGreaterThan(1_000);
});

test('the last attempt ends with the call', async () => {
  time.faults = () => 'request vanishes';
  expect(await time.errorOf(time.process().token().get({ timeoutMs: 1_500 }))).toMatchObject({ code: 'TABLE_UNAVAILABLE' });
  expect(moments()).toEqual([0, 1_038]);
  expect(time.passed).toBe(1_500);
});

test('no request is begun that could only start after the deadline', async () => {
  time.faults = () => 'request lost';
  expect(await time.errorOf(time.process().token().get({ timeoutMs: 47.5 }))).toMatchObject({ code: 'TABLE_UNAVAILABLE' });
  expect(moments()).toEqual([0]);
  expect(time.passed).toBeLessThanOrEqual(48);
});

test.each([
  ['a freeze that leaves the reply within its limit and 250 ms', 1_240, 1_240, 1],
  ['a freeze that does not', 1_241, 1_241, 2],
  ['a freeze of which the monotonic clock missed a part', 1_245, 1_235, 2],
  ['a freeze that only the wall clock noticed', 1_300, 0, 2],
  ['a wall clock set by 250 ms', 250, 0, 1],
  ['a wall clock set by more', 251, 0, 2],
  ['a wall clock set back by 250 ms', -250, 0, 1],
  ['a wall clock set back by more', -251, 0, 2],
])('%s: its reply counts as lost or not', async (_, wallMs, monotonicMs, requests) => {
  storeToken();
  const process = time.process();
  time.after(3, () => {
    process.wallOffset += wallMs;
    process.monotonicOffset += monotonicMs;
  });
  expect(await time.until(process.token().get())).toBe('old');
  expect(time.requests).toHaveLength(requests);
});

test('trouble that is over is not what a call fails with', async () => {
  time.put({ lease: { id: 'other', since: time.now, until: time.now + 12_000, holder: 'other' } });
  time.faults = ({ at }) => at === 0 ? 'request lost' : undefined;
  expect(await time.errorOf(time.process().token().get({ timeoutMs: 900 }))).toMatchObject({ code: 'DEADLINE_EXCEEDED' });
});

describe('a call whose deadline comes in the middle of a request ends with the error that says so', () => {
  const refresh = async () => Promise.reject(new Error('not asked here'));
  beforeEach(() => time.put({ lease: { id: 'other', since: time.now, until: time.now + 12_000, holder: 'other' } }));

  test.each([
    ['less than half a second', 499, 'DEADLINE_EXCEEDED'],
    ['half a second', 500, 'TABLE_UNAVAILABLE'],
  ])('a table that did not answer for %s', async (_, timeoutMs, code) => {
    time.faults = () => 'request vanishes';
    expect(await time.errorOf(time.process().token({ refresh }).refresh({ timeoutMs }))).toMatchObject({ code });
  });

  test('and for half a second in all, in calls that each leave it too little', async () => {
    const token = time.process().token({ refresh });
    time.faults = ({ at }) => at === 1_000 ? undefined : 'request vanishes';
    const codeOf = async (timeoutMs: number) => (await time.errorOf(token.refresh({ timeoutMs })) as SharedTokenError).code;
    expect([await codeOf(250), await codeOf(249)]).toEqual(['DEADLINE_EXCEEDED', 'DEADLINE_EXCEEDED']);
    expect(await codeOf(1)).toBe('TABLE_UNAVAILABLE');
    await time.pass(500);
    expect(await time.until(token.refresh({ timeoutMs: 100 }))).toBe(false); // it answers
    expect(await codeOf(499)).toBe('DEADLINE_EXCEEDED');
  });

  test('a freeze is no time that the table was given', async () => {
    const process = time.process();
    time.faults = () => {
      time.after(3, () => process.freeze(5_000));
      return 'request vanishes';
    };
    const token = process.token({ refresh });
    expect(await time.errorOf(token.refresh({ timeoutMs: 900 }))).toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    time.faults = () => 'request vanishes';
    expect(await time.errorOf(token.refresh({ timeoutMs: 100 }))).toMatchObject({ code: 'DEADLINE_EXCEEDED' });
  });

  test('who refreshes is told', async () => {
    time.faults = ({ at }) => at > 0 ? 'request vanishes' : undefined;
    expect(await time.errorOf(time.process().token().get({ timeoutMs: 400 }))).toMatchObject({
      code: 'DEADLINE_EXCEEDED', message: expect.stringContaining('other is refreshing it'),
    });
    expect(time.requests).toHaveLength(2);
  });

  test('not where the table refused before', async () => {
    time.faults = ({ at }) => at === 0 ? 'request lost' : 'request vanishes';
    expect(await time.errorOf(time.process().token({ refresh }).refresh({ timeoutMs: 200 }))).toMatchObject({ code: 'TABLE_UNAVAILABLE' });
    expect(time.requests).toHaveLength(2);
  });

  test.each([
    ['no answer comes', 'request vanishes'],
    ['the answer was there', undefined],
    ['the connection broke', 'reply lost'],
  ] as const)('frozen in it, beyond the deadline, where %s', async (_, fault) => {
    const process = time.process();
    time.faults = () => {
      time.after(3, () => process.freeze(5_000));
      return fault;
    };
    expect(await time.errorOf(process.token().get({ timeoutMs: 900 }))).toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    expect(time.requests).toHaveLength(1);
  });

  test.each([[250, 'TABLE_UNAVAILABLE'], [251, 'DEADLINE_EXCEEDED']])('%i ms beyond it, the process counts as frozen or not', async (ms, code) => {
    const process = time.process();
    time.faults = () => {
      time.after(3, () => process.freeze(ms));
      return 'request vanishes';
    };
    expect(await time.errorOf(process.token({ refresh }).refresh({ timeoutMs: 900 }))).toMatchObject({ code });
  });
});

describe('a call whose deadline comes in the middle of a request is told what came before:', () => {
  test('a refresher that was asked', async () => {
    let asked = 0;
    const process = time.process({ ask: async () => new Promise<void>(() => { asked = time.passed; }) });
    time.faults = () => {
      if (asked > 0) time.after(3, () => process.freeze(5_000));
      return undefined;
    };
    expect(await time.errorOf(process.token().get({ timeoutMs: 700 }))).toMatchObject({
      code: 'DEADLINE_EXCEEDED',
      message: expect.stringContaining('the refresher was asked, and has not answered yet'),
      cause: expect.objectContaining({ cause: expect.objectContaining({ message: expect.stringContaining('A freeze') }) }),
    });
    expect(asked).toBeGreaterThan(0);
  });

  test('a refresh of its own that failed', async () => {
    const process = time.process();
    const refresh = async () => Promise.reject(new Error('down'));
    time.faults = ({ at }) => {
      if (at > 500) time.after(3, () => process.freeze(5_000));
      return undefined;
    };
    expect(await time.errorOf(process.token({ refresh }).get({ timeoutMs: 1_300 }))).toMatchObject({
      code: 'DEADLINE_EXCEEDED', cause: expect.objectContaining({ code: 'REFRESH_FAILED' }),
    });
    expect(time.operations()).toEqual(['read', 'claim', 'release', 'read']);
  });

  test('and what refresh threw is not taken for trouble with this table', async () => {
    const elsewhere = tokenError('crm', 'TABLE_UNAVAILABLE', 'another table.'); // as a token of this name in it throws
    const token = time.process().token({ refresh: async () => Promise.reject(elsewhere) });
    expect(await time.errorOf(token.refresh({ timeoutMs: 5_000 }))).toMatchObject({ code: 'TABLE_UNAVAILABLE', message: elsewhere.message });
  });

  test('but not of trouble in a call before', async () => {
    const process = time.process();
    const token = process.token();
    time.faults = () => 'request lost';
    expect(await time.errorOf(token.get({ timeoutMs: 100 }))).toMatchObject({ code: 'TABLE_UNAVAILABLE' });
    time.faults = () => {
      time.after(3, () => process.freeze(5_000));
      return undefined;
    };
    expect(await time.errorOf(token.get({ timeoutMs: 900 }))).toMatchObject({ code: 'DEADLINE_EXCEEDED' });
  });
});

test('an error that trying again cannot cure ends it at once', async () => {
  const denied = new SharedTokenError('ACCESS_DENIED', 'no grant');
  time.faults = () => denied;
  expect(await time.errorOf(time.process().token().get())).toBe(denied);
  expect(time.requests).toHaveLength(1);
});

test('when everyone has left, nothing is sent again', async () => {
  const leave = new AbortController();
  time.faults = () => 'request lost';
  const call = time.process().token().get({ signal: leave.signal });
  time.after(20, () => leave.abort(new Error('enough')));
  expect(await time.errorOf(call)).toMatchObject({ code: 'ABORTED', tokenId: 'crm', cause: new Error('enough') });
  await time.pass(5_000);
  expect(time.requests).toHaveLength(1);
});

test.each(['reply vanishes', 'a freeze'])('a claim in doubt (%s) is sent again, though the table throttles meanwhile: only that tells whose the lease is', async doubt => {
  const process = time.process();
  let claims = 0;
  time.faults = ({ operation }) => {
    if (operation !== 'claim') return undefined;
    if (++claims === 1 && doubt === 'a freeze') time.after(3, () => process.freeze(1_300));
    return claims === 2 ? 'throttled' : claims === 1 && doubt !== 'a freeze' ? 'reply vanishes' : undefined;
  };
  const refresh = async () => ({ accessToken: 'new', expiresIn: 3_600 });
  expect(await time.until(process.token({ refresh }).get())).toBe('new');
  expect(time.operations()).toEqual(['read', 'claim', 'claim', 'claim', 'commit']);
});

test('what was read is told with its generation', async () => {
  storeToken();
  const process = time.process();
  await time.until(process.token().get());
  expect(process.events).toEqual([
    { type: 'read', tokenId: 'crm', at: time.now, generation: 3 },
    { type: 'adopted', tokenId: 'crm', at: time.now, generation: 3 },
  ]);
});

test('the reply to a request that was given up is not applied', async () => {
  storeToken();
  const process = time.process();
  const token = process.token();
  // Given up after 1 s; it reaches the table at 1,205 ms, when another token stands there.
  time.faults = ({ at }) => at === 0 ? { slowMs: 1_200 } : undefined;
  time.after(1_100, () => time.put({ ...time.item(), accessToken: 'other', generation: 4 }));
  expect(await time.until(token.get())).toBe('old');
  await time.pass(500);
  expect(await time.until(token.get())).toBe('old');
  expect(time.operations()).toEqual(['read', 'read']);
  expect(process.story()).toEqual(['read', 'adopted']);
});
