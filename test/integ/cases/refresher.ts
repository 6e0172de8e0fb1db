import { ExpectedResult, type IApiCall, InvocationType, Match } from '@aws-cdk/integ-tests-alpha';
import { type App, Duration } from 'aws-cdk-lib';
import { roundsOf } from './expectations';
import type { FailedInvocation } from '../stacks/contract';
import { integTest } from '../stacks/integ-test';
import { RefresherStack, TOKEN_IDS } from '../stacks/refresher-stack';

/** How many invocations of the one function that reads run at once. */
const READERS = 12;
/** The schedules of the stack run each minute. */
const SOME_RUNS = { totalTimeout: Duration.minutes(6), interval: Duration.seconds(20) };
/** The last of three tries comes about three minutes after the first one. */
const ALL_TRIES = { totalTimeout: Duration.minutes(12), interval: Duration.seconds(20) };

/** Functions without credentials, and refreshers: at deployment, on demand, by a schedule, and where they fail. */
export function refresherCase(app: App) {
  const stack = new RefresherStack(app, 'SharedTokenRefresher');
  const test = integTest(app, stack);
  const { assertions } = test;

  const item = (TableName: string, Key: Record<string, { S: string }>): IApiCall =>
    assertions.awsApiCall('DynamoDB', 'getItem', { TableName, Key, ConsistentRead: true });
  const generation = (tokenId: string, N: unknown): IApiCall =>
    item(stack.tokens.tableName, { tokenId: { S: tokenId } }).expect(ExpectedResult.objectLike({ Item: { generation: { N } } }));
  const failure = (tokenId: string, by: FailedInvocation): IApiCall =>
    item(stack.server.state.tableName, { scope: { S: `${tokenId}/${by}` } })
      .expect(ExpectedResult.objectLike({ Item: { condition: { S: 'RetriesExhausted' }, invocations: { N: '3' } } }))
      .waitForAssertions(ALL_TRIES);

  // Nobody has used the token, so the deployment has fetched it. Then all do, and each revocation makes one auth call.
  const first = generation(TOKEN_IDS.ON_DEMAND, '1');
  const rotations = assertions.invokeFunction({ functionName: stack.conductor.functionName, payload: JSON.stringify({ atOnce: READERS }) });
  first.next(rotations.expect(roundsOf(0, 1, 1, 1)));

  // Its token works all the time: only the schedule, through its alias, has it replaced.
  generation(TOKEN_IDS.SCHEDULED, Match.stringLikeRegexp('^([3-9]|\\d\\d+)$')).waitForAssertions(SOME_RUNS);

  failure(TOKEN_IDS.FAILING, 'schedule');
  failure(TOKEN_IDS.FAILING, 'deployment');
  failure(TOKEN_IDS.FAILING_ENCRYPTED, 'schedule');
  assertions.invokeFunction({
    functionName: stack.failing.function.functionName, invocationType: InvocationType.EVENT, payload: JSON.stringify({ by: 'test' }),
  }).next(failure(TOKEN_IDS.FAILING, 'test'));
  return { stack, test };
}
