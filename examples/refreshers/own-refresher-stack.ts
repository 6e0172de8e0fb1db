import { join } from 'node:path';
import { Duration, Stack } from 'aws-cdk-lib';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { ScheduleExpression } from 'aws-cdk-lib/aws-scheduler';
import { Construct } from 'constructs';
import { ordersFunction } from './orders-function';
import { OrdersStackProps } from './orders-props';
import { SharedTokenTable, TokenRefresher, TokenSource } from '../../src';
import { ownLog } from '../own-log';

/** A refresher of your own, for a provider that no source fits: its function is yours, all around it is the same. */
export class OwnRefresherStack extends Stack {
  public readonly tokens: SharedTokenTable;
  public readonly crm: TokenRefresher;
  public readonly orders: lambda.Function;

  constructor(scope: Construct, id: string, { tokenUrl, apiUrl, credentials, ...props }: OrdersStackProps) {
    super(scope, id, props);
    const refreshCrm = new lambda.Function(this, 'RefreshCrm', {
      ...ownLog(this, 'RefreshCrm'),
      runtime: lambda.Runtime.NODEJS_24_X,
      handler: 'index.handler',
      code: lambda.Code.fromAsset(join(__dirname, 'own-refresher')),
      timeout: Duration.seconds(30),
      environment: { TOKEN_URL: tokenUrl, CREDENTIALS_SECRET_ARN: credentials.secretArn },
    });
    credentials.grantRead(refreshCrm);

    this.tokens = new SharedTokenTable(this, 'Tokens');
    this.crm = this.tokens.addRefresher('Crm', {
      tokenId: 'crm',
      source: TokenSource.fromFunction(refreshCrm),
      schedule: ScheduleExpression.rate(Duration.hours(6)),
    });
    this.orders = ordersFunction(this, apiUrl);
    this.crm.attachTo(this.orders);
  }
}
