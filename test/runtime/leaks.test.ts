import { inspect } from 'node:util';
import { RefreshError } from '../../lambda-runtime';
import { Instance } from '../support/instance';
import { tablePerFile } from '../support/per-test';

/*
 * I8. The sentinels stand for a token and a credential; whatever a program could print of us is searched for them.
 */
const TOKEN = 'sentinel-token';
const CREDENTIAL = 'sentinel-credential';
const { table, tokenId } = tablePerFile();

function everythingPrintable(subject: unknown): string {
  const parts = [inspect(subject, { depth: 12, showHidden: true, getters: true }), JSON.stringify(subject) ?? '', String(subject)];
  if (subject instanceof Error) parts.push(subject.stack ?? '', subject.message);
  return parts.join('\n');
}

function expectNoLeak(...subjects: readonly unknown[]): void {
  for (const subject of subjects) {
    const text = everythingPrintable(subject);
    expect(text.length).toBeGreaterThan(0);
    expect(text).not.toContain(TOKEN);
    expect(text).not.toContain(CREDENTIAL);
  }
}

test('a SharedToken that holds a token in memory shows neither it nor the stored credential', async () => {
  const instance = new Instance();
  const token = instance.token(tokenId(), { refresh: async () => ({ accessToken: TOKEN, refreshToken: CREDENTIAL, expiresIn: 60 }) });
  expect(await token.get()).toBe(TOKEN);
  token.reject(TOKEN);
  expectNoLeak(token, instance.events);
});

test.each([
  ['a bad expiry', async () => ({ accessToken: TOKEN, refreshToken: CREDENTIAL, expiresIn: -1 })],
  ['a refresh token of a wrong type', async () => ({ accessToken: TOKEN, refreshToken: [CREDENTIAL] as unknown as string })],
  ['a token too large', async () => ({ accessToken: TOKEN.repeat(40_000) })],
  ['a refused refresh', async () => { throw new RefreshError('invalid_client'); }],
  ['a refresh that hangs', async () => new Promise<never>(() => {})],
])('%s: error, events and item', async (_, refresh) => {
  const now = Date.now();
  const expired = { generation: 1, issuedAt: now - 9_000, expiresAt: now - 1_000 };
  await table().put({ tokenId: tokenId(), accessToken: TOKEN, refreshToken: CREDENTIAL, ...expired });
  const instance = new Instance();
  const token = instance.token(tokenId(), { refresh, authLimitMs: 200 });
  const error: unknown = await token.get({ timeoutMs: 900 }).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(Error);
  expectNoLeak(error, instance.events, (await table().item(tokenId()))?.failure);
});

test('errors of the table: neither the request nor the stored item is shown', async () => {
  await table().put({ tokenId: tokenId(), accessToken: TOKEN, refreshToken: CREDENTIAL, generation: 'x', issuedAt: 1 });
  const instance = new Instance();
  const invalid: unknown = await instance.token(tokenId()).get().catch((thrown: unknown) => thrown);
  table().faults = ({ operation }) => operation === 'UpdateItem' ? { kind: 'error', type: 'ValidationException' } : undefined;
  const refused: unknown = await new Instance().token(`${tokenId()}-2`, { refresh: async () => ({ accessToken: TOKEN, expiresIn: 60 }) })
    .get().catch((thrown: unknown) => thrown);
  expect([invalid, refused]).toEqual([expect.objectContaining({ code: 'INVALID_ITEM' }), expect.objectContaining({ code: 'TABLE_REQUEST_REFUSED' })]);
  expectNoLeak(invalid, refused, instance.events);
});
