import { invalidOption } from './check-options';
import { clientCredentials } from './client-credentials';
import { httpRequest } from './http-request';
import type { ClientCredentialsOptions, HttpRequestOptions, RefreshTokenOptions } from './options';
import { refreshToken } from './refresh-token';
import type { SourceSettings } from '../../src/private/source-settings';
import type { Refresh } from '../index';

/** What is checked is `settings`, whatever their type says: they may come from another version. */
const SOURCES: Readonly<Record<SourceSettings['kind'], (settings: object) => Refresh>> = {
  client_credentials: settings => clientCredentials(settings as ClientCredentialsOptions),
  refresh_token: settings => refreshToken(settings as RefreshTokenOptions),
  http_request: settings => httpRequest(settings as HttpRequestOptions),
};

/**
 * The source that settings describe, as a stack hands them to a prebuilt refresher.
 *
 * @throws SharedTokenError INVALID_OPTION, at once: the kind or a setting is unknown here, or a value cannot work
 */
export function refreshFrom(settings: SourceSettings): Refresh {
  if (typeof settings !== 'object' || settings === null) throw invalidOption('refreshFrom', 'the settings are not an object.');
  const { kind, ...options } = settings;
  if (Object.hasOwn(SOURCES, kind)) return SOURCES[kind](options);
  throw invalidOption('refreshFrom', `there is no kind of source ${JSON.stringify(kind)}. Known: ${Object.keys(SOURCES).join(', ')}. ` +
    'Deploy the stack and its functions with one version of the library.');
}
