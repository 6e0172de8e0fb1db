import { SharedToken } from 'cdk-shared-token-table/runtime';
import { clientCredentials } from 'cdk-shared-token-table/runtime/oauth';
import behaviour from '../behaviour.cjs';

const { AUTH_URL, CLIENT_ID, CLIENT_SECRET } = process.env;

/** A source that the layer brings. */
const refresh = clientCredentials({ tokenUrl: AUTH_URL, credentials: { clientId: CLIENT_ID, clientSecret: CLIENT_SECRET } });

export const handler = behaviour({ SharedToken, refresh });
