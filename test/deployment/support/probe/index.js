'use strict';

/** Makes one call to AWS in the name of the role that it was deployed with, and says what came of it. */
exports.handler = async ({ service, command, input }) => {
  const sdk = require(`@aws-sdk/client-${service}`);
  const client = new sdk[{ 'dynamodb': 'DynamoDBClient', 'lambda': 'LambdaClient', 'secrets-manager': 'SecretsManagerClient' }[service]]({ maxAttempts: 1 });
  try {
    await client.send(new sdk[`${command}Command`](input));
    return 'allowed';
  } catch (error) {
    return error.name.startsWith('AccessDenied') ? 'denied' : `allowed, then ${error.name}`;
  }
};
