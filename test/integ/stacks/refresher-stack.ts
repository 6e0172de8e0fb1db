import { Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import * as kms from 'aws-cdk-lib/aws-kms';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { SqsEventSource } from 'aws-cdk-lib/aws-lambda-event-sources';
import { ScheduleExpression } from 'aws-cdk-lib/aws-scheduler';
import * as sqs from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { AuthorizationServer } from './authorization-server';
import { addConductor } from './conductor';
import { CONSUMER_ENV, FAILURES_ENV, UNAVAILABLE_SCOPE } from './contract';
import { bundled, shortLog, testFunction } from './test-function';
import { FirstToken, SharedTokenTable, TokenRefresher, TokenRefresherProps, TokenSource } from '../../../src';

/** The ids of the tokens; each is the scope that is asked for, too, where the server gives it. */
export const TOKEN_IDS = { ON_DEMAND: 'on-demand', SCHEDULED: 'scheduled', FAILING: 'failing', FAILING_ENCRYPTED: 'failing-encrypted' } as const;

const EACH_MINUTE = ScheduleExpression.rate(Duration.minutes(1));

/** Refreshers, each for another thing that they do: on demand, by a schedule, and in vain. */
export class RefresherStack extends Stack {
  public readonly server: AuthorizationServer;
  public readonly tokens: SharedTokenTable;
  public readonly onDemand: TokenRefresher;
  public readonly failing: TokenRefresher;
  public readonly conductor: lambda.Function;
  /** The functions behind the failure queues, by the id of the token. */
  public readonly noting = new Map<string, lambda.Function>();

  constructor(scope: Construct, id: string) {
    super(scope, id);
    this.server = new AuthorizationServer(this, 'Server');
    this.tokens = new SharedTokenTable(this, 'Tokens', { removalPolicy: RemovalPolicy.DESTROY });

    this.onDemand = this.addRefresher('OnDemand', TOKEN_IDS.ON_DEMAND, TOKEN_IDS.ON_DEMAND, { firstToken: FirstToken.REQUIRED });
    this.addRefresher('Scheduled', TOKEN_IDS.SCHEDULED, TOKEN_IDS.SCHEDULED, { schedule: EACH_MINUTE });
    this.failing = this.addRefresher('Failing', TOKEN_IDS.FAILING, UNAVAILABLE_SCOPE, { schedule: EACH_MINUTE });
    const failingEncrypted = this.addRefresher('FailingEncrypted', TOKEN_IDS.FAILING_ENCRYPTED, UNAVAILABLE_SCOPE, {
      schedule: EACH_MINUTE, failureQueue: this.encryptedQueue(),
    });
    this.noteFailures(this.failing);
    this.noteFailures(failingEncrypted);

    const reader = testFunction(this, 'Reader', {
      code: bundled('consumer'),
      environment: { [CONSUMER_ENV.SCOPE]: TOKEN_IDS.ON_DEMAND, [CONSUMER_ENV.API_URL]: this.server.apiUrl },
    });
    this.onDemand.attachTo(reader);
    this.conductor = addConductor(this, { server: this.server, consumers: [reader], tokenScope: TOKEN_IDS.ON_DEMAND });
  }

  private addRefresher(id: string, tokenId: string, scope: string, props: Omit<TokenRefresherProps, 'tokenId' | 'source'>): TokenRefresher {
    const { tokenUrl, credentials } = this.server;
    const refresher = this.tokens.addRefresher(id, {
      tokenId,
      source: TokenSource.clientCredentials({ tokenUrl, credentials, scopes: [scope] }),
      logGroup: shortLog(this, `${id}Log`),
      ...props,
    });
    // It is invoked while the stack is deployed: not before all may reach the server.
    refresher.node.addDependency(this.server);
    return refresher;
  }

  private encryptedQueue(): sqs.Queue {
    const encryptionMasterKey = new kms.Key(this, 'QueueKey', { removalPolicy: RemovalPolicy.DESTROY, pendingWindow: Duration.days(7) });
    return new sqs.Queue(this, 'EncryptedFailures', { encryptionMasterKey, enforceSSL: true, retentionPeriod: Duration.days(1), removalPolicy: RemovalPolicy.DESTROY });
  }

  private noteFailures({ tokenId, failureQueue }: TokenRefresher): void {
    const noting = testFunction(this, `FailuresOf-${tokenId}`, {
      code: bundled('failures'),
      environment: { [FAILURES_ENV.TABLE]: this.server.state.tableName, [FAILURES_ENV.PREFIX]: `${tokenId}/` },
    });
    this.server.state.grantWriteData(noting);
    this.noting.set(tokenId, noting);
    noting.addEventSource(new SqsEventSource(failureQueue, { batchSize: 1 }));
  }
}
