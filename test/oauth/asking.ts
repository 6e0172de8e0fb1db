import { inspect } from 'node:util';
import { RefreshError, type Refresh, type RefreshRequest, type RefreshResult, SharedTokenError } from '../../lambda-runtime';
import { failureOf } from '../../lambda-runtime/refresh-failure';

/** Stands in everything that must not be shown: secrets, tokens, and what providers write for people. */
export const SENTINEL = 'sentinel';

export const CLIENT = { clientId: 'my-client', clientSecret: `${SENTINEL}-client-secret` };

/** What the core does, without the core. */
export async function ask(refresh: Refresh, request: Partial<RefreshRequest> = {}): Promise<RefreshResult> {
  return refresh({ tokenId: 'crm', signal: new AbortController().signal, ...request });
}

/** The error of a refresh that fails: one whose code can be stored, which says more than that, and shows nothing secret. */
export async function failureFrom(refresh: Refresh, request: Partial<RefreshRequest> = {}): Promise<RefreshError> {
  const error: unknown = await ask(refresh, request).then(() => undefined, (thrown: unknown) => thrown);
  if (!(error instanceof RefreshError)) throw new Error(`This is no RefreshError: ${inspect(error)}`);
  expect(failureOf('crm', error, Date.now()).code).toBe(error.code);
  expect(error.message).not.toContain('The token could not be refreshed');
  expectNothingSecret(error);
  if (error.cause !== undefined) expect(Object.keys(error.cause as Error).filter(key => !['name', 'code'].includes(key))).toEqual([]);
  return error;
}

/** The error of options that cannot work. */
export function optionErrorOf(make: () => unknown): SharedTokenError {
  try {
    make();
  } catch (error) {
    if (!(error instanceof SharedTokenError)) throw error;
    expect(error.code).toBe('INVALID_OPTION');
    expectNothingSecret(error);
    return error;
  }
  throw new Error('These options were accepted');
}

export function expectNothingSecret(subject: unknown): void {
  const parts = [inspect(subject, { depth: 12, showHidden: true, getters: true }), JSON.stringify(subject) ?? '', String(subject)];
  if (subject instanceof Error) parts.push(subject.stack ?? '', subject.message);
  expect(parts.join('\n')).not.toContain(SENTINEL);
}
