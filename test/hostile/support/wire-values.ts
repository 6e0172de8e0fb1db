import fc from 'fast-check';

/*
 * Values as DynamoDB's wire protocol has them, of the kind that nobody of ours writes, and the rule by which they are judged: a second time, apart from the runtime's.
 */

/** One attribute's value on the wire: a type's name and what it holds. */
export type WireValue = Readonly<Record<string, unknown>>;
export type WireItem = Readonly<Record<string, WireValue>>;

/** Names that are something else to JavaScript than a key. */
const HOSTILE_KEYS = ['__proto__', 'constructor', 'prototype', 'toString', 'valueOf', 'hasOwnProperty', 'then', 'toJSON', '__defineGetter__', 'length', ' ', '#', ':mine', 'é',
  'accessToken', 'generation', 'issuedAt', 'id', 'since', 'until', 'count', 'at', 'retryAt', 'earlyRejections'];
const HOSTILE_TEXTS = ['', ' ', '\u0000', '\n', '__proto__', '[object Object]', 'null', '0', '1700000000000', 'NaN', '\u{1F511}', '${jndi:x}', '{{clientSecret}}', 'a'.repeat(5_000)];

/** As the table gives them back: without exponents. */
const HOSTILE_NUMBERS = [
  '0', '-1', '1', '0.5', '-0.25', '1.5', '1700000000000', '1700000000000.5', '1700000000', '-1700000000000', '95617584000000', '8640000000000000', '8640000000000001',
  '9007199254740991', '9007199254740992', '9007199254740993', '-9007199254740993', '9223372036854775807', '12345678901234567890123456789012345678',
  '99999999999999999999999999999999999999', '0.12345678901234567890123456789012345678', '1700000000000.00000000001', `1${'0'.repeat(125)}`, `-1${'0'.repeat(125)}`,
  `0.${'0'.repeat(129)}1`, '123456789012345678901.5', '0.1', '0.30000000000000004', '179769313486231570000000000000',
];

const hostileKey = fc.oneof(fc.constantFrom(...HOSTILE_KEYS), fc.string({ minLength: 1, maxLength: 8 }));
const hostileText = fc.oneof(fc.constantFrom(...HOSTILE_TEXTS), fc.string({ unit: 'binary', maxLength: 20 }));
const hostileNumber = fc.oneof(
  fc.constantFrom(...HOSTILE_NUMBERS),
  fc.integer().map(String),
  fc.bigInt(-(10n ** 38n) + 1n, 10n ** 38n - 1n).map(String),
  fc.tuple(fc.bigInt(1n, 10n ** 17n), fc.bigInt(1n, 10n ** 20n)).map(([whole, part]) => `${whole}.${part}`.replace(/0+$/, '')),
);
const binary = fc.uint8Array({ maxLength: 12 }).map(bytes => Buffer.from(bytes).toString('base64'));
const setOf = <T>(values: fc.Arbitrary<T>) => fc.uniqueArray(values, { minLength: 1, maxLength: 3 });

/** Entries become a map's own keys, `__proto__` too. */
export const mapOf = (values: fc.Arbitrary<WireValue>): fc.Arbitrary<WireItem> =>
  fc.array(fc.tuple(hostileKey, values), { maxLength: 4 }).map(entries => Object.fromEntries(entries));

const values = fc.letrec<{ readonly value: WireValue }>(tie => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    hostileText.map(S => ({ S })),
    hostileNumber.map(N => ({ N })),
    fc.constantFrom<WireValue>({ NULL: true }, { BOOL: true }, { BOOL: false }),
    binary.map(B => ({ B })),
    setOf(fc.string({ minLength: 1, maxLength: 4 })).map(SS => ({ SS })),
    setOf(fc.constantFrom(...HOSTILE_NUMBERS)).map(NS => ({ NS })),
    setOf(binary).map(BS => ({ BS })),
    fc.array(tie('value'), { maxLength: 3 }).map(L => ({ L })),
    mapOf(tie('value')).map(M => ({ M })),
  ),
}));
export const wireValue: fc.Arbitrary<WireValue> = values.value;

/** Any number, or what a number's place may hold beside it. */
const numberOr = (...usual: readonly string[]) =>
  fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...usual).map(N => ({ N })) }, hostileNumber.map(N => ({ N })), wireValue);
const textOr = (...usual: readonly string[]) => fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...usual).map(S => ({ S })) }, wireValue);

/** Some of the entries, with a few that are none of the protocol's. */
const mapLike = (entries: Readonly<Record<string, fc.Arbitrary<WireValue>>>, required: readonly string[]) => fc.oneof(
  {
    weight: 6,
    arbitrary: fc.tuple(fc.record(entries, { requiredKeys: [...required] }), mapOf(wireValue))
      .map(([known, more]) => ({ M: { ...withoutNames(more, entries), ...known } })),
  },
  { weight: 1, arbitrary: fc.record(entries, { requiredKeys: [] }).map(M => ({ M: M as WireItem })) },
  { weight: 1, arbitrary: wireValue },
);

function withoutNames(map: WireItem, names: object): WireItem {
  return Object.fromEntries(Object.entries(map).filter(([name]) => !Object.hasOwn(names, name)));
}

/** The attributes of an item, but its key: near enough to a right one to be taken for it, or far from it. */
export function hostileAttributes(now: number): fc.Arbitrary<WireItem> {
  const moments = [now - 3_600_000, now - 1_000, now, now + 1_000, now + 3_600_000, 95_617_584_000_000, 0].map(String);
  const token = { accessToken: textOr('stored-token', 'a'), generation: numberOr('1', '7', '0', '-3', '1.5'), issuedAt: numberOr(...moments) };
  const known = {
    ...token,
    expiresAt: numberOr(...moments),
    refreshToken: textOr('stored-refresh-token'),
    refreshMs: numberOr('300', '0', '-5', '600000'),
    lease: mapLike({ id: textOr('lease-1'), since: numberOr(...moments), until: numberOr(...moments), holder: textOr('fn request-1') }, ['id', 'since', 'until']),
    failure: mapLike({
      code: textOr('503'),
      count: numberOr('1', '60'),
      at: numberOr(...moments),
      retryAt: numberOr(...moments),
      forced: fc.oneof(fc.constant({ BOOL: true }), wireValue),
    }, ['count', 'at', 'retryAt']),
    meta: mapLike({ earlyRejections: numberOr('0', '3', '500'), source: textOr('auth.example.com#a') }, []),
    expireAfter: numberOr('1800000000', '0', '4102444800'),
  };
  const kinds = [
    fc.record(known, { requiredKeys: ['accessToken', 'generation', 'issuedAt'] }),
    fc.record({ ...token, meta: known.meta }, { requiredKeys: ['accessToken', 'generation', 'issuedAt'] }),
    fc.record(known, { requiredKeys: [] }),
  ];
  return fc.tuple(fc.oneof(...kinds), mapOf(wireValue))
    .map(([attributes, more]) => ({ ...withoutNames(more, { ...known, tokenId: 0 }), ...attributes as WireItem }));
}

/** What an attribute of the protocol must be, in the words of docs/protocol.md; whether it must be there. */
const isText = (wire: WireValue | undefined) => typeof wire?.S === 'string' && wire.S !== '';
const isNumber = (wire: WireValue | undefined) => typeof wire?.N === 'string' && isHeldExactly(wire.N) && Math.abs(Number(wire.N)) <= 8.64e15;
const isFlag = (wire: WireValue | undefined) => typeof wire?.BOOL === 'boolean';
const isMap = (wire: WireValue | undefined) => typeof wire?.M === 'object';

type Rule = readonly [is: (wire: WireValue | undefined) => boolean, required: boolean];
const some = (is: Rule[0]): Rule => [is, false];
const must = (is: Rule[0]): Rule => [is, true];

const RULES: Readonly<Record<'item' | 'lease' | 'failure' | 'meta', Readonly<Record<string, Rule>>>> = {
  item: {
    accessToken: some(isText),
    generation: some(isNumber),
    issuedAt: some(isNumber),
    expiresAt: some(isNumber),
    refreshMs: some(isNumber),
    expireAfter: some(isNumber),
    lease: some(isMap),
    failure: some(isMap),
    meta: some(isMap),
  },
  lease: { id: must(isText), since: must(isNumber), until: must(isNumber), holder: some(isText) },
  failure: { code: some(isText), count: must(isNumber), at: must(isNumber), retryAt: must(isNumber), forced: some(isFlag) },
  meta: { earlyRejections: some(isNumber), source: some(isText) },
};

const own = (map: unknown, name: string): WireValue | undefined => Object.hasOwn(map as object, name) ? (map as WireItem)[name] : undefined;
const keepsTo = (map: unknown, rules: Readonly<Record<string, Rule>>) =>
  Object.entries(rules).every(([name, [is, required]]) => own(map, name) === undefined ? !required : is(own(map, name)));

/** Is what a reader sees of the item as docs/protocol.md says? */
export function isReadable(item: WireItem): boolean {
  const hasBase = ['accessToken', 'generation', 'issuedAt'].filter(name => own(item, name) !== undefined);
  const isWhole = hasBase.length === 0 || (hasBase.includes('generation') && hasBase.includes('issuedAt'));
  return isWhole && keepsTo(item, RULES.item) && (['lease', 'failure', 'meta'] as const).every(name => {
    const map = own(item, name);
    return map === undefined || keepsTo(map.M, RULES[name]);
  });
}

/** Would a refresher say the same, who sees the refresh token, too? */
export function isValid(item: WireItem): boolean {
  const refreshToken = own(item, 'refreshToken');
  return isReadable(item) && (refreshToken === undefined || isText(refreshToken));
}

/** Does JavaScript write the very number that it read? */
export function isHeldExactly(text: string): boolean {
  return inDigits(text) === inDigits(String(Number(text)));
}

/** Sign, significant digits and exponent. */
function inDigits(text: string): string {
  const [, sign = '', whole = '', part = '', exponent = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(text) ?? [];
  const digits = (whole + part).replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  return significant === '' ? '0' : `${sign}${significant}e${Number(exponent) - part.length + digits.length - significant.length}`;
}

/** All that a value holds, in one order of the keys; own keys alone, `__proto__` as well. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'undefined';
  const entries = Object.entries(value).sort(([one], [other]) => one < other ? -1 : 1);
  return `{${entries.map(([name, held]) => `${JSON.stringify(name)}:${canonical(held)}`).join()}}`;
}
