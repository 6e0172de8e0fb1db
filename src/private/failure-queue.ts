import { Duration, ResourceEnvironment, Stack, Token } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as sqs from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { keyToPermit } from './customer-key';
import { SharedTokenTableError } from './errors';
import { isOther } from './reference';

/** Keeps what failed for as long as SQS can: somebody may be on holiday. */
export function newFailureQueue(scope: Construct): sqs.IQueue {
  return new sqs.Queue(scope, 'Failures', {
    encryption: sqs.QueueEncryption.SQS_MANAGED,
    enforceSSL: true,
    retentionPeriod: Duration.days(14),
  });
}

/** @param home where the function and its schedule are */
export function checkFailureQueue(scope: Construct, queue: sqs.IQueue, home: Construct): void {
  if (queue.fifo) {
    throw new SharedTokenTableError(scope, {
      what: 'Neither Lambda nor EventBridge Scheduler delivers failures to a FIFO queue.',
      got: `the FIFO queue ${queue.node.path}`,
      expected: 'a standard queue',
      todo: 'Pass a standard queue as `failureQueue`, or leave it out.',
    });
  }
  const { account, region } = Stack.of(home);
  if (!isOther(queue.env.account, account) && !isOther(queue.env.region, region)) return;
  throw new SharedTokenTableError(scope, {
    what: 'Lambda and EventBridge Scheduler deliver failures within their account and region.',
    got: `the queue ${queue.node.path} in ${show(queue.env)}`,
    expected: `a queue in ${show({ account, region })}`,
    todo: 'Pass a queue of the stack of the refresher as `failureQueue`, or leave it out.',
  });
}

function show({ account, region }: ResourceEnvironment): string {
  return [account, region].map(value => Token.isUnresolved(value) ? 'some' : value).join('/');
}

/** CDK's own destination also lets the function look up the queue, which no service needs in order to deliver to it. */
export class FailureDestination implements lambda.IDestination {
  constructor(private readonly queue: sqs.IQueue) {}

  public bind(scope: Construct, fn: lambda.IFunction): lambda.DestinationConfig {
    allowSending(scope, this.queue, fn);
    return { destination: this.queue.queueArn };
  }
}

export function allowSending(scope: Construct, queue: sqs.IQueue, grantee: iam.IGrantable): void {
  iam.Grant.addToPrincipal({ grantee, actions: ['sqs:SendMessage'], resourceArns: [queue.queueArn] });
  const key = keyToPermit(scope, queue.encryptionMasterKey);
  if (!key) return;
  iam.Grant.addToPrincipal({
    grantee,
    // SQS encrypts with a data key that it has made, or decrypts the one that it still has.
    actions: ['kms:GenerateDataKey', 'kms:Decrypt'],
    resourceArns: [key.keyArn],
    conditions: { StringEquals: { 'kms:ViaService': `sqs.${queue.env.region}.amazonaws.com` } },
  });
}
