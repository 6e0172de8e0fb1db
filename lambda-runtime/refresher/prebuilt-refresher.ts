import { createHash } from 'node:crypto';
import { type RefresherHandler, refresherHandler } from './refresher-handler';
import { ENV } from '../../src/private/contract';
import type { SourceSettings } from '../../src/private/source-settings';
import { SharedTokenError, type Refresh, type SharedTokenEvent } from '../index';
import { refreshFrom } from '../oauth';

/**
 * The refresher of a stack's `TokenSource`: what to ask, and how, stands in the environment.
 *
 * @throws SharedTokenError INVALID_OPTION where it does not
 */
export function prebuiltRefresher(environment: Readonly<Record<string, string | undefined>>): RefresherHandler {
  const settings = settingsIn(environment[ENV.SOURCE]);
  const source = sourceName(settings);
  // Its log says what it did, one JSON object a line, without any token.
  const onEvent = (event: SharedTokenEvent) => console.log(JSON.stringify({ sharedToken: event }));
  return refresherHandler({ refresh: forThisProvider(source, refreshFrom(settings)), source, onEvent });
}

function settingsIn(variable: string | undefined): SourceSettings {
  try {
    const settings: unknown = JSON.parse(variable ?? '');
    if (typeof settings === 'object' && settings !== null) return settings as SourceSettings;
  } catch {
    // Said below.
  }
  throw new SharedTokenError('INVALID_OPTION', `The variable ${ENV.SOURCE} is not the JSON that a TokenSource writes: deploy the refresher by addRefresher.`);
}

const PROVIDER_DIGITS = 12;

/** Two parts: which provider, and which settings in all. Other settings make a stored token due; a refresh token is of one provider alone. */
export function sourceName(settings: SourceSettings): string {
  const url = 'url' in settings ? settings.url : settings.tokenUrl;
  return `${digest(url)}.${digest(JSON.stringify(settings))}`;
}

/** A refresh token that came from another provider is none of this one's business. */
function forThisProvider(source: string, refresh: Refresh): Refresh {
  const provider = source.slice(0, PROVIDER_DIGITS);
  return async request => {
    const isOfAnother = request.storedSource !== undefined && !request.storedSource.startsWith(provider);
    return refresh(isOfAnother ? { ...request, refreshToken: undefined } : request);
  };
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, PROVIDER_DIGITS);
}
