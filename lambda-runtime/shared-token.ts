import { createDynamoDbTokenStore } from './dynamodb-token-store';
import { systemHost } from './host';
import { lambdaRefresher } from './lambda-refresher';
import type { SharedTokenOptions } from './public-types';
import { TokenClient } from './token-client';
import { TokenProcess } from './token-process';

/** The one piece of module state: however many `SharedToken`s name a token, a process has one memory and one flight for it. */
const thisProcess = new TokenProcess(systemHost, createDynamoDbTokenStore, lambdaRefresher);

/**
 * One token that many functions share.
 *
 * Make it once, outside the handler. A token in memory is used without any I/O; a rejected or expired one is replaced by exactly one instance, while the
 * others wait for what it fetches.
 *
 * @example
 * const crm = new SharedToken('crm', { refresh: async ({ signal }) => { ... return { accessToken, expiresIn }; } });
 *
 * export const handler = async (event, context) =>
 *   crm.use(token => fetch(API_URL, { headers: { authorization: `Bearer ${token}` } }), { context });
 */
export class SharedToken extends TokenClient {
  /**
   * @param tokenId names the token: 1 to 2,048 bytes of UTF-8
   * @throws SharedTokenError INVALID_TOKEN_ID or INVALID_OPTION
   */
  constructor(tokenId: string, options: SharedTokenOptions = {}) {
    super(thisProcess, tokenId, options);
  }
}
