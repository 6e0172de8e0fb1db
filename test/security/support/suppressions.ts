import { Runtime, RuntimeFamily } from 'aws-cdk-lib/aws-lambda';
import type { Suppression } from './findings';

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
    constructs: ['PrebuiltWithAllOfTheUsers/Failures/Resource', 'OwnRefresherOnDemand/Failures/Resource'],
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
    constructs: [`PrebuiltInVpc/${PREBUILT}/Role/Resource`],
    reason: 'Only with `vpc`: what Lambda needs for network interfaces, which AWS extends when Lambda needs more, as it did in 2024 (`ec2:DescribeSubnets`). Most of it cannot be restricted to resources.',
  },
  {
    finding: 'AwsSolutions-SMG4',
    constructs: ['CrmSecrets/CrmClient/Resource'],
    reason: 'In the examples: a credential of a third party, which Secrets Manager cannot rotate. A new value needs no deployment.',
  },
];

/** CDK's own helper, which invokes functions at deployment: one in each stack. */
const TRIGGER = 'AWSCDKTriggerCustomResourceProviderCustomResourceProvider';

/** All that the rules of our own find (`safe-defaults.ts`), and that stays, by logical ids. docs/security-checks.md has the same. */
export const EXCEPTIONS: readonly Suppression[] = [
  {
    finding: 'policy-resource[lambda:InvokeFunction on <Arn>:*]',
    constructs: [`${TRIGGER}RoleE18FAF0A`],
    reason: 'CDK\'s trigger invokes a version of the refresher, whose number is not known before. It may invoke each version of this one function.',
  },
  {
    finding: 'policy-managed[AWSLambdaBasicExecutionRole]',
    constructs: [`${TRIGGER}RoleE18FAF0A`],
    reason: 'CDK\'s trigger has the role that CDK gives it. It sees no token: the refresher answers with none.',
  },
  {
    finding: 'function-log',
    constructs: [`${TRIGGER}Handler97BECD91`],
    reason: 'The log of CDK\'s trigger is made by Lambda, and CDK offers no other.',
  },
  {
    finding: 'policy-managed[AWSLambdaVPCAccessExecutionRole]',
    constructs: ['PrebuiltInVpc/TokensCrmRoleF626713C'],
    reason: 'As `AwsSolutions-IAM4` below.',
  },
  {
    finding: 'policy-resource[secretsmanager:GetSecretValue on arn:<AWS::Partition>:secretsmanager:eu-west-1:111111111111:secret:crm-client-??????]',
    constructs: ['PrebuiltWithSecretByName/TokensCrmRoleDefaultPolicyAD1780FC'],
    reason: 'A secret that is imported by its name: Secrets Manager adds six characters to it, which are not known.',
  },
  {
    finding: 'table-protection',
    constructs: [
      ...['TableToThrowAway', 'SharedTokenPolicies', 'SharedTokenReactive', 'SharedTokenRefresher'].map(stack => `${stack}/TokensTableFC8D39D1`),
      'SharedTokenPolicies/EncryptedTokensTable305F464F',
      'SharedTokenPolicies/TokensWithKeyTable949135DC',
    ],
    reason: 'Tables of tests, which are to go with their stacks (`RemovalPolicy.DESTROY`).',
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
