import { Annotations } from 'aws-cdk-lib';
import * as scheduler from 'aws-cdk-lib/aws-scheduler';
import { IConstruct } from 'constructs';
import { warningId } from './errors';

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
