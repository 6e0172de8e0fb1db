'use strict';

const { createHash, randomUUID } = require('node:crypto');

const CLIENTS = { 'dynamodb': 'DynamoDBClient', 'kms': 'KMSClient', 'lambda': 'LambdaClient', 'secrets-manager': 'SecretsManagerClient' };

/** Makes one call to AWS in the name of the role that it was deployed with, or gets a token by the runtime, and says what came of it. */
exports.handler = async event => event.token ? getToken(event.token) : call(event);

async function call({ service, command, input }) {
  const sdk = require(`@aws-sdk/client-${service}`);
  const client = new sdk[CLIENTS[service]]({ maxAttempts: 1 });
  try {
    await client.send(new sdk[`${command}Command`](input));
    return 'allowed';
  } catch (error) {
    return error.name.startsWith('AccessDenied') ? 'denied' : `allowed, then ${error.name}`;
  }
}

/** @returns a fingerprint, or the code of the error */
async function getToken({ tokenId, refreshes }) {
  const { SharedToken } = require('cdk-shared-token-table/runtime');
  const token = new SharedToken(tokenId, refreshes ? { refresh: async () => ({ accessToken: randomUUID(), expiresIn: 3_600 }) } : {});
  try {
    return createHash('sha256').update(await token.get()).digest('hex');
  } catch (error) {
    return error.code;
  }
}
