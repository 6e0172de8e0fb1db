import type { SharedTokenError } from '../../lambda-runtime';
import { encryptedKeyOf, NONCE_BYTES } from '../../lambda-runtime/encryption/envelope';
import type { SharedTokenOptions } from '../../lambda-runtime/public-types';
import { KmsServer } from '../../local-aws/kms-server';
import { Instance } from '../support/instance';
import { providerWith, tablePerFile } from '../support/per-test';

/*
 * Tokens that the runtime encrypts before it stores them: the real clients of DynamoDB and KMS, a real table, real AES.
 */
const { table, tokenId } = tablePerFile();
let kms: KmsServer;
let keyArn: string;

beforeAll(async () => {
  kms = await KmsServer.start();
  process.env.AWS_ENDPOINT_URL_KMS = kms.environment.AWS_ENDPOINT_URL_KMS;
});
afterAll(async () => {
  delete process.env.AWS_ENDPOINT_URL_KMS;
  await kms.stop();
});
beforeEach(() => {
  keyArn = kms.createKey();
  kms.calls.length = 0;
  kms.refuses = undefined;
  kms.hangs = false;
});

const encrypted = (options: SharedTokenOptions = {}) => ({ table: `${table().name}#${keyArn}`, ...options });
const operations = () => kms.calls.map(call => call.operation);
const errorOf = async (call: Promise<unknown>): Promise<SharedTokenError> => call.then(
  value => { throw new Error(`No error, but ${String(value)}`); },
  (error: unknown) => error as SharedTokenError,
);
const REFRESH_TOKEN = 'the-refresh-token';
const withRefreshToken = { refresh: async () => ({ accessToken: `access-${Math.random()}`, refreshToken: REFRESH_TOKEN, expiresIn: 60 }) };
/** A token that has to be replaced. */
const age = async () => table().set(tokenId(), 'expiresAt', Date.now() - 1_000);

test('the table holds neither token; another instance with the key reads both', async () => {
  const token = await new Instance().token(tokenId(), encrypted(withRefreshToken)).get();
  const item = await table().item(tokenId());
  expect(item).toMatchObject({ accessToken: expect.any(Uint8Array), refreshToken: expect.any(Uint8Array), generation: 1 });
  const bytes = Buffer.concat([item?.accessToken as Uint8Array, item?.refreshToken as Uint8Array]).toString('latin1');
  expect(bytes).not.toContain(token);
  expect(bytes).not.toContain(REFRESH_TOKEN);
  expect(await new Instance().token(tokenId(), encrypted()).get()).toBe(token);
  await age();
  const given: unknown[] = [];
  await new Instance().token(tokenId(), encrypted({
    refresh: async ({ refreshToken }) => {
      given.push(refreshToken);
      return { accessToken: 'next', expiresIn: 60 };
    },
  })).get();
  expect(given).toEqual([REFRESH_TOKEN]);
});

test('one rotation costs the holder one data key, and each other instance one decryption; memory costs none', async () => {
  const { provider, options } = providerWith();
  const holder = new Instance().token(tokenId(), encrypted(options));
  const token = await holder.get();
  expect(await holder.get()).toBe(token);
  expect(operations()).toEqual(['GenerateDataKey']);
  const reader = new Instance().token(tokenId(), encrypted());
  expect([await reader.get(), await reader.get()]).toEqual([token, token]);
  expect(operations()).toEqual(['GenerateDataKey', 'Decrypt']);
  expect(kms.calls.map(call => [call.keyId, call.context])).toEqual(Array(2).fill([keyArn, { table: table().name, tokenId: tokenId() }]));
  expect(provider.calls).toBe(1);
});

/** Of the two texts in an item: the encrypted data key, and the nonce behind it. */
const partsOf = (item: Record<string, unknown> | undefined) => (['accessToken', 'refreshToken'] as const).map(attribute => {
  const envelope = item?.[attribute] as Uint8Array;
  const key = encryptedKeyOf(envelope)!;
  return { key: Buffer.from(key).toString('hex'), nonce: Buffer.from(envelope).subarray(3 + key.length, 3 + key.length + NONCE_BYTES).toString('hex') };
});

test('in one process, too, each generation has a data key of its own, and each text a nonce of its own', async () => {
  let calls = 0;
  const refresh = async () => ({ accessToken: `access-${++calls}`, refreshToken: `refresh-${calls}`, expiresIn: 60 });
  const instance = new Instance();
  const token = instance.token(tokenId(), encrypted({ refresh }));
  await token.get();
  const first = partsOf(await table().item(tokenId()));
  await age();
  expect(await token.refresh({ asked: {} })).toBe(true);
  const second = partsOf(await table().item(tokenId()));
  expect(calls).toBe(2);
  expect(first[0]?.key).toBe(first[1]?.key);
  expect(second[0]?.key).toBe(second[1]?.key);
  expect(second[0]?.key).not.toBe(first[0]?.key);
  expect(new Set([...first, ...second].map(({ nonce }) => nonce)).size).toBe(4);
});

test('waiters of another instance get the token that the holder encrypted; the provider is asked once', async () => {
  const { provider, options } = providerWith({ latencyMs: 100 });
  const tokens = await Promise.all(Array.from({ length: 8 }, async () => new Instance().token(tokenId(), encrypted(options)).get()));
  expect(new Set(tokens).size).toBe(1);
  expect(provider.calls).toBe(1);
  // What it costs: a data key for each that claimed, and one decryption for each but the holder.
  const claims = table().requests.map(({ body }) => JSON.stringify(body)).filter(body => body.includes('":lease"'));
  expect(operations().filter(operation => operation === 'GenerateDataKey')).toHaveLength(claims.length);
  expect(operations().filter(operation => operation === 'Decrypt')).toHaveLength(7);
});

test('a reply that is lost: the commit is sent again with the same bytes', async () => {
  const { options } = providerWith();
  let commits = 0;
  table().faults = ({ operation, body }) => {
    const isCommit = operation === 'UpdateItem' && JSON.stringify(body).includes(':accessToken');
    return isCommit && ++commits === 1 ? { kind: 'dropAfter' } : undefined;
  };
  const token = await new Instance().token(tokenId(), encrypted(options)).get();
  expect(commits).toBeGreaterThan(1);
  expect(operations()).toEqual(['GenerateDataKey']);
  expect(await new Instance().token(tokenId(), encrypted()).get()).toBe(token);
});

describe('the provider is not asked where its answer could not be stored:', () => {
  test.each([
    ['a key that is disabled', 'DisabledException', 'KEY_UNUSABLE'],
    ['a key about to be deleted', 'KMSInvalidStateException', 'KEY_UNUSABLE'],
    ['a key that is gone', 'NotFoundException', 'KEY_UNUSABLE'],
  ] as const)('%s', async (_, state, code) => {
    kms.setState(keyArn, state);
    const { provider, options } = providerWith();
    const error = await errorOf(new Instance().token(tokenId(), encrypted(options)).get());
    expect(error).toMatchObject({ name: 'SharedTokenError', code, tokenId: tokenId(), message: expect.stringContaining(keyArn) });
    expect(provider.calls).toBe(0);
    expect(await table().item(tokenId())).toBeUndefined(); // not even a claim
  });

  test('no permission for the key', async () => {
    kms.refuses = ({ operation }) => operation === 'GenerateDataKey' ? 'AccessDeniedException' : undefined;
    const { provider, options } = providerWith();
    expect(await errorOf(new Instance().token(tokenId(), encrypted(options)).get())).toMatchObject({ code: 'ACCESS_DENIED', message: expect.stringContaining(keyArn) });
    expect(provider.calls).toBe(0);
    expect(await table().item(tokenId())).toBeUndefined();
  });
});

describe('who cannot decrypt gets a typed error, and the item stays as it is:', () => {
  const hostile: [string, () => unknown, string][] = [
    ['a reader without access to the key', () => { kms.refuses = ({ operation }) => operation === 'Decrypt' ? 'AccessDeniedException' : undefined; }, 'ACCESS_DENIED'],
    ['a disabled key', () => { kms.setState(keyArn, 'DisabledException'); }, 'KEY_UNUSABLE'],
    ['another key', () => { keyArn = kms.createKey(); }, 'DECRYPTION_FAILED'],
    ['a token of another id', async () => table().put({ ...await table().item(tokenId()), tokenId: `${tokenId()}-2` }), 'DECRYPTION_FAILED'],
    ['the refresh token in the place of the token', async () => table().set(tokenId(), 'accessToken', (await table().item(tokenId()))?.refreshToken), 'DECRYPTION_FAILED'],
    ['a byte that was changed', async () => {
      const bytes = Buffer.from((await table().item(tokenId()))?.accessToken as Uint8Array);
      bytes.writeUInt8(255 - bytes.readUInt8(bytes.length - 20), bytes.length - 20);
      await table().set(tokenId(), 'accessToken', bytes);
    }, 'DECRYPTION_FAILED'],
    ['an envelope that was cut', async () => {
      await table().set(tokenId(), 'accessToken', ((await table().item(tokenId()))?.accessToken as Uint8Array).slice(0, 20));
    }, 'DECRYPTION_FAILED'],
    ['an envelope of another version', async () => {
      const bytes = Buffer.from((await table().item(tokenId()))?.accessToken as Uint8Array);
      bytes[0] = 2;
      await table().set(tokenId(), 'accessToken', bytes);
    }, 'DECRYPTION_FAILED'],
  ];

  test.each(hostile)('%s', async (what, prepare, code) => {
    await new Instance().token(tokenId(), encrypted(withRefreshToken)).get();
    await prepare();
    const id = what === 'a token of another id' ? `${tokenId()}-2` : tokenId();
    const before = await table().item(id);
    const { provider, options } = providerWith();
    for (const mine of [{}, options]) {
      const error = await errorOf(new Instance().token(id, encrypted(mine)).get());
      expect(error).toMatchObject({ name: 'SharedTokenError', code });
    }
    expect(provider.calls).toBe(0);
    expect(await table().item(id)).toEqual(before);
  });

  test('a function that knows no key', async () => {
    await new Instance().token(tokenId(), encrypted(withRefreshToken)).get();
    const before = await table().item(tokenId());
    const { provider, options } = providerWith();
    expect(await errorOf(new Instance().token(tokenId(), options).get())).toMatchObject({ code: 'DECRYPTION_FAILED', message: expect.stringContaining('knows no key') });
    expect(provider.calls).toBe(0);
    expect(await table().item(tokenId())).toEqual(before);
  });
});

test('a lease that is lost while the provider answers: the late commit needs nothing more of the key', async () => {
  await new Instance().token(tokenId(), encrypted(withRefreshToken)).get();
  await age();
  const refresh = async () => {
    await table().set(tokenId(), 'lease', { id: 'another', since: Date.now(), until: Date.now() + 9_000, holder: 'another' });
    kms.calls.length = 0;
    kms.setState(keyArn, 'DisabledException');
    return { accessToken: 'late', refreshToken: 'rotated', expiresIn: 60 };
  };
  expect(await new Instance().token(tokenId(), encrypted({ refresh })).get()).toBe('late');
  expect(operations()).toEqual([]);
  expect(await table().item(tokenId())).toMatchObject({ generation: 2, lease: { id: 'another' } });
  kms.setState(keyArn, 'enabled');
  expect(await new Instance().token(tokenId(), encrypted()).get()).toBe('late');
});

test('a data key is of one lease: who lost the race for it has no key left that could be used when it must not be', async () => {
  const { provider, options } = providerWith();
  const loser = new Instance();
  table().faults = async ({ operation }) => {
    if (operation === 'UpdateItem') await table().put({ tokenId: tokenId(), lease: { id: 'another', since: 1, until: Date.now() + 60_000, holder: 'another' } });
    return undefined;
  };
  await errorOf(loser.token(tokenId(), encrypted(options)).get({ timeoutMs: 400 }));
  table().faults = () => undefined;
  await table().delete(tokenId());
  kms.setState(keyArn, 'KMSInvalidStateException');
  expect(await errorOf(loser.token(tokenId(), encrypted(options)).get())).toMatchObject({ code: 'KEY_UNUSABLE' });
  expect(provider.calls).toBe(0);
});

test('a claim that is applied, and whose reply the key does not let in any more, gives the lease back', async () => {
  await new Instance().token(tokenId(), encrypted(withRefreshToken)).get();
  await age();
  const { provider, options } = providerWith();
  const instance = new Instance();
  await errorOf(instance.token(tokenId(), encrypted()).get({ timeoutMs: 300 })); // the token is known here; the refresh token is not
  kms.refuses = ({ operation }) => operation === 'Decrypt' ? 'DisabledException' : undefined;
  expect(await errorOf(instance.token(tokenId(), encrypted(options)).get())).toMatchObject({ code: 'KEY_UNUSABLE' });
  expect(await table().item(tokenId())).not.toHaveProperty('lease');
  expect(provider.calls).toBe(0);
});

test('KMS that never answers is told as the key', async () => {
  kms.hangs = true;
  const error = await errorOf(new Instance().token(tokenId(), encrypted(withRefreshToken)).get({ timeoutMs: 1_500 }));
  expect(error).toMatchObject({ code: 'TABLE_UNAVAILABLE', message: expect.stringContaining('the key that encrypts the tokens') });
});

test('KMS that answers without a key is asked again; the provider is asked once', async () => {
  let empty = 0;
  kms.refuses = () => ++empty <= 2 ? '' : undefined;
  const { provider, options } = providerWith();
  expect(await new Instance().token(tokenId(), encrypted(options)).get()).toBe('token-1');
  expect([provider.calls, empty]).toEqual([1, 3]);
});

test('a refresh token that cannot be decrypted is seen by the claim alone: the lease is given back, and all are told why', async () => {
  await new Instance().token(tokenId(), encrypted(withRefreshToken)).get();
  await table().set(tokenId(), 'refreshToken', (await table().item(tokenId()))?.accessToken);
  await age();
  const before = await table().item(tokenId());
  const { provider, options } = providerWith();
  expect(await errorOf(new Instance().token(tokenId(), encrypted(options)).get())).toMatchObject({ code: 'DECRYPTION_FAILED' });
  const failure = expect.objectContaining({ code: 'DECRYPTION_FAILED', count: 1 }) as object;
  expect(await table().item(tokenId())).toEqual({ ...before, failure });
  expect(await errorOf(new Instance().token(tokenId(), encrypted(options)).get({ timeoutMs: 500 })))
    .toMatchObject({ code: 'COOLING_DOWN', message: expect.stringContaining('DECRYPTION_FAILED') });
  expect(provider.calls).toBe(0);
});

describe('where encryption was turned on for a table in use', () => {
  test('a plain token is not used, but replaced; its refresh token is passed on, and encrypted by the next commit', async () => {
    const plain = new Instance();
    expect(await plain.token(tokenId(), { refresh: async () => ({ accessToken: 'plain', refreshToken: REFRESH_TOKEN, expiresIn: 60 }) }).get()).toBe('plain');
    const given: unknown[] = [];
    const refresh: SharedTokenOptions['refresh'] = async ({ refreshToken }) => {
      given.push(refreshToken);
      return { accessToken: 'sealed', refreshToken: 'rotated', expiresIn: 60 };
    };
    expect(await new Instance().token(tokenId(), encrypted({ refresh })).get()).toBe('sealed');
    expect(given).toEqual([REFRESH_TOKEN]);
    expect(await table().item(tokenId())).toMatchObject({ generation: 2, accessToken: expect.any(Uint8Array), refreshToken: expect.any(Uint8Array) });
  });

  test('who has the table, but not the key, cannot have a token of theirs used', async () => {
    await table().put({ tokenId: tokenId(), accessToken: 'planted', generation: 1, issuedAt: Date.now() });
    const reader = new Instance();
    expect(await errorOf(reader.token(tokenId(), encrypted()).get({ timeoutMs: 3_000 }))).toMatchObject({ code: 'NO_USABLE_TOKEN' });
  });

  test('a refresh token that another stored meanwhile is not replaced by the one that was to be encrypted', async () => {
    await table().put({ tokenId: tokenId(), refreshToken: REFRESH_TOKEN });
    const refresh = async () => {
      await table().set(tokenId(), 'refreshToken', 'rotated by a function without the key');
      return { accessToken: 'sealed', expiresIn: 60 };
    };
    expect(await new Instance().token(tokenId(), encrypted({ refresh })).get()).toBe('sealed');
    expect(await table().item(tokenId())).toMatchObject({ accessToken: expect.any(Uint8Array), refreshToken: 'rotated by a function without the key' });
  });

  test('a refresh token that the provider does not rotate is encrypted, too', async () => {
    await table().put({ tokenId: tokenId(), refreshToken: REFRESH_TOKEN });
    await new Instance().token(tokenId(), encrypted({ refresh: async () => ({ accessToken: 'sealed', expiresIn: 60 }) })).get();
    expect((await table().item(tokenId()))?.refreshToken).toEqual(expect.any(Uint8Array));
  });
});

test.each(['ThrottlingException', 'KMSInternalException'])('%s passes: it is tried again until it is over, and the provider is asked once', async (name) => {
  let refused = 0;
  kms.refuses = () => ++refused <= 4 ? name : undefined;
  const { provider, options } = providerWith();
  await new Instance().token(tokenId(), encrypted(options)).get();
  expect(refused).toBeGreaterThan(4);
  expect(provider.calls).toBe(1);
});

test('a key that cannot be reached until the deadline is told as that', async () => {
  kms.refuses = () => 'KMSInternalException';
  const error = await errorOf(new Instance().token(tokenId(), encrypted(withRefreshToken)).get({ timeoutMs: 1_500 }));
  expect(error).toMatchObject({ code: 'TABLE_UNAVAILABLE', message: expect.stringContaining('the key that encrypts the tokens') });
});

test('a key that is lost between claim and commit takes no token away: it is stored with the key made before', async () => {
  const refresh = async () => {
    kms.setState(keyArn, 'DisabledException');
    return { accessToken: 'fetched', refreshToken: REFRESH_TOKEN, expiresIn: 60 };
  };
  expect(await new Instance().token(tokenId(), encrypted({ refresh })).get()).toBe('fetched');
  kms.setState(keyArn, 'enabled');
  expect(await new Instance().token(tokenId(), encrypted()).get()).toBe('fetched');
});

test.each(['#', '#nonsense', '#arn:aws:kms:eu-central-1:111122223333:alias/mine', '#arn:aws:kms:eu-central-1:111122223333:key/1#'])(
  'the key %j is refused before anything is sent: nothing may be stored in plain', async (suffix) => {
    const error = await errorOf(new Instance().token(tokenId(), { ...withRefreshToken, table: `${table().name}${suffix}` }).get());
    expect(error).toMatchObject({ code: 'INVALID_OPTION', message: expect.stringContaining('is not the ARN of a KMS key') });
    expect(table().operations()).toEqual([]);
  });
