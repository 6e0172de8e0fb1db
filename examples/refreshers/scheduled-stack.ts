import { Duration, Stack } from 'aws-cdk-lib';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { ScheduleExpression } from 'aws-cdk-lib/aws-scheduler';
import { Construct } from 'constructs';
import { ordersFunction } from './orders-function';
import { OrdersStackProps } from './orders-props';
import { SharedTokenTable, TokenAccess, TokenRefresher, TokenSource } from '../../src';

/** By a schedule alone: one function writes, every other one only reads. A token that the API revokes early is missing until the next run. */
export class ScheduledStack extends Stack {
  public readonly tokens: SharedTokenTable;
  public readonly crm: TokenRefresher;
  public readonly orders: lambda.Function;

  constructor(scope: Construct, id: string, { tokenUrl, apiUrl, credentials, ...props }: OrdersStackProps) {
    super(scope, id, props);
    this.tokens = new SharedTokenTable(this, 'Tokens');
    this.crm = this.tokens.addRefresher('Crm', {
      tokenId: 'crm',
      source: TokenSource.clientCredentials({ tokenUrl, credentials, scopes: ['orders.read'], tokenLife: Duration.hours(1) }),
      schedule: ScheduleExpression.rate(Duration.minutes(30)),
    });
    this.orders = ordersFunction(this, apiUrl);
    this.tokens.attachTo(this.orders, { access: TokenAccess.READ, tokenIds: ['crm'] });
  }
}
