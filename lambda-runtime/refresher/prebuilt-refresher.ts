import { type RefresherHandler, refresherHandler } from './refresher-handler';
import { ENV } from '../../src/private/contract';
import type { SourceSettings } from '../../src/private/source-settings';
import { fingerprintOf } from '../fingerprint';
import { SharedTokenError, type SharedTokenEvent } from '../index';
import { refreshFrom } from '../oauth';
import { sourceName } from '../source-name';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The refresher of a stack's `TokenSource`: what to ask, and how, stands in the environment.
 *
 * @throws SharedTokenError INVALID_OPTION where it does not
 */
export function prebuiltRefresher(environment: Environment): RefresherHandler {
  const settings = settingsIn(environment[ENV.SOURCE]);
  // Its log says what it did, one JSON object a line, without any token.
  const onEvent = (event: SharedTokenEvent) => console.log(JSON.stringify({ sharedToken: event }));
  const refresh = refreshFrom(settings);
  return refresherHandler({ tokenId: environment[ENV.TOKEN_ID], refresh, source: nameOf(settings), authLimitMs: limitIn(environment), onEvent });
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

function limitIn({ [ENV.AUTH_LIMIT_MS]: variable }: Environment): number | undefined {
  return variable === undefined ? undefined : Number(variable); // what is no number, the options of the token refuse
}

/** Its provider by its origin, with all settings: other ones make a stored token due. */
export function nameOf(settings: SourceSettings): string {
  return sourceName(new URL('url' in settings ? settings.url : settings.tokenUrl).origin, fingerprintOf(JSON.stringify(settings)));
}
