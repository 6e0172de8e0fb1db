import { join } from 'node:path';
import { RemovalPolicy, Stack } from 'aws-cdk-lib';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { NodejsFunction } from 'aws-cdk-lib/aws-lambda-nodejs';
import { Construct } from 'constructs';
import { AuthorizationServer } from './authorization-server';
import { addConductor } from './conductor';
import { CONSUMER_ENV } from './contract';
import { commonProps, HANDLERS, PROVIDED_MODULES } from './test-function';
import { SharedTokenTable } from '../../../src';

const TOKEN_ID = 'reactive';

/** Three functions, each in another form, that share a token and refresh it themselves when the API refuses it. */
export class ReactiveStack extends Stack {
  public readonly server: AuthorizationServer;
  public readonly tokens: SharedTokenTable;
  public readonly conductor: lambda.Function;

  constructor(scope: Construct, id: string) {
    super(scope, id);
    this.server = new AuthorizationServer(this, 'Server');
    this.tokens = new SharedTokenTable(this, 'Tokens', { removalPolicy: RemovalPolicy.DESTROY });
    const environment = {
      [CONSUMER_ENV.SCOPE]: TOKEN_ID,
      [CONSUMER_ENV.TOKEN_URL]: this.server.tokenUrl,
      [CONSUMER_ENV.API_URL]: this.server.apiUrl,
      [CONSUMER_ENV.SECRET]: this.server.credentials.secretArn,
    };
    const consumers = [
      this.plain('CommonJs', 'consumer-cjs', environment),
      this.plain('EsModule', 'consumer-esm', environment),
      new NodejsFunction(this, 'Bundled', {
        ...commonProps(this, 'Bundled'),
        entry: join(HANDLERS, 'consumer.ts'),
        bundling: { externalModules: PROVIDED_MODULES },
        environment,
      }),
    ];
    for (const consumer of consumers) {
      this.tokens.attachTo(consumer, { tokenIds: [TOKEN_ID] });
      this.server.credentials.grantRead(consumer);
    }
    this.conductor = addConductor(this, { server: this.server, consumers, tokenScope: TOKEN_ID });
  }

  private plain(id: string, folder: string, environment: Record<string, string>): lambda.Function {
    return new lambda.Function(this, id, { ...commonProps(this, id), handler: 'index.handler', code: lambda.Code.fromAsset(join(HANDLERS, folder)), environment });
  }
}
