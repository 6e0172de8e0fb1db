import { Duration } from 'aws-cdk-lib';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import { AuthorizationServer } from './authorization-server';
import { CONDUCTOR_ENV } from './contract';
import { bundled, testFunction } from './test-function';

/** Less than the two minutes that an assertion waits. */
const LIMIT = Duration.seconds(110);

/** The function that has consumers call the API at once, revokes their token, and has them call again. */
export function addConductor(scope: Construct, { server, consumers, tokenScope }: {
  readonly server: AuthorizationServer;
  readonly consumers: readonly lambda.Function[];
  readonly tokenScope: string;
}): lambda.Function {
  const conductor = testFunction(scope, 'Conductor', {
    code: bundled('conductor'),
    timeout: LIMIT,
    environment: {
      [CONDUCTOR_ENV.CONSUMERS]: consumers.map(({ functionName }) => functionName).join(','),
      [CONDUCTOR_ENV.SERVER]: server.function.functionName,
      [CONDUCTOR_ENV.SCOPE]: tokenScope,
    },
  });
  for (const invoked of [...consumers, server.function]) invoked.grantInvokeLatestVersion(conductor);
  return conductor;
}
