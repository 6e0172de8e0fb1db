import { Runtime, RuntimeFamily } from 'aws-cdk-lib/aws-lambda';
import type { Suppression } from './cdk-nag';

/** Where refreshers are in the examples, and in `scenarios.ts`. */
const PREBUILT = 'Tokens/Crm';
const OWN = ['RefreshCrm/SharedTokenRefresher', 'Refresher/SharedTokenRefresher'];

const majorOf = ({ name }: Runtime) => Number(/^nodejs(\d+)\.x$/.exec(name)?.[1] ?? 0);
const newestMajor = Math.max(...Runtime.ALL.filter(({ family }) => family === RuntimeFamily.NODEJS).map(majorOf));

/** All that the pack AwsSolutions finds, and that stays. docs/security-checks.md has the same. */
export const SUPPRESSIONS: readonly Suppression[] = [
  {
    finding: 'AwsSolutions-SQS3',
    constructs: [PREBUILT, ...OWN].map(refresher => `${refresher}/Failures/Resource`),
    reason: 'The queue is a dead-letter queue itself, of Lambda and of EventBridge Scheduler, which cdk-nag does not see: it knows those of queues and functions.',
  },
  {
    finding: 'AwsSolutions-SQS3',
    constructs: ['Failures/Resource'],
    reason: 'The same where the queue is the user\'s own (`failureQueue`).',
  },
  {
    finding: 'AwsSolutions-L1',
    constructs: [`${PREBUILT}/Function/Resource`],
    reason: 'The runtime is `Runtime.NODEJS_LATEST`, which older versions of CDK keep one behind the newest that they know. Node.js 22, which it is there, is supported; `runtime` chooses another.',
    isForThisCdk: majorOf(Runtime.NODEJS_LATEST) < newestMajor,
  },
  {
    finding: 'AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AWSLambdaVPCAccessExecutionRole]',
    constructs: [`${PREBUILT}/Role/Resource`],
    reason: 'Only with `vpc`: what Lambda needs for network interfaces, which AWS extends when Lambda needs more, as it did in 2024 (`ec2:DescribeSubnets`). Most of it cannot be restricted to resources.',
  },
  {
    finding: 'AwsSolutions-SMG4',
    constructs: ['CrmClient/Resource'],
    reason: 'In the examples: a credential of a third party, which Secrets Manager cannot rotate. A new value needs no deployment.',
  },
];

/** What is found by other packs in our constructs, by the rule: followed is none of it by default, and why. docs/security-checks.md has the same. */
export const OTHER_PACKS: Readonly<Record<string, string>> = {
  CloudWatchLogGroupEncrypted: 'Wants a key of KMS for logs, which CloudWatch encrypts in any case. No log holds a token. `logGroup` takes one with a key.',
  IAMNoInlinePolicy: 'Wants managed policies. Those here belong to one role each, which CDK writes as inline ones.',
  LambdaConcurrency: 'Wants reserved concurrency, which fails in accounts with little of it. How to set it is told in [refreshers.md](refreshers.md#what-asking-costs).',
  LambdaDLQ: 'Wants a dead-letter queue. The function has a failure destination, which gets more: the error as well as the event.',
  LambdaInsideVPC: 'Wants a VPC. `vpc` takes one; the table and most providers are outside of it.',
  LambdaTracing: 'Wants X-Ray, which needs a permission for all resources. The function logs each step.',
  SQSRedrivePolicy: 'As `AwsSolutions-SQS3` above.',
  LambdaLatestVersion: 'As `AwsSolutions-L1` above.',
};
