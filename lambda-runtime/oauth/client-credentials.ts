import { checkClientCredentials } from './check-options';
import { credentialSource } from './credentials';
import { clientCredentialsGrantRequest, processClientCredentialsResponse } from './libraries';
import type { ClientCredentialsOptions } from './options';
import { grantParameters, requestToken } from './token-request';
import { withCredentials } from './with-credentials';
import type { Refresh } from '../index';

/**
 * Fetches tokens by OAuth's client credentials grant (RFC 6749, section 4.4): a client that acts for itself, with no person involved.
 *
 * The token endpoint must answer as the standard says; for one that does not there is `httpRequest`. Credentials that are rotated are found without a
 * deployment: where the provider refuses them, the secret is read again, and a changed one is tried once.
 *
 * @throws SharedTokenError INVALID_OPTION, at once. The function that is returned throws a `RefreshError`, whose code is the provider's (`invalid_client`),
 * the HTTP status (`503`), Node's (`ECONNREFUSED`), or a {@link SourceErrorCode}.
 *
 * @example
 * const crm = new SharedToken('crm', {
 *   refresh: clientCredentials({
 *     tokenUrl: 'https://auth.example.com/oauth/token',
 *     credentials: { secretArn: process.env.CRM_SECRET }, // { "clientId": "...", "clientSecret": "..." }
 *     scopes: ['orders.read'],
 *   }),
 * });
 */
export function clientCredentials(options: ClientCredentialsOptions): Refresh {
  checkClientCredentials(options);
  const settings = { ...options };
  const source = credentialSource(settings.credentials, () => performance.now());
  return async ({ signal }) => withCredentials(source, signal, async fields => {
    const result = await requestToken({ settings, source, fields, signal }, {
      send: async (server, client, authentication, request) =>
        clientCredentialsGrantRequest(server, client, authentication, grantParameters(settings), request),
      judge: processClientCredentialsResponse,
    });
    // Some servers send one all the same; it would be a credential kept for nothing.
    return { ...result, refreshToken: undefined };
  });
}
