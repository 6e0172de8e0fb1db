import { RemovalPolicy } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as logs from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';

/** What a function needs in order to log: a group that ends, and a role that may write to it. CDK's own role may write to every log of the account. */
export interface OwnLog {
  readonly role: iam.Role;
  readonly logGroup: logs.LogGroup;
}

/** For the function of this id: `new lambda.Function(scope, id, { ...ownLog(scope, id), ... })`. */
export function ownLog(scope: Construct, id: string): OwnLog {
  const role = new iam.Role(scope, `${id}Role`, { assumedBy: new iam.ServicePrincipal('lambda.amazonaws.com') });
  const logGroup = new logs.LogGroup(scope, `${id}Logs`, { retention: logs.RetentionDays.ONE_MONTH, removalPolicy: RemovalPolicy.DESTROY });
  logGroup.grantWrite(role);
  return { role, logGroup };
}
