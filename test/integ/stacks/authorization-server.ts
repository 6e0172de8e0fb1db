import { RemovalPolicy } from 'aws-cdk-lib';
import * as dynamodb from 'aws-cdk-lib/aws-dynamodb';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as secretsmanager from 'aws-cdk-lib/aws-secretsmanager';
import { Construct } from 'constructs';
import { SERVER_ENV } from './contract';
import { bundled, testFunction } from './test-function';

/** The stand-in for a provider: a function with a public URL, its memory, and the secret of its one client. */
export class AuthorizationServer extends Construct {
  public readonly function: lambda.Function;
  public readonly state: dynamodb.TableV2;
  /** `{ clientId, clientSecret }`, made up at deployment. */
  public readonly credentials: secretsmanager.Secret;
  public readonly tokenUrl: string;
  public readonly apiUrl: string;

  constructor(scope: Construct, id: string) {
    super(scope, id);
    this.state = new dynamodb.TableV2(this, 'State', {
      partitionKey: { name: 'scope', type: dynamodb.AttributeType.STRING },
      billing: dynamodb.Billing.onDemand(),
      timeToLiveAttribute: 'expireAfter',
      removalPolicy: RemovalPolicy.DESTROY,
    });
    this.credentials = new secretsmanager.Secret(this, 'Credentials', {
      generateSecretString: { secretStringTemplate: JSON.stringify({ clientId: 'integ' }), generateStringKey: 'clientSecret', excludePunctuation: true },
      removalPolicy: RemovalPolicy.DESTROY,
    });
    this.function = testFunction(this, 'Function', {
      code: bundled('authorization-server'),
      environment: { [SERVER_ENV.TABLE]: this.state.tableName, [SERVER_ENV.SECRET]: this.credentials.secretArn },
    });
    this.state.grantReadWriteData(this.function);
    this.credentials.grantRead(this.function);
    const { url } = this.function.addFunctionUrl({ authType: lambda.FunctionUrlAuthType.NONE });
    this.tokenUrl = `${url}token`;
    this.apiUrl = `${url}api`;
  }
}
