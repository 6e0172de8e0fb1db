import { Annotations, Duration, Stack } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as scheduler from 'aws-cdk-lib/aws-scheduler';
import * as targets from 'aws-cdk-lib/aws-scheduler-targets';
import * as sqs from 'aws-cdk-lib/aws-sqs';
import * as triggers from 'aws-cdk-lib/triggers';
import { Construct, IDependable } from 'constructs';
import { ACTION, DEFAULT_FUNCTION_TIMEOUT_MS, RefresherEvent, SCHEDULE_ALIAS } from './contract';
import { warningId } from './errors';
import { allowSending, FailureDestination } from './failure-queue';
import { FirstToken } from '../first-token';

/**
 * Retries of an invocation that nobody waits for, by Lambda after one and two minutes, and of the scheduler's attempts to make one. A retry cannot do harm: the
 * function asks the provider only when a refresh is due, and not during a cool-down.
 */
const RETRY_ATTEMPTS = 2;

/** By then a reader has asked again, or the next run of the schedule is near. */
const MAX_EVENT_AGE = Duration.minutes(15);

/** A new instance has ten seconds to start, which do not count against the timeout of its function; and some more to be found. */
const START_LIMIT = Duration.seconds(15);

/** The function of a refresher, where all that invokes it is declared, and where failures go. */
export interface InvokedFunction {
  readonly function: lambda.Function;
  /** In the stack of the function, so that no two stacks need each other. */
  readonly home: Construct;
  readonly failureQueue: sqs.IQueue;
}

/**
 * Bounds the retries of invocations that nobody waits for, and keeps what failed in the end. Lambda asks for each qualifier by itself: the function (readers), the
 * alias (its schedule), the version (a deployment).
 */
export function boundRetries({ failureQueue }: InvokedFunction, qualified: lambda.IFunction): void {
  const existing = qualified.node.tryFindChild('EventInvokeConfig');
  if (existing) return warnOfLostFailures(qualified, existing as lambda.EventInvokeConfig);
  qualified.configureAsyncInvoke({ retryAttempts: RETRY_ATTEMPTS, maxEventAge: MAX_EVENT_AGE, onFailure: new FailureDestination(failureQueue) });
}

/** A configuration of the user's own stays as it is. But one that says nothing of failures drops them, which nobody may have meant. */
function warnOfLostFailures(qualified: lambda.IFunction, config: lambda.EventInvokeConfig): void {
  const { destinationConfig } = config.node.defaultChild as lambda.CfnEventInvokeConfig;
  const { onFailure } = (Stack.of(config).resolve(destinationConfig) ?? {}) as { readonly onFailure?: unknown };
  if (onFailure) return;
  Annotations.of(qualified).addWarningV2(warningId('lostFailures'), [
    'The asynchronous invocations of this refresher are configured already, and stay as they are: without a destination for failures, so that refreshes which fail are dropped.',
    'Add `onFailure` to that configuration; or remove it, and failures go to the failure queue of the refresher.',
  ].join(' '));
}

/** When a schedule runs. */
export interface ScheduleSettings {
  readonly tokenId: string;
  readonly expression: scheduler.ScheduleExpression;
  readonly timeWindow?: scheduler.TimeWindow;
}

/** Invokes the function through an alias of its own: by that it tells the schedule, which alone has a token replaced that works, from those who only ask. */
export function addSchedule(invoked: InvokedFunction, { tokenId, expression, timeWindow }: ScheduleSettings): scheduler.Schedule {
  const { home, failureQueue } = invoked;
  // Of the latest version, so that the schedule and the readers keep the same instances warm.
  const alias = new lambda.Alias(home, 'ScheduleAlias', { aliasName: SCHEDULE_ALIAS, version: invoked.function.latestVersion });
  boundRetries(invoked, alias);

  const role = new iam.Role(home, 'SchedulerRole', { assumedBy: schedulerOf(Stack.of(home)) });
  const event: RefresherEvent = { tokenId, since: scheduler.ContextAttribute.scheduledTime };
  const schedule = new scheduler.Schedule(home, 'Schedule', {
    schedule: expression,
    timeWindow,
    target: new AliasTarget(alias, {
      role,
      input: scheduler.ScheduleTargetInput.fromObject(event),
      retryAttempts: RETRY_ATTEMPTS,
      maxEventAge: MAX_EVENT_AGE,
      deadLetterQueue: failureQueue,
    }),
  });
  allowSending(home, failureQueue, role);
  // A rate runs for the first time when it is made.
  schedule.node.addDependency(alias, role);
  return schedule;
}

/**
 * The scheduler in the name of this account's schedules. It takes their group for the source, not the single schedule:
 * https://docs.aws.amazon.com/scheduler/latest/UserGuide/cross-service-confused-deputy-prevention.html
 */
function schedulerOf(stack: Stack): iam.IPrincipal {
  return new iam.ServicePrincipal('scheduler.amazonaws.com', {
    conditions: {
      StringEquals: {
        'aws:SourceAccount': stack.account,
        'aws:SourceArn': stack.formatArn({ service: 'scheduler', resource: 'schedule-group', resourceName: 'default' }),
      },
    },
  });
}

/** CDK's own target lets the scheduler invoke whatever else the function is called by. */
class AliasTarget extends targets.LambdaInvoke {
  constructor(private readonly alias: lambda.IAlias, props: targets.ScheduleTargetBaseProps) {
    super(alias, props);
  }

  protected override addTargetActionToRole(role: iam.IRole): void {
    iam.Grant.addToPrincipal({ grantee: role, actions: [ACTION.ASK], resourceArns: [this.alias.functionArn] });
  }
}

/**
 * Invokes the function at deployment, once all that it needs is there: a version of it, so that CloudFormation sees a change. The version before is deleted with the
 * same deployment, as CDK does by default; nothing else invokes it.
 */
export function addTrigger(invoked: InvokedFunction, firstToken: FirstToken, after: IDependable[]): triggers.Trigger | undefined {
  if (firstToken === FirstToken.NONE) return undefined;
  const isWaiting = firstToken === FirstToken.REQUIRED;
  const version = invoked.function.currentVersion;
  if (!isWaiting) boundRetries(invoked, version);
  const trigger = new triggers.Trigger(invoked.home, 'FirstToken', {
    handler: invoked.function,
    invocationType: isWaiting ? triggers.InvocationType.REQUEST_RESPONSE : triggers.InvocationType.EVENT,
    executeOnHandlerChange: !isWaiting,
    timeout: waitFor(invoked.function.timeout),
  });
  trigger.node.addDependency(version, ...after);
  return trigger;
}

/** Undefined where it is known only at deployment: CDK's own limit then. */
function waitFor(timeout: Duration = Duration.millis(DEFAULT_FUNCTION_TIMEOUT_MS)): Duration | undefined {
  return timeout.isUnresolved() ? undefined : timeout.plus(START_LIMIT);
}
