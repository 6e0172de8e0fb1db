import { join } from 'node:path';
import { Duration, Stack, StackProps } from 'aws-cdk-lib';
import * as dynamodb from 'aws-cdk-lib/aws-dynamodb';
import * as kms from 'aws-cdk-lib/aws-kms';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import { SharedTokenTable, TokenAccess } from '../../src';
import { ownLog } from '../own-log';

/** Where the third party's API is. */
export interface ReadOnlyStackProps extends StackProps {
  readonly apiUrl: string;
}

/** A function that uses two tokens which others refresh: it holds no credentials, and its policy keeps it from everything else in the table. */
export class ReadOnlyStack extends Stack {
  public readonly tokens: SharedTokenTable;
  public readonly report: lambda.Function;

  constructor(scope: Construct, id: string, props: ReadOnlyStackProps) {
    super(scope, id, props);

    this.tokens = new SharedTokenTable(this, 'Tokens', {
      encryption: dynamodb.TableEncryptionV2.customerManagedKey(new kms.Key(this, 'Key', { enableKeyRotation: true })),
    });

    this.report = new lambda.Function(this, 'Report', {
      ...ownLog(this, 'Report'),
      runtime: lambda.Runtime.NODEJS_24_X,
      handler: 'index.handler',
      code: lambda.Code.fromAsset(join(__dirname, 'handler')),
      timeout: Duration.seconds(15),
      environment: { API_URL: props.apiUrl },
    });

    this.tokens.attachTo(this.report, { access: TokenAccess.READ, tokenIds: ['crm', 'erp'] });
  }
}
