import { join } from 'node:path';
import { Duration, Stack, StackProps } from 'aws-cdk-lib';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as secretsmanager from 'aws-cdk-lib/aws-secretsmanager';
import { Construct } from 'constructs';
import { SharedTokenTable } from '../../src';
import { ownLog } from '../own-log';

/** Where the third party's endpoints are. */
export interface SendMessageStackProps extends StackProps {
  /** The OAuth token endpoint. */
  readonly authUrl: string;

  /** The API that wants the token. */
  readonly apiUrl: string;

  /**
   * The client's id and secret, as a JSON secret with the fields `clientId` and `clientSecret`. The function reads it at run time.
   *
   * @default - the function is a public client, which has no secret
   */
  readonly credentials?: secretsmanager.ISecret;
}

/** One function that calls a third party's API with a token that all its instances share. */
export class SendMessageStack extends Stack {
  public readonly tokens: SharedTokenTable;
  public readonly sendMessage: lambda.Function;

  constructor(scope: Construct, id: string, props: SendMessageStackProps) {
    super(scope, id, props);

    this.tokens = new SharedTokenTable(this, 'Tokens');

    this.sendMessage = new lambda.Function(this, 'SendMessage', {
      ...ownLog(this, 'SendMessage'),
      runtime: lambda.Runtime.NODEJS_24_X,
      handler: 'index.handler',
      code: lambda.Code.fromAsset(join(__dirname, 'handler')),
      timeout: Duration.seconds(15),
      environment: { AUTH_URL: props.authUrl, API_URL: props.apiUrl },
    });
    if (props.credentials) {
      this.sendMessage.addEnvironment('CREDENTIALS_SECRET_ARN', props.credentials.secretArn);
      props.credentials.grantRead(this.sendMessage);
    }

    this.tokens.attachTo(this.sendMessage, { tokenIds: ['crm'] });
  }
}
