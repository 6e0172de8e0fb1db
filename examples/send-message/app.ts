import { App, Stack } from 'aws-cdk-lib';
import * as secretsmanager from 'aws-cdk-lib/aws-secretsmanager';
import { SendMessageStack } from './send-message-stack';

const app = new App();
const secrets = new Stack(app, 'CrmSecrets');

new SendMessageStack(app, 'SendMessage', {
  authUrl: 'https://auth.example.com/oauth/token',
  apiUrl: 'https://api.example.com/v1/messages',
  credentials: new secretsmanager.Secret(secrets, 'CrmClient', { description: 'JSON with clientId and clientSecret' }),
});
