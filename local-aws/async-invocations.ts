import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DeployedStack } from './deployed-stack';
import type { Function, InvocationOutcome, InvocationRequest } from './invoke-api';

/** What Lambda sends to a failure destination. */
export interface FailureRecord {
  readonly version: '1.0';
  readonly timestamp: string;
  readonly requestContext: {
    readonly requestId: string;
    /** With the qualifier. */
    readonly functionArn: string;
    readonly condition: 'RetriesExhausted';
    readonly approximateInvokeCount: number;
  };
  readonly requestPayload: unknown;
  readonly responseContext: { readonly statusCode: 200; readonly executedVersion: string; readonly functionError: string };
  readonly responsePayload: unknown;
}

/** How often, and where to in the end. */
interface Settings {
  readonly retries: number;
  /** ARN of a queue; undefined: what failed is dropped. */
  readonly destination: string | undefined;
}

/** What Lambda does where nothing is configured. */
const DEFAULT: Settings = { retries: 2, destination: undefined };

/** Lambda's pauses before its two retries. */
const RETRY_AFTER_MS = [60_000, 120_000] as const;

/**
 * Invocations that nobody waits for, as Lambda makes them: again after a failure, as often as the template's `AWS::Lambda::EventInvokeConfig` of the function *and
 * qualifier* says, then to its failure destination. The queues are part of this.
 */
export class AsyncInvocations {
  /** Failures that had nowhere to go. */
  readonly dropped: FailureRecord[] = [];
  private readonly arns: ReadonlyMap<string, string>;
  private readonly settings = new Map<string, Settings>();
  private readonly queues = new Map<string, FailureRecord[]>();
  private readonly underWay = new Set<Promise<void>>();

  /** @param pause before a retry; a test need not wait for minutes that it can have passed */
  constructor(stack: DeployedStack, private readonly pause: (ms: number) => Promise<unknown> = sleep) {
    const functions = stack.logicalIdsOf('AWS::Lambda::Function');
    this.arns = new Map(functions.map(logicalId => [stack.nameOf(logicalId), stack.text({ 'Fn::GetAtt': [logicalId, 'Arn'] })]));
    for (const logicalId of stack.logicalIdsOf('AWS::Lambda::EventInvokeConfig')) {
      const { FunctionName, Qualifier, MaximumRetryAttempts = DEFAULT.retries, DestinationConfig } = stack.resolve(stack.properties(logicalId)) as {
        readonly FunctionName: string;
        readonly Qualifier: string;
        readonly MaximumRetryAttempts?: number;
        readonly DestinationConfig?: { readonly OnFailure?: { readonly Destination: string } };
      };
      this.settings.set(`${FunctionName}:${Qualifier}`, { retries: MaximumRetryAttempts, destination: DestinationConfig?.OnFailure?.Destination });
    }
  }

  /** The function, with retries where it is invoked as an event. */
  around(run: Function): Function {
    return async request => {
      if (request.type !== 'Event') return run(request);
      const delivery = this.deliver(request, run);
      this.underWay.add(delivery);
      await delivery.finally(() => this.underWay.delete(delivery));
      return { payload: null };
    };
  }

  /** What was sent to a queue. */
  messagesOf(queueArn: string): readonly FailureRecord[] {
    return this.queues.get(queueArn) ?? [];
  }

  /** Resolves when nothing is under way or waits for a retry. */
  async settled(): Promise<void> {
    while (this.underWay.size > 0) await Promise.all(this.underWay);
  }

  private async deliver(request: InvocationRequest, run: Function): Promise<void> {
    const { functionName, qualifier = '$LATEST' } = request;
    const { retries, destination } = this.settings.get(`${functionName}:${qualifier}`) ?? DEFAULT;
    const functionArn = `${this.arns.get(functionName)}:${qualifier}`;
    for (let attempt = 0; ; attempt++) {
      const outcome = await run(request);
      if (outcome.functionError === undefined) return;
      if (attempt < retries) {
        await this.pause(RETRY_AFTER_MS[attempt]);
        continue;
      }
      this.fail(failureRecord({ functionArn, payload: request.payload, outcome, attempts: attempt + 1 }), destination);
      return;
    }
  }

  private fail(record: FailureRecord, destination: string | undefined): void {
    if (destination === undefined) {
      this.dropped.push(record);
      return;
    }
    this.queues.set(destination, [...this.messagesOf(destination), record]);
  }
}

interface FailedInvocation {
  /** With the qualifier. */
  readonly functionArn: string;
  readonly payload: unknown;
  /** Of the last attempt. */
  readonly outcome: InvocationOutcome;
  readonly attempts: number;
}

function failureRecord({ functionArn, payload, outcome, attempts }: FailedInvocation): FailureRecord {
  const [version] = /\d+$/.exec(functionArn) ?? ['$LATEST'];
  return {
    version: '1.0',
    timestamp: new Date().toISOString(),
    requestContext: { requestId: randomUUID(), functionArn, condition: 'RetriesExhausted', approximateInvokeCount: attempts },
    requestPayload: payload,
    responseContext: { statusCode: 200, executedVersion: version, functionError: outcome.functionError ?? '' },
    responsePayload: outcome.payload,
  };
}
