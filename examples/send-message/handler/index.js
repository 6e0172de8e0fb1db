'use strict';
const { RefreshError, SharedToken } = require('cdk-shared-token-table/runtime');

const { API_URL, AUTH_LIMIT_MS = '10000', AUTH_URL, CREDENTIALS_SECRET_ARN } = process.env;

/** The client's credentials: read when they are needed, never kept in the environment. Without a secret this is a public client. */
async function readCredentials() {
  if (!CREDENTIALS_SECRET_ARN) return { clientId: 'send-message' };
  const { GetSecretValueCommand, SecretsManagerClient } = require('@aws-sdk/client-secrets-manager');
  const secret = await new SecretsManagerClient({}).send(new GetSecretValueCommand({ SecretId: CREDENTIALS_SECRET_ARN }));
  return JSON.parse(secret.SecretString);
}

/** The one request to the provider. However many instances need a token, one of them makes it. */
async function refresh({ signal }) {
  const { clientId, clientSecret } = await readCredentials();
  const body = new URLSearchParams({ grant_type: 'client_credentials', client_id: clientId });
  if (clientSecret) body.set('client_secret', clientSecret);
  const response = await fetch(AUTH_URL, { method: 'POST', body, signal });
  if (!response.ok) {
    const { error } = await response.json().catch(() => ({})); // OAuth's own code says more than the status: 'invalid_client'
    throw new RefreshError(error ?? String(response.status), { retryAfter: response.headers.get('retry-after') });
  }
  const { access_token: accessToken, expires_in: expiresIn } = await response.json();
  return { accessToken, expiresIn };
}

const crm = new SharedToken('crm', {
  refresh,
  authLimitMs: Number(AUTH_LIMIT_MS),
  onEvent: (event) => console.log(JSON.stringify({ sharedToken: event })),
});

exports.handler = async (event, context) => {
  const response = await crm.use((token) => fetch(API_URL, { headers: { authorization: `Bearer ${token}` } }), { context });
  return { statusCode: response.status, body: await response.text() };
};
