import { Duration } from 'aws-cdk-lib';
import * as ec2 from 'aws-cdk-lib/aws-ec2';
import * as kms from 'aws-cdk-lib/aws-kms';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as logs from 'aws-cdk-lib/aws-logs';
import * as scheduler from 'aws-cdk-lib/aws-scheduler';
import * as sqs from 'aws-cdk-lib/aws-sqs';
import { FirstToken } from './first-token';
import { TokenSource } from './token-source';

/**
 * Which token a refresher refreshes, from where, and when.
 *
 * `timeout` and what stands below it is of the function that comes with this library: a function of yours (`TokenSource.fromFunction`) has its own.
 */
export interface TokenRefresherProps {
  /** The id of the token: as it is, without `*`. */
  readonly tokenId: string;

  /** Where its tokens come from. */
  readonly source: TokenSource;

  /**
   * When the token is replaced though it works, such as every half of its life. A cron expression has its time zone.
   *
   * @default - never: when a reader's token is about to expire, or was refused
   */
  readonly schedule?: scheduler.ScheduleExpression;

  /**
   * How far from its time a run of the schedule may be, so that many schedules do not ask a provider at the same moment.
   *
   * @default TimeWindow.off()
   */
  readonly timeWindow?: scheduler.TimeWindow;

  /**
   * What a deployment does about the token.
   *
   * @default FirstToken.ASYNC
   */
  readonly firstToken?: FirstToken;

  /**
   * Where failures end up: runs of the schedule, asks of readers that nobody waits for, and the asynchronous first token. A standard queue.
   *
   * The messages hold no tokens. Set an alarm on the queue, if somebody should know.
   *
   * @default - a new queue, encrypted by SQS, that keeps messages for 14 days
   */
  readonly failureQueue?: sqs.IQueue;

  /**
   * How long one run may take.
   *
   * @default - 20 seconds above `authLimit`, for starting, reading the secret, and storing the token
   */
  readonly timeout?: Duration;

  /**
   * How long one auth request may take, for providers that are slow. So long may others have to wait for a refresher that died in the middle of it. Below `timeout`, and at most 880 seconds.
   *
   * @default Duration.seconds(10)
   */
  readonly authLimit?: Duration;

  /**
   * The VPC to run in, for providers that are reached through it. It needs a way to DynamoDB and to where the credentials are, too.
   *
   * The role then has the managed policy that Lambda needs for network interfaces (`AWSLambdaVPCAccessExecutionRole`), which is for all resources.
   *
   * @default - none
   */
  readonly vpc?: ec2.IVpc;

  /**
   * The subnets of the VPC.
   *
   * @default - private ones
   */
  readonly vpcSubnets?: ec2.SubnetSelection;

  /**
   * The security groups in the VPC.
   *
   * @default - a new one, which lets everything out
   */
  readonly securityGroups?: ec2.ISecurityGroup[];

  /**
   * Where the function logs. No log holds a token.
   *
   * @default - a new log group that keeps events for a month, and is deleted with the refresher
   */
  readonly logGroup?: logs.ILogGroup;

  /**
   * The version of Node.js that the function runs on, 20 or later.
   *
   * @default lambda.Runtime.NODEJS_LATEST - so that none is pinned here that Lambda retires one day
   */
  readonly runtime?: lambda.Runtime;

  /**
   * The memory of the function in MB.
   *
   * @default 256
   */
  readonly memorySize?: number;

  /**
   * The key that encrypts the environment of the function at rest. No secret is in it.
   *
   * @default - a key of AWS
   */
  readonly environmentEncryption?: kms.IKey;
}

/** How a function is attached to a refresher. */
export interface RefresherAttachOptions {
  /**
   * The environment variable that tells the function the name of the refresher's table.
   *
   * Needed for a function's second table only: the runtime looks for the first by itself. The function hands the variable to each token: `new SharedToken('erp', { table: process.env.ERP_TOKENS })`.
   *
   * @default 'SHARED_TOKEN_TABLE'
   */
  readonly tableVariable?: string;
}
