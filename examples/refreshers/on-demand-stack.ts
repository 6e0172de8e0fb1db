import { Stack } from 'aws-cdk-lib';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import { ordersFunction } from './orders-function';
import { OrdersStackProps } from './orders-props';
import { SharedTokenTable, TokenRefresher, TokenSource } from '../../src';

/** On demand alone: a token is fetched when one is about to expire, or was refused. Nothing runs where nobody needs one. */
export class OnDemandStack extends Stack {
  public readonly tokens: SharedTokenTable;
  public readonly crm: TokenRefresher;
  public readonly orders: lambda.Function;

  constructor(scope: Construct, id: string, { tokenUrl, apiUrl, credentials, ...props }: OrdersStackProps) {
    super(scope, id, props);
    this.tokens = new SharedTokenTable(this, 'Tokens');
    this.crm = this.tokens.addRefresher('Crm', {
      tokenId: 'crm',
      source: TokenSource.clientCredentials({ tokenUrl, credentials, scopes: ['orders.read'] }),
    });
    this.orders = ordersFunction(this, apiUrl);
    this.crm.attachTo(this.orders);
  }
}
