import { SCHEDULE_ALIAS } from '../../../src/private/contract';

/** The calls that can be tried: `calls.ts` makes them. */
export type CallName =
  | 'readAsRuntime' | 'readRefreshToken' | 'readWholeItem' | 'readInBatch' | 'readInTransaction' | 'readReadableInTransaction' | 'readByPartiQl' | 'query' | 'scan'
  | 'putItem' | 'deleteItem' | 'writeInTransaction' | 'update' | 'claimFirst' | 'invokeRefresher' | 'readSecret'
  | 'getToken' | 'makeDataKey' | 'makeDataKeyOfOtherTable' | 'makeDataKeyOfNothing' | 'readDataKey'
  | 'look' | 'endLease' | 'clearFailure' | 'expire' | 'endLeaseForOldItem' | 'endLeaseForNewItem' | 'endLeaseForOldItemInTransaction' | 'setToken' | 'compareToken';

/** What becomes of a call. `old item`: its condition failed, and the item came with the error. */
export type Outcome = 'allowed' | 'denied' | 'old item' | 'no old item' | `failed: ${string}`;

/** One call, and what must become of it. `open`: no document says, and no promise of ours depends on it; it is reported all the same. */
export interface Probe {
  readonly call: CallName;
  /** Where it is about a token. */
  readonly tokenId?: string;
  /** Where the refresher is not invoked by its name alone. */
  readonly qualifier?: string;
  readonly expected: Outcome | 'open';
}

/** The pattern of a grant. */
export const BOTS = 'bot-*';

/** Tokens of the tables of the test. */
export const TOKENS = {
  /** Is stored, with a refresh token. */
  GRANTED: 'crm',
  /** Nobody may use it. */
  FOREIGN: 'erp',
  /** What a grant for `BOTS` covers. */
  BY_PATTERN: 'bot-1',
  /** Stands for one that `BOTS` covers, too, and that is new with each instance of a prober: nobody has claimed it yet. */
  NEW: '<new>',
} as const;

/** Calls that no role of this library has any need of. */
const NEVER: Readonly<Record<string, Probe>> = {
  query: { call: 'query', tokenId: TOKENS.GRANTED, expected: 'denied' },
  scan: { call: 'scan', expected: 'denied' },
  put: { call: 'putItem', tokenId: TOKENS.GRANTED, expected: 'denied' },
  delete: { call: 'deleteItem', tokenId: TOKENS.GRANTED, expected: 'denied' },
  batch: { call: 'readInBatch', tokenId: TOKENS.GRANTED, expected: 'denied' },
  partiQl: { call: 'readByPartiQl', tokenId: TOKENS.GRANTED, expected: 'denied' },
  transactPut: { call: 'writeInTransaction', tokenId: TOKENS.GRANTED, expected: 'denied' },
};

/** What each role tries. The roles are those of `PoliciesStack`; what they may do is what `attachTo` grants. */
const ROLES_AND_PROBES = {
  /** `refresher.attachTo`: one token, and its refresher. */
  reader: {
    read: { call: 'readAsRuntime', tokenId: TOKENS.GRANTED, expected: 'allowed' },
    refreshToken: { call: 'readRefreshToken', tokenId: TOKENS.GRANTED, expected: 'denied' },
    wholeItem: { call: 'readWholeItem', tokenId: TOKENS.GRANTED, expected: 'denied' },
    transaction: { call: 'readInTransaction', tokenId: TOKENS.GRANTED, expected: 'denied' },
    readableInTransaction: { call: 'readReadableInTransaction', tokenId: TOKENS.GRANTED, expected: 'open' },
    otherToken: { call: 'readAsRuntime', tokenId: TOKENS.FOREIGN, expected: 'denied' },
    update: { call: 'update', tokenId: TOKENS.GRANTED, expected: 'denied' },
    ask: { call: 'invokeRefresher', expected: 'allowed' },
    alias: { call: 'invokeRefresher', qualifier: SCHEDULE_ALIAS, expected: 'denied' },
    version: { call: 'invokeRefresher', qualifier: '1', expected: 'denied' },
    latest: { call: 'invokeRefresher', qualifier: '$LATEST', expected: 'open' },
    secret: { call: 'readSecret', expected: 'denied' },
    ...NEVER,
  },
  /** `tokens.attachTo` with `TokenAccess.READ` and a pattern. */
  patternReader: {
    read: { call: 'readAsRuntime', tokenId: TOKENS.BY_PATTERN, expected: 'allowed' },
    refreshToken: { call: 'readRefreshToken', tokenId: TOKENS.BY_PATTERN, expected: 'denied' },
    otherToken: { call: 'readAsRuntime', tokenId: TOKENS.GRANTED, expected: 'denied' },
    ask: { call: 'invokeRefresher', expected: 'denied' },
  },
  /** `tokens.attachTo` with the right to refresh. */
  refreshing: {
    claim: { call: 'claimFirst', tokenId: TOKENS.NEW, expected: 'allowed' },
    claimOfStored: { call: 'claimFirst', tokenId: TOKENS.GRANTED, expected: 'old item' },
    read: { call: 'readAsRuntime', tokenId: TOKENS.GRANTED, expected: 'allowed' },
    otherToken: { call: 'readAsRuntime', tokenId: TOKENS.FOREIGN, expected: 'denied' },
    claimOfOther: { call: 'claimFirst', tokenId: TOKENS.FOREIGN, expected: 'denied' },
    ...NEVER,
  },
  /** `tokens.grantOperate`. The conditions of its writes never hold. */
  operator: {
    look: { call: 'look', tokenId: TOKENS.GRANTED, expected: 'allowed' },
    token: { call: 'readAsRuntime', tokenId: TOKENS.GRANTED, expected: 'denied' },
    refreshToken: { call: 'readRefreshToken', tokenId: TOKENS.GRANTED, expected: 'denied' },
    wholeItem: { call: 'readWholeItem', tokenId: TOKENS.GRANTED, expected: 'denied' },
    endLease: { call: 'endLease', tokenId: TOKENS.GRANTED, expected: 'no old item' },
    clearFailure: { call: 'clearFailure', tokenId: TOKENS.GRANTED, expected: 'no old item' },
    expire: { call: 'expire', tokenId: TOKENS.GRANTED, expected: 'no old item' },
    oldItem: { call: 'endLeaseForOldItem', tokenId: TOKENS.GRANTED, expected: 'open' },
    oldItemInTransaction: { call: 'endLeaseForOldItemInTransaction', tokenId: TOKENS.GRANTED, expected: 'denied' },
    newItem: { call: 'endLeaseForNewItem', tokenId: TOKENS.GRANTED, expected: 'denied' },
    setToken: { call: 'setToken', tokenId: TOKENS.GRANTED, expected: 'denied' },
    compareToken: { call: 'compareToken', tokenId: TOKENS.GRANTED, expected: 'denied' },
    otherToken: { call: 'look', tokenId: TOKENS.FOREIGN, expected: 'denied' },
    endLeaseOfOther: { call: 'endLease', tokenId: TOKENS.FOREIGN, expected: 'denied' },
    claim: { call: 'claimFirst', tokenId: TOKENS.GRANTED, expected: 'denied' },
    ...NEVER,
  },
  /** As `refreshing`, of a table with a customer's key: of the key it may use `kms:Decrypt` alone, through DynamoDB. */
  refreshingEncrypted: {
    claim: { call: 'claimFirst', tokenId: TOKENS.NEW, expected: 'allowed' },
    claimOfStored: { call: 'claimFirst', tokenId: TOKENS.NEW, expected: 'old item' },
    read: { call: 'readAsRuntime', tokenId: TOKENS.NEW, expected: 'allowed' },
  },
  /** A reader of that table. */
  readerEncrypted: {
    read: { call: 'readAsRuntime', tokenId: TOKENS.GRANTED, expected: 'allowed' },
    refreshToken: { call: 'readRefreshToken', tokenId: TOKENS.GRANTED, expected: 'denied' },
  },
  /** May use that table, but not its key: whether `kms:Decrypt` is needed at all. */
  withoutKey: {
    read: { call: 'readAsRuntime', tokenId: TOKENS.GRANTED, expected: 'open' },
    claim: { call: 'claimFirst', tokenId: TOKENS.NEW, expected: 'open' },
  },
  /** As `refreshing`, of a table whose tokens the runtime encrypts: it may use their key for its tokens of this table alone. */
  refreshingTokenKey: {
    get: { call: 'getToken', tokenId: TOKENS.GRANTED, expected: 'allowed' },
    dataKey: { call: 'makeDataKey', tokenId: TOKENS.GRANTED, expected: 'allowed' },
    dataKeyByPattern: { call: 'makeDataKey', tokenId: TOKENS.NEW, expected: 'allowed' },
    readDataKey: { call: 'readDataKey', tokenId: TOKENS.GRANTED, expected: 'allowed' },
    dataKeyOfOther: { call: 'makeDataKey', tokenId: TOKENS.FOREIGN, expected: 'denied' },
    dataKeyOfOtherTable: { call: 'makeDataKeyOfOtherTable', tokenId: TOKENS.GRANTED, expected: 'denied' },
    dataKeyOfNothing: { call: 'makeDataKeyOfNothing', expected: 'denied' },
  },
  /** A reader of that table. */
  readerTokenKey: {
    get: { call: 'getToken', tokenId: TOKENS.GRANTED, expected: 'allowed' },
    dataKey: { call: 'makeDataKey', tokenId: TOKENS.GRANTED, expected: 'denied' },
  },
  /** May read all of that table, and not use the key: it sees no token. */
  withoutTokenKey: {
    read: { call: 'readAsRuntime', tokenId: TOKENS.GRANTED, expected: 'allowed' },
    get: { call: 'getToken', tokenId: TOKENS.GRANTED, expected: 'denied' },
    dataKey: { call: 'makeDataKey', tokenId: TOKENS.GRANTED, expected: 'denied' },
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, Probe>>>>;

export type Role = keyof typeof ROLES_AND_PROBES;
export const PROBES: Readonly<Record<Role, Readonly<Record<string, Probe>>>> = ROLES_AND_PROBES;
export const ROLES = Object.keys(PROBES) as Role[];
