'use strict';
const { clientCredentials } = require('cdk-shared-token-table/runtime/oauth');
const { refresherHandler } = require('cdk-shared-token-table/runtime/refresher');

const { CREDENTIALS_SECRET_ARN, TOKEN_URL } = process.env;

/** OAuth is what it is made of here; yours may ask in any way, as long as it answers with `{ accessToken, expiresIn }`. */
const fetchToken = clientCredentials({ tokenUrl: TOKEN_URL, credentials: { secretArn: CREDENTIALS_SECRET_ARN }, scopes: ['orders.read'] });

exports.handler = refresherHandler({
  refresh: fetchToken,
  source: `${TOKEN_URL}#orders.read`, // another one makes the stored token due
  onEvent: (event) => console.log(JSON.stringify({ sharedToken: event })),
});
