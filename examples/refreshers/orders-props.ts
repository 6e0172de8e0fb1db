import { StackProps } from 'aws-cdk-lib';
import * as secretsmanager from 'aws-cdk-lib/aws-secretsmanager';

/** What the stacks of this folder need to know of the third party. */
export interface OrdersStackProps extends StackProps {
  /** The OAuth token endpoint. */
  readonly tokenUrl: string;

  /** The API that wants the token. */
  readonly apiUrl: string;

  /** The client's id and secret: JSON with the fields `clientId` and `clientSecret`. The refresher alone may read it. */
  readonly credentials: secretsmanager.ISecret;
}
