import { callLimitMs, checkCall, checkCallOptions, checkTokenId, checkTokenOptions, holderName, refresherOf, sinceOf, tableOf } from '../../lambda-runtime/config';
import { SharedTokenError } from '../../lambda-runtime/errors';
import type { CallOptions, SharedTokenOptions } from '../../lambda-runtime/public-types';
import { ENV, TOKEN_ID_MAX_BYTES } from '../../src/private/contract';

const SENTINEL = 'sentinel-9f2c';
const NAMES = [ENV.TABLE, ENV.FUNCTION_TIMEOUT_MS, 'AWS_LAMBDA_FUNCTION_NAME'];
const before = NAMES.map(name => [name, process.env[name]] as const);
const clear = (): void => NAMES.forEach(name => { delete process.env[name]; });
beforeEach(clear);
afterAll(() => {
  clear();
  for (const [name, value] of before) if (value !== undefined) process.env[name] = value;
});

const errorOf = (check: () => unknown): SharedTokenError => {
  try {
    check();
  } catch (error) {
    if (error instanceof SharedTokenError) return error;
    throw error;
  }
  throw new Error('Expected a refusal');
};
const contextWith = (remainingMs: number) => ({ getRemainingTimeInMillis: () => remainingMs });

describe('a token id', () => {
  test('is a string of 1 to 2,048 bytes of UTF-8', () => {
    expect(TOKEN_ID_MAX_BYTES).toBe(2048);
    const ids = ['a', ' ', '0', '__proto__', 'a'.repeat(2048), 'é'.repeat(1024), '😀'.repeat(512)];
    for (const id of ids) expect(() => checkTokenId(id)).not.toThrow();
  });

  test.each([
    ['2,049 letters', 'a'.repeat(2049)],
    ['1,024 letters of two bytes and one more', 'é'.repeat(1024) + 'a'],
    ['513 letters of four bytes', '😀'.repeat(513)],
  ])('of %s is too long, and the error says how long it is', (_, id) => {
    const error = errorOf(() => checkTokenId(id));
    expect(error.code).toBe('INVALID_TOKEN_ID');
    expect(error.message).toContain(`got one of ${Buffer.byteLength(id)} bytes`);
    expect(error.message.length).toBeLessThan(200);
  });

  test.each([
    ['empty', '', 'got one of 0 bytes'],
    ['a number', 42, '42'],
    ['undefined', undefined, 'undefined'],
    ['null', null, 'null'],
    ['a symbol', Symbol('x'), 'got'],
    ['an object', {}, 'an object'],
    ['an array', ['crm'], 'an object'],
    ['an object without a prototype', Object.create(null), 'got'],
  ])('that is %s is refused', (_, id, got) => {
    const error = errorOf(() => checkTokenId(id));
    expect(error.code).toBe('INVALID_TOKEN_ID');
    expect(error.message).toContain('1 to 2048 bytes');
    expect(error.message).toContain(got);
  });
});

describe('the options of a token', () => {
  const check = (options: unknown) => () => checkTokenOptions('crm', options as SharedTokenOptions);
  const refusal = (options: unknown): SharedTokenError => {
    const error = errorOf(check(options));
    expect(error).toMatchObject({ code: 'INVALID_OPTION', tokenId: 'crm' });
    expect(error.message).toContain('"crm"');
    return error;
  };

  test('all are optional, and undefined is as good as absent', () => {
    expect(check({})).not.toThrow();
    const names = ['refresh', 'refresher', 'source', 'table', 'authLimitMs', 'onEvent'];
    expect(check(Object.fromEntries(names.map(name => [name, undefined])))).not.toThrow();
    const refresh = async () => ({ accessToken: 'a' });
    const others = { refresher: 'refresh-crm', source: 'crm#1', table: 'Tokens', authLimitMs: 5_000, onEvent: () => undefined };
    expect(check({ refresh, ...others })).not.toThrow();
  });

  test.each([[{ refresher: '' }, 'refresher'], [{ refresher: 7 }, 'refresher'], [{ source: {} }, 'source']])('%j is refused', (options, name) => {
    expect(refusal(options).message).toContain(`"${name}"`);
  });

  test.each(['tabel', 'timeoutMs', 'constructor', 'toString'])('an unknown option "%s" is refused, and the known ones are named', name => {
    const { message } = refusal({ [name]: SENTINEL });
    expect(message).toContain(`"${name}"`);
    expect(message).toContain('refresh, refresher, source, table, authLimitMs, onEvent');
    expect(message).not.toContain(SENTINEL);
  });

  test('a key named __proto__ is an unknown option like any other', () => {
    expect(refusal(JSON.parse('{"__proto__": 1}')).message).toContain('"__proto__"');
  });

  test('an unknown option is refused even where it is undefined: it is a slip of the pen', () => {
    expect(refusal({ tabel: undefined }).message).toContain('"tabel"');
  });

  test.each([
    ['refresh', [null, 'fn', {}, 1], 'a function'],
    ['onEvent', [null, 'fn', {}, 1], 'a function'],
    ['table', [null, '', 1, {}], 'the name or ARN of a table'],
    ['authLimitMs', [null, 0, -1, NaN, Infinity, '5000', {}], 'a number of milliseconds above zero'],
  ])('"%s" says what it must be, and never what it was', (name, values, expected) => {
    for (const value of values) expect(refusal({ [name]: value }).message).toContain(`"${name}" must be ${expected}`);
    expect(refusal({ [name]: [SENTINEL] }).message).not.toContain(SENTINEL);
  });

  test.each([null, 'options', 42, true, () => undefined])('%p is no object of options', options => {
    expect(refusal(options).message).toContain('not an object');
  });
});

describe('the options of a call', () => {
  const check = (options: unknown) => () => checkCallOptions('crm', options as CallOptions);

  test('may be a context, a signal, a timeout, and a test for rejections', () => {
    expect(check({})).not.toThrow();
    expect(check({ context: undefined, signal: undefined, timeoutMs: undefined, isRejection: undefined })).not.toThrow();
    expect(check({ context: contextWith(1), signal: new AbortController().signal, timeoutMs: 1, isRejection: () => false })).not.toThrow();
  });

  test.each([
    ['context', [null, {}, 'context', 1, { getRemainingTimeInMillis: 3000 }], 'the context of a Lambda invocation'],
    ['signal', [null, {}, new AbortController(), { aborted: false }], 'an AbortSignal'],
    ['timeoutMs', [null, 0, -1, NaN, Infinity, '100'], 'a number of milliseconds above zero'],
    ['isRejection', [null, {}, 401], 'a function'],
  ])('"%s" says what it must be', (name, values, expected) => {
    for (const value of values) {
      const error = errorOf(check({ [name]: value }));
      expect(error).toMatchObject({ code: 'INVALID_OPTION', tokenId: 'crm' });
      expect(error.message).toContain(`"${name}" must be ${expected}`);
    }
  });

  test('an unknown one is refused, and the known ones are named', () => {
    expect(errorOf(check({ timeout: 5 })).message).toContain('"timeout". Known: context, signal, timeoutMs, isRejection');
  });

  test('a whole Lambda context in their place is refused: the call would have no deadline', () => {
    expect(errorOf(check({ awsRequestId: 'x', functionName: 'fn', ...contextWith(3_000) })).code).toBe('INVALID_OPTION');
  });
});

describe('the moment of an event', () => {
  const MOMENT = Date.UTC(2026, 0, 1);

  test.each([MOMENT, new Date(MOMENT), '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00Z'])('may be %p', since => {
    expect(() => checkCallOptions('crm', { since } as CallOptions)).not.toThrow();
    expect(sinceOf(since)).toBe(MOMENT);
  });

  test.each([
    ['seconds', MOMENT / 1_000], ['no date', 'yesterday'], ['a year in a text', 'soon 2099'], ['a date in a text', 'on 2026-01-01T00:00:00Z'], ['one with a word after it', '2026-01-01T00:00:00Z (UTC)'], ['no moment', new Date(NaN)], ['nothing', null], ['a list', [MOMENT]], ['a flag', true],
  ])('is refused where it is %s, and the error says what may be given', (_, since) => {
    const error = errorOf(() => checkCallOptions('crm', { since } as never));
    expect(error.code).toBe('INVALID_OPTION');
    expect(error.message).toContain('"since"');
    expect(error.message).toMatch(/Date.*milliseconds.*ISO 8601/);
  });

  test('is as late as can be where none is given: every token was issued before', () => expect(sinceOf()).toBe(Infinity));
});

test('what use is given must be a function', () => {
  expect(() => checkCall('crm', async () => 1)).not.toThrow();
  expect(errorOf(() => checkCall('crm', 'token'))).toMatchObject({ code: 'INVALID_OPTION', message: expect.stringContaining('use takes a function') });
});

describe('the table', () => {
  test('the option outranks the variable', () => {
    process.env[ENV.TABLE] = 'FromVariable';
    expect(tableOf('crm', { table: 'FromOption' })).toBe('FromOption');
    expect(tableOf('crm', {})).toBe('FromVariable');
    expect(tableOf('crm', { table: undefined })).toBe('FromVariable');
  });

  test('the variable is read at the call, not when the module is loaded', () => {
    process.env[ENV.TABLE] = 'First';
    expect(tableOf('crm', {})).toBe('First');
    process.env[ENV.TABLE] = 'Second';
    expect(tableOf('crm', {})).toBe('Second');
  });

  test.each([['unset', undefined], ['empty', '']])('no option, and a variable that is %s: a typed error that names both', (_, value) => {
    if (value !== undefined) process.env[ENV.TABLE] = value;
    const error = errorOf(() => tableOf('crm', {}));
    expect(error).toMatchObject({ code: 'TABLE_NOT_CONFIGURED', tokenId: 'crm' });
    for (const part of ['"crm"', 'SHARED_TOKEN_TABLE', 'option "table"', 'attachTo']) expect(error.message).toContain(part);
  });
});

describe('the deadline of a call', () => {
  test('is 30 s where nothing says less', () => {
    expect(callLimitMs({})).toBe(30_000);
    expect(callLimitMs({ timeoutMs: undefined, context: undefined })).toBe(30_000);
    expect(callLimitMs({ context: contextWith(900_000) })).toBe(30_000);
  });

  test('is what the invocation has left, less 10 % and at most half a second in which to answer', () => {
    expect(callLimitMs({ context: contextWith(3_000) })).toBe(2_700);
    expect(callLimitMs({ context: contextWith(5_000) })).toBe(4_500);
    expect(callLimitMs({ context: contextWith(10_000) })).toBe(9_500);
    expect(callLimitMs({ context: contextWith(100) })).toBe(90);
    expect(callLimitMs({ context: contextWith(0) })).toBe(0);
  });

  test('is asked of the context at the call: an invocation that has run for a while has less', () => {
    let left = 10_000;
    const context = { getRemainingTimeInMillis: () => left };
    expect(callLimitMs({ context })).toBe(9_500);
    left = 1_000;
    expect(callLimitMs({ context })).toBe(900);
  });

  test('is the call\'s own limit where that is shorter, and never longer than the invocation', () => {
    expect(callLimitMs({ timeoutMs: 200, context: contextWith(3_000) })).toBe(200);
    expect(callLimitMs({ timeoutMs: 60_000, context: contextWith(3_000) })).toBe(2_700);
    expect(callLimitMs({ timeoutMs: 60_000 })).toBe(60_000);
  });

  test('without a context is the function\'s timeout, as attachTo handed it over', () => {
    process.env[ENV.FUNCTION_TIMEOUT_MS] = '3000';
    expect(callLimitMs({})).toBe(2_700);
    expect(callLimitMs({ timeoutMs: 100 })).toBe(100);
    expect(callLimitMs({ timeoutMs: 60_000 })).toBe(2_700);
  });

  test('a context outranks the function\'s timeout: it knows what is left', () => {
    process.env[ENV.FUNCTION_TIMEOUT_MS] = '3000';
    expect(callLimitMs({ context: contextWith(1_000) })).toBe(900);
    expect(callLimitMs({ context: contextWith(20_000) })).toBe(19_500);
  });

  test.each(['', 'abc', '0', '-1', 'NaN', '3s'])('a function\'s timeout of %p is none', value => {
    process.env[ENV.FUNCTION_TIMEOUT_MS] = value;
    expect(callLimitMs({})).toBe(30_000);
  });
});

describe('the holder\'s name', () => {
  test('is function and request, for people', () => {
    process.env.AWS_LAMBDA_FUNCTION_NAME = 'orders';
    expect(holderName({ context: { awsRequestId: 'request-1', ...contextWith(1) } })).toBe('orders request-1');
  });

  test('outside Lambda, or without a context, is the process', () => {
    expect(holderName({})).toBe(`process ${process.pid}`);
    process.env.AWS_LAMBDA_FUNCTION_NAME = 'orders';
    expect(holderName({ context: contextWith(1) })).toBe(`orders ${process.pid}`);
  });

  test('is at most 256 characters, so that no id can make the item large', () => {
    expect(holderName({ context: { awsRequestId: 'x'.repeat(10_000), ...contextWith(1) } })).toHaveLength(256);
  });
});

describe('whom a reader asks', () => {
  const ofVariable = (variable: string | undefined, options: SharedTokenOptions = {}): string | undefined => {
    process.env[ENV.REFRESHERS] = variable;
    if (variable === undefined) delete process.env[ENV.REFRESHERS];
    try {
      return refresherOf('crm', options);
    } finally {
      delete process.env[ENV.REFRESHERS];
    }
  };

  test('stands in the variable, under the id of the token', () => {
    expect(ofVariable('{"crm":"refresh-crm","erp":"refresh-erp"}')).toBe('refresh-crm');
    expect(ofVariable('{"erp":"refresh-erp"}')).toBeUndefined();
    expect(ofVariable(undefined)).toBeUndefined();
    expect(ofVariable('')).toBeUndefined();
  });

  test('is what the option says, before the variable', () => {
    expect(ofVariable('{"crm":"refresh-crm"}', { refresher: 'another' })).toBe('another');
  });

  test('is nobody for who refreshes for itself', () => {
    expect(ofVariable('{"crm":"refresh-crm"}', { refresh: async () => ({ accessToken: 'a' }) })).toBeUndefined();
  });

  test.each(['no JSON', '7', 'null', '"crm"', '{"crm":7}', '{"crm":""}', '{"crm":null}'])('a variable that holds something else is an error that names it: %s', variable => {
    expect(errorOf(() => ofVariable(variable))).toMatchObject({ code: 'INVALID_OPTION', message: expect.stringContaining(ENV.REFRESHERS) as string });
  });
});
