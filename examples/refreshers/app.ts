import { App, Stack } from 'aws-cdk-lib';
import * as secretsmanager from 'aws-cdk-lib/aws-secretsmanager';
import { OnDemandStack } from './on-demand-stack';
import { OrdersStack } from './orders-stack';
import { OwnRefresherStack } from './own-refresher-stack';
import { ScheduledStack } from './scheduled-stack';

const app = new App();
const secrets = new Stack(app, 'CrmSecrets');
const props = {
  tokenUrl: 'https://auth.example.com/oauth/token',
  apiUrl: 'https://api.example.com/v1/orders',
  credentials: new secretsmanager.Secret(secrets, 'CrmClient', { description: 'JSON with clientId and clientSecret' }),
};

new ScheduledStack(app, 'Scheduled', props);
new OnDemandStack(app, 'OnDemand', props);
new OrdersStack(app, 'Orders', props);
new OwnRefresherStack(app, 'OwnRefresher', props);
