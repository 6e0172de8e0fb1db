import { SharedTokenError } from '../../lambda-runtime/errors';
import { parseItem } from '../../lambda-runtime/token-item';

const NOW = 1_700_000_000_000;
const SENTINEL = 'sentinel-9f2c';

type Attributes = Record<string, unknown>;
const complete: Attributes = {
  tokenId: 'crm',
  accessToken: SENTINEL,
  generation: 7,
  issuedAt: NOW,
  expiresAt: NOW + 3_600_000,
  refreshToken: `refresh-${SENTINEL}`,
  lease: { id: 'lease-1', since: NOW, until: NOW + 12_000, holder: 'fn request-1' },
  refreshMs: 312,
  failure: { code: '503', count: 2, at: NOW, retryAt: NOW + 2_000 },
  meta: { earlyRejections: 1 },
  expireAfter: 1_700_608_400,
};
const without = (...names: string[]): Attributes => Object.fromEntries(Object.entries(complete).filter(([name]) => !names.includes(name)));
const expectInvalid = (attributes: Attributes, attribute: string): void => {
  const error = (() => {
    try {
      return parseItem('crm', attributes);
    } catch (thrown) {
      return thrown;
    }
  })();
  expect(error).toBeInstanceOf(SharedTokenError);
  expect(error).toMatchObject({ code: 'INVALID_ITEM', tokenId: 'crm' });
  const { message, stack } = error as SharedTokenError;
  expect(message).toContain('"crm"');
  expect(message).toContain(`"${attribute}"`);
  expect(`${message} ${stack} ${JSON.stringify(error)}`).not.toContain(SENTINEL);
};

describe('an item of this protocol', () => {
  test('the item that was read is left as it was', () => {
    const before = JSON.stringify(complete);
    parseItem('crm', complete);
    expect(JSON.stringify(complete)).toBe(before);
  });
});

describe('attributes that this version does not know', () => {
  test('are ignored, at the top and in every map', () => {
    const later = Object.fromEntries(Object.entries(complete).map(([name, value]) =>
      [name, typeof value === 'object' ? { ...value as object, later: { deep: [null] } } : value]));
    expect(parseItem('crm', { ...later, later: NaN, another: null, lists: [[]] })).toEqual(parseItem('crm', complete));
  });

  test('prototype keys are attributes like others: they bring in nothing and change nothing', () => {
    const hostile = JSON.parse(`{"tokenId": "crm", "__proto__": {"accessToken": "x", "generation": 1, "issuedAt": 1, "polluted": true},
      "constructor": {"prototype": {"polluted": true}}, "lease": {"id": "a", "since": 1, "until": 2, "__proto__": {"holder": "x"}},
      "meta": {"__proto__": {"earlyRejections": 9}}}`) as Attributes;
    const item = parseItem('crm', hostile);
    expect(item).toEqual({ lease: { id: 'a', since: 1, until: 2, holder: '' }, meta: {} });
    expect(item?.token).toBeUndefined();
    expect(item?.meta?.earlyRejections).toBeUndefined();
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  test('what a map inherits is not in it', () => {
    expect(parseItem('crm', Object.create(complete) as Attributes)).toEqual({});
  });
});

describe('an item that something else wrote', () => {
  const notANumber = [null, '7', '', NaN, Infinity, -Infinity, true, {}, [], [7], 7n, new Date(NOW)];
  const notAText = [null, '', 7, NaN, true, {}, [], [SENTINEL], new Uint8Array(3)];
  const notAMap = [null, '', SENTINEL, 7, NaN, true, [], [{}], new Set([SENTINEL]), new Uint8Array(3)];

  test.each(['generation', 'issuedAt', 'expiresAt', 'refreshMs', 'expireAfter'])('"%s" of another type than a number is refused by name', name => {
    for (const value of notANumber) expectInvalid({ ...complete, [name]: value }, name);
  });

  test.each(['accessToken', 'refreshToken'])('"%s" of another type than a non-empty string is refused by name', name => {
    for (const value of notAText) expectInvalid({ ...complete, [name]: value }, name);
  });

  test.each(['lease', 'failure', 'meta'])('"%s" of another type than a map is refused', name => {
    for (const value of notAMap) {
      expect(() => parseItem('crm', { ...complete, [name]: value })).toThrow(expect.objectContaining({ code: 'INVALID_ITEM', tokenId: 'crm' }));
    }
    for (const value of [null, SENTINEL, 7, []]) expectInvalid({ ...complete, [name]: value }, name);
  });

  test.each([
    ['lease', ['since', 'until'], notANumber],
    ['lease', ['id', 'holder'], notAText],
    ['failure', ['count', 'at', 'retryAt'], notANumber],
    ['failure', ['code'], notAText],
    ['meta', ['earlyRejections'], notANumber],
  ])('nested garbage in "%s" (%p) is refused by its path', (map, names, values) => {
    for (const name of names) {
      for (const value of values) expectInvalid({ ...complete, [map]: { ...complete[map] as object, [name]: value } }, `${map}.${name}`);
    }
  });

  test.each([
    ['lease', ['id', 'since', 'until']],
    ['failure', ['count', 'at', 'retryAt']],
  ])('a "%s" without %p is refused by its path', (map, names) => {
    for (const name of names) {
      const rest = Object.fromEntries(Object.entries(complete[map] as object).filter(([key]) => key !== name));
      expectInvalid({ ...complete, [map]: rest }, `${map}.${name}`);
    }
    expectInvalid({ ...complete, [map]: {} }, `${map}.${names[0]}`);
  });

  test('a token without generation or issuedAt is refused, and so is a generation without issuedAt', () => {
    expectInvalid(without('generation'), 'generation');
    expectInvalid(without('issuedAt'), 'issuedAt');
    expectInvalid(without('accessToken', 'issuedAt'), 'issuedAt');
  });

  // A claim asks that both be absent or both as seen, so none could ever succeed.
  test('I4: an issuedAt without a generation is refused', () => {
    expectInvalid({ tokenId: 'crm', issuedAt: NOW }, 'generation');
    expectInvalid(without('accessToken', 'generation'), 'generation');
  });

  test('the error says what to do', () => {
    expect(() => parseItem('crm', { ...complete, generation: 'x' })).toThrow(/something else wrote this item.*delete the item/s);
  });

  test('no garbage gets through or causes another kind of error', () => {
    const odd = [() => undefined, Symbol('x'), 1n, new Map(), new Date(0)];
    const garbage = [undefined, null, '', SENTINEL, 0, -1, NaN, Infinity, true, {}, [], { id: 1 }, { count: '1' }, ...odd];
    let refused = 0;
    for (const name of Object.keys(complete)) {
      for (const value of garbage) {
        try {
          const item = parseItem('crm', { ...complete, [name]: value });
          const { base, token, lease, failure, refreshMs } = item ?? {};
          const numbers = [base?.generation, token?.issuedAt, token?.expiresAt, lease?.until, failure?.count, failure?.retryAt, refreshMs];
          for (const number of numbers) expect(number === undefined || Number.isFinite(number)).toBe(true);
        } catch (error) {
          expect(error).toMatchObject({ code: 'INVALID_ITEM' });
          refused++;
        }
      }
    }
    expect(refused).toBeGreaterThan(100);
  });
});
