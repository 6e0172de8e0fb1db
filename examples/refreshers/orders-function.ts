import { join } from 'node:path';
import { Duration } from 'aws-cdk-lib';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import { ownLog } from '../own-log';

/** A function that uses the token and holds no credentials: the same one in each of these stacks. */
export function ordersFunction(scope: Construct, apiUrl: string): lambda.Function {
  return new lambda.Function(scope, 'Orders', {
    ...ownLog(scope, 'Orders'),
    runtime: lambda.Runtime.NODEJS_24_X,
    handler: 'index.handler',
    code: lambda.Code.fromAsset(join(__dirname, 'orders')),
    timeout: Duration.seconds(15),
    environment: { API_URL: apiUrl },
  });
}
