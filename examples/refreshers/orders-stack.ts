import { Duration, Stack, TimeZone } from 'aws-cdk-lib';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { ScheduleExpression, TimeWindow } from 'aws-cdk-lib/aws-scheduler';
import { Construct } from 'constructs';
import { ordersFunction } from './orders-function';
import { OrdersStackProps } from './orders-props';
import { SharedTokenTable, TokenRefresher, TokenSource } from '../../src';

/** By a schedule and on demand: a fresh token before the day begins, and another one within moments should the API revoke it. */
export class OrdersStack extends Stack {
  public readonly tokens: SharedTokenTable;
  public readonly crm: TokenRefresher;
  public readonly orders: lambda.Function;

  constructor(scope: Construct, id: string, { tokenUrl, apiUrl, credentials, ...props }: OrdersStackProps) {
    super(scope, id, props);
    this.tokens = new SharedTokenTable(this, 'Tokens');
    this.crm = this.tokens.addRefresher('Crm', {
      tokenId: 'crm',
      source: TokenSource.clientCredentials({ tokenUrl, credentials, scopes: ['orders.read'] }),
      schedule: ScheduleExpression.cron({ minute: '30', hour: '5', timeZone: TimeZone.EUROPE_BERLIN }),
      timeWindow: TimeWindow.flexible(Duration.minutes(15)),
    });
    this.orders = ordersFunction(this, apiUrl);
    this.crm.attachTo(this.orders);
  }
}
