import { createHash } from 'node:crypto';
import { type RefresherHandler, refresherHandler } from './refresher-handler';
import { ENV } from '../../src/private/contract';
import type { SourceSettings } from '../../src/private/source-settings';
import { SharedTokenError, type SharedTokenEvent } from '../index';
import { refreshFrom } from '../oauth';

/**
 * The refresher of a stack's `TokenSource`: what to ask, and how, stands in the environment.
 *
 * @throws SharedTokenError INVALID_OPTION where it does not
 */
export function prebuiltRefresher(environment: Readonly<Record<string, string | undefined>>): RefresherHandler {
  const settings = settingsIn(environment[ENV.SOURCE]);
  // Its log says what it did, one JSON object a line, without any token.
  const onEvent = (event: SharedTokenEvent) => console.log(JSON.stringify({ sharedToken: event }));
  const authLimitMs = Number(environment[ENV.AUTH_LIMIT_MS]) || undefined;
  return refresherHandler({ refresh: refreshFrom(settings), source: sourceName(settings), authLimitMs, onEvent });
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

/** The provider, by its origin, and all settings: others make a stored token due. */
export function sourceName(settings: SourceSettings): string {
  return `${new URL('url' in settings ? settings.url : settings.tokenUrl).origin}#${digest(JSON.stringify(settings))}`;
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}
