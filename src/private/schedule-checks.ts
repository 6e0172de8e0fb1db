import { Annotations } from 'aws-cdk-lib';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as scheduler from 'aws-cdk-lib/aws-scheduler';
import { IConstruct } from 'constructs';
import { SCHEDULE_ALIAS } from './contract';
import { describe, SharedTokenTableError, warningId } from './errors';
import { resourceOf } from './table-identity';

const RATE = /^rate\((\d+) (minute|hour|day)s?\)$/;

const UNIT_SECONDS: { readonly [unit: string]: number } = { minute: 60, hour: 3_600, day: 86_400 };

/** A token that expires before the schedule runs again: readers then have to ask and wait, which the schedule may have been meant to spare them. */
export function warnOfSlowSchedule(
  scope: IConstruct, expression: scheduler.ScheduleExpression, timeWindow: scheduler.TimeWindow | undefined, lifeSeconds: number,
): void {
  const [, count, unit] = RATE.exec(expression.expressionString) ?? [];
  if (count === undefined) return; // when a cron expression or a single run is due next cannot be said in general
  const gap = Number(count) * UNIT_SECONDS[unit] + (timeWindow?.maxWindow?.toSeconds() ?? 0);
  if (gap < lifeSeconds) return;
  Annotations.of(scope).addWarningV2(warningId('slowSchedule'), [
    `The schedule runs every ${gap} s at the longest, and a token lives ${lifeSeconds} s: in between it expires, and readers have to ask for the next one and wait.`,
    'Let the schedule run more often (about half of a token\'s life leaves room for retries), or leave it out if readers shall ask.',
  ].join(' '));
}

/** EventBridge Scheduler replaces its attributes wherever they stand in what it sends. */
const SCHEDULER_ATTRIBUTE = '<aws.scheduler.';

export function checkScheduledTokenId(scope: IConstruct, tokenId: string): void {
  if (!tokenId.includes(SCHEDULER_ATTRIBUTE)) return;
  throw new SharedTokenTableError(scope, {
    what: `EventBridge Scheduler reads '${SCHEDULER_ATTRIBUTE}' in what it sends as more than characters.`,
    got: `'${tokenId}', and a schedule`,
    expected: 'an id without it',
    todo: 'Choose another id, or leave the `schedule` out.',
  });
}

/**
 * Two aliases of one name, which only the deployment would notice. At synthesis: the other one may be added later.
 *
 * @param home of which the schedule's alias is a child
 */
export function problemsOfAlias(scope: IConstruct, fn: lambda.Function, home: IConstruct): string[] {
  const resource = fn.node.defaultChild as lambda.CfnFunction;
  const isOfFunction = ({ functionName }: lambda.CfnAlias) => resourceOf(functionName) === resource || functionName === resource.functionName;
  const other = scope.node.root.node.findAll().filter(isAlias)
    .find(alias => alias.name === SCHEDULE_ALIAS && isOfFunction(alias) && alias.node.scope?.node.scope !== home);
  if (!other) return [];
  return [describe(scope, {
    what: `The schedule invokes the refresher through an alias of its own, '${SCHEDULE_ALIAS}'.`,
    got: `another alias of this name, ${other.node.path}`,
    expected: `no other alias '${SCHEDULE_ALIAS}' of ${fn.node.path}`,
    todo: 'Give that alias another name.',
  })];
}

function isAlias(construct: IConstruct): construct is lambda.CfnAlias {
  return construct instanceof lambda.CfnAlias;
}
