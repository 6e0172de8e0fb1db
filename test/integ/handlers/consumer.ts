import { createHash, randomUUID } from 'node:crypto';
import { CONSUMER_ENV } from '../stacks/contract';
import { SharedToken } from 'cdk-shared-token-table/runtime';
import { clientCredentials } from 'cdk-shared-token-table/runtime/oauth';

/** What a consumer tells of one call of the API. */
export interface Served {
  readonly status: number;
  /** Tells this instance of the function from others. */
  readonly instance: string;
  /** Of the token that the API accepted. */
  readonly fingerprint: string;
}

const instance = randomUUID();
const { [CONSUMER_ENV.SCOPE]: scope = '', [CONSUMER_ENV.TOKEN_URL]: tokenUrl = '', [CONSUMER_ENV.API_URL]: apiUrl = '' } = process.env;
const secretArn = process.env[CONSUMER_ENV.SECRET];

const token = new SharedToken(scope, {
  refresh: secretArn ? clientCredentials({ tokenUrl, credentials: { secretArn }, scopes: [scope] }) : undefined,
});

/** Calls the API once, in TypeScript that was bundled. Without credentials it only reads. */
export async function handler(_event: unknown, context: { getRemainingTimeInMillis(): number }): Promise<Served> {
  let used = '';
  const { status } = await token.use(async accessToken => {
    used = accessToken;
    return fetch(apiUrl, { headers: { authorization: `Bearer ${accessToken}` } });
  }, { context });
  return { status, instance, fingerprint: createHash('sha256').update(used).digest('hex').slice(0, 12) };
}
