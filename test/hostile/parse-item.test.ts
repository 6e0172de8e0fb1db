import fc from 'fast-check';
import { ended, prototypes } from './support/outcome';
import { canonical, hostileAttributes, isHeldExactly, isValid, type WireItem, type WireValue } from './support/wire-values';
import { parseItem } from '../../lambda-runtime/token-item';

/*
 * What becomes of an item when it is read, with nothing around it: no table, no time. As the SDK hands it over, and as no SDK would.
 */
const NOW = 1_700_000_000_000;
const prototypesBefore = prototypes();
afterEach(() => { expect(prototypes()).toBe(prototypesBefore); });

const RUNS = { numRuns: 4_000 };

/** As the store hands it over. A map's `__proto__` is a key of its own, or, in careless hands, what the map inherits from. */
function nativeOf(wire: WireValue, inherits: boolean): unknown {
  const [type = '', value] = Object.entries(wire)[0] ?? [];
  const number = (text: string) => isHeldExactly(text) ? Number(text) : NaN;
  const bytes = (text: string) => new Uint8Array(Buffer.from(text, 'base64'));
  switch (type) {
    case 'N': return number(value as string);
    case 'NULL': return null;
    case 'B': return bytes(value as string);
    case 'SS': return new Set(value as string[]);
    case 'NS': return new Set((value as string[]).map(number));
    case 'BS': return new Set((value as string[]).map(bytes));
    case 'L': return (value as WireValue[]).map(element => nativeOf(element, inherits));
    case 'M': return nativeMapOf(value as WireItem, inherits);
    default: return value;
  }
}

function nativeMapOf(wire: WireItem, inherits: boolean): Readonly<Record<string, unknown>> {
  const entries = Object.entries(wire).map(([name, value]) => [name, nativeOf(value, inherits)] as const);
  if (!inherits) return Object.fromEntries(entries);
  const map: Record<string, unknown> = {};
  for (const [name, value] of entries) Reflect.set(map, name, value); // which some prototypes refuse
  return map;
}

async function parsed(attributes: Readonly<Record<string, unknown>>) {
  return ended((async () => parseItem('crm', attributes))());
}

test('an item is refused as docs/protocol.md says, and only then; what is read is what was stored', async () => {
  let valid = 0;
  await fc.assert(fc.asyncProperty(hostileAttributes(NOW), fc.boolean(), async (wire, inherits) => {
    const { value: item, code } = await parsed(nativeMapOf(wire, inherits));
    // What a map inherits from may make it something else than a map; it never makes it right.
    if (!item && inherits && canonical(wire).includes('"__proto__"')) expect(code).toBe('INVALID_ITEM');
    else expect(code).toBe(isValid(wire) ? undefined : 'INVALID_ITEM');
    if (!item) return;
    valid++;
    const text = (map: WireItem | undefined, name: string) => map && Object.hasOwn(map, name) ? map[name]?.S : undefined;
    const number = (map: WireItem | undefined, name: string) => map && Object.hasOwn(map, name) ? Number(map[name]?.N) : undefined;
    const map = (name: string) => Object.hasOwn(wire, name) ? wire[name]?.M as WireItem : undefined;
    expect([item.token?.accessToken, item.refreshToken, item.lease?.id, item.meta?.source])
      .toEqual([text(wire, 'accessToken'), text(wire, 'refreshToken'), text(map('lease'), 'id'), text(map('meta'), 'source')]);
    expect([item.base?.generation, item.base?.issuedAt, item.refreshMs, item.expireAfter])
      .toEqual(['generation', 'issuedAt', 'refreshMs', 'expireAfter'].map(name => number(wire, name)));
    expect([item.lease?.since, item.lease?.until, item.failure?.count, item.failure?.at, item.failure?.retryAt, item.meta?.earlyRejections])
      .toEqual([['lease', 'since'], ['lease', 'until'], ['failure', 'count'], ['failure', 'at'], ['failure', 'retryAt'], ['meta', 'earlyRejections']]
        .map(([name = '', entry = '']) => number(map(name), entry)));
    expect(item.token?.expiresAt).toBe(item.token && number(wire, 'expiresAt'));
  }), RUNS);
  expect(valid).toBeGreaterThan(200);
});

/** Stands in every text and is no name of an attribute. */
const SENTINEL = 'sentinel-9f2c';

test('the refusal names the attribute and no value; what was read is left as it was', async () => {
  let refused = 0;
  const secret = fc.string({ maxLength: 4 }).map(text => `${SENTINEL}${text}`);
  const anything = fc.anything({
    key: fc.constantFrom('id', 'since', 'until', 'holder', 'count', 'at', 'retryAt', 'earlyRejections', 'source', 'code', 'forced', '__proto__', 'constructor'),
    values: [secret, fc.double(), fc.integer(), fc.constantFrom(null, undefined, '', true, 1e300, NaN), fc.bigInt()],
    withBigInt: true,
    withBoxedValues: true,
    withDate: true,
    withMap: true,
    withSet: true,
    withTypedArray: true,
    withNullPrototype: true,
    withSparseArray: true,
  });
  const names = ['accessToken', 'generation', 'issuedAt', 'expiresAt', 'refreshToken', 'lease', 'refreshMs', 'failure', 'meta', 'expireAfter', '__proto__', 'later'];
  await fc.assert(fc.asyncProperty(fc.array(fc.tuple(fc.constantFrom(...names), anything), { maxLength: 5 }), async entries => {
    const attributes = Object.fromEntries(entries) as Record<string, unknown>;
    const before = shown(attributes);
    const { value: item, error, code } = await parsed(attributes);
    expect(shown(attributes)).toBe(before);
    if (error) {
      refused++;
      expect(code).toBe('INVALID_ITEM');
      expect(error.message).toMatch(/^Token "crm": the stored attribute "[\w.]+" is not /);
      expect(`${error.message} ${error.stack} ${JSON.stringify(error)}`).not.toContain(SENTINEL);
      expect(error.cause).toBeUndefined();
      return;
    }
    const { base, token, lease, failure, meta } = item!;
    const { count, at, retryAt } = failure ?? {};
    const held = [base?.generation, token?.issuedAt, token?.expiresAt, lease?.since, lease?.until, count, at, retryAt, meta?.earlyRejections];
    expect(held.filter(number => number !== undefined && !(Math.abs(number) <= 8.64e15))).toEqual([]);
    expect([token?.accessToken, item!.refreshToken, lease?.id].filter(text => text !== undefined && (typeof text !== 'string' || text === ''))).toEqual([]);
  }), RUNS);
  expect(refused).toBeGreaterThan(200);
});

/** Deep enough to see any change, and never by a method of the value. */
function shown(attributes: Readonly<Record<string, unknown>>): string {
  const seen = (value: unknown) => typeof value === 'object' && value !== null ? Object.keys(value) : String(value);
  return canonical(Object.entries(attributes).map(([name, value]) => [name, typeof value, seen(value)]));
}
