'use strict';
const { RefreshError, SharedToken } = require('cdk-shared-token-table/runtime');
const behaviour = require('../behaviour.cjs');

const { AUTH_URL, CLIENT_ID, CLIENT_SECRET } = process.env;

/** Written by hand, as in the README. */
async function refresh({ signal }) {
  const authorization = `Basic ${Buffer.from(`${CLIENT_ID}:${CLIENT_SECRET}`).toString('base64')}`;
  const response = await fetch(AUTH_URL, { method: 'POST', headers: { authorization }, body: new URLSearchParams({ grant_type: 'client_credentials' }), signal });
  const answer = await response.json();
  if (!response.ok) throw new RefreshError(answer.error ?? String(response.status), { retryAfter: response.headers.get('retry-after') });
  return { accessToken: answer.access_token, expiresIn: answer.expires_in };
}

exports.handler = behaviour({ SharedToken, refresh });
