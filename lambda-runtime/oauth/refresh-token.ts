import { checkRefreshToken } from './check-options';
import { credentialSource, fieldOf, textField } from './credentials';
import { processRefreshTokenResponse, refreshTokenGrantRequest } from './libraries';
import type { CredentialFields, RefreshTokenOptions } from './options';
import { grantParameters, requestToken } from './token-request';
import { readNewer, withCredentials } from './with-credentials';
import { type Refresh, RefreshError, type RefreshResult } from '../index';

/** A refresh token that was refused may be accepted later: a provider's mishap must not outlast it for as long as a process lives. */
const REFUSED_FOR_MS = 15 * 60_000;

/**
 * Fetches tokens by OAuth's refresh token grant (RFC 6749, section 6): for a person who has logged in once.
 *
 * The refresh token of that log-in stands in the secret, beside the client's credentials. Where the provider issues a new one with each token, the table keeps
 * the newest, and the secret's is no longer used. Once the stored one is refused (`invalid_grant`), the secret is read again: after another log-in, put the
 * new refresh token there, and nothing else is to be done.
 *
 * @throws SharedTokenError INVALID_OPTION, at once. The function that is returned throws a `RefreshError`, whose code is the provider's (`invalid_grant`),
 * the HTTP status (`503`), Node's (`ECONNREFUSED`), or a {@link SourceErrorCode}.
 *
 * @example
 * const calendar = new SharedToken('calendar', {
 *   refresh: refreshToken({
 *     tokenUrl: 'https://auth.example.com/oauth/token',
 *     credentials: { secretArn: process.env.CALENDAR_SECRET }, // { "clientId": "...", "clientSecret": "...", "refreshToken": "..." }
 *   }),
 * });
 */
export function refreshToken(options: RefreshTokenOptions): Refresh {
  checkRefreshToken(options);
  const settings = { ...options };
  const source = credentialSource(settings.credentials, () => performance.now());
  /** What this process had refused, and when; kept with the client, since a refresh token is refused to any other client, too. */
  const refusedAt = new Map<string, number>();
  const isKnownToBeRefused = (pair: string) => performance.now() - (refusedAt.get(pair) ?? -Infinity) < REFUSED_FOR_MS;
  const pairOf = (fields: CredentialFields, used: string) => JSON.stringify([fieldOf(fields, 'clientId'), used]);

  return async ({ signal, refreshToken: stored }) => {
    const redeem = async (fields: CredentialFields, used: string): Promise<RefreshResult> => {
      try {
        const result = await requestToken({ settings, source, fields, signal }, {
          send: async (server, client, authentication, request) =>
            refreshTokenGrantRequest(server, client, authentication, used, { ...request, additionalParameters: grantParameters(settings) }),
          judge: processRefreshTokenResponse,
          rotates: true,
        });
        return { ...result, refreshToken: toStore(result.refreshToken ?? used, used) };
      } catch (error) {
        if (isRefused(error)) refusedAt.set(pairOf(fields, used), performance.now());
        throw error;
      }
    };
    /**
     * The table keeps the one to use next, unless it is where it belongs already. One that the secret holds is not copied while the table has none: so the
     * next log-in counts as soon as it is in the secret. But where the stored one was refused, the working one takes its place, even if it is the secret's:
     * else each refresh would begin with the dead one.
     */
    const toStore = (next: string, used: string) => next === (stored ?? used) ? undefined : next;

    try {
      return await withCredentials(source, signal, async fields => redeem(fields, stored ?? textField(fields, 'refreshToken', source)));
    } catch (error) {
      if (!isRefused(error)) throw error;
      const fields = await readNewer(source, signal);
      const own = fields && fieldOf(fields, 'refreshToken');
      if (!fields || typeof own !== 'string' || isKnownToBeRefused(pairOf(fields, own))) throw error;
      return redeem(fields, own);
    }
  };
}

function isRefused(error: unknown): boolean {
  return error instanceof RefreshError && error.code === 'invalid_grant';
}
