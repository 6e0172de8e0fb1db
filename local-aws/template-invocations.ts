import type { DeployedStack } from './deployed-stack';

/** An invocation that a template declares. Nobody waits for its answer. */
export interface TemplateInvocation {
  /** With the version or alias. */
  readonly functionArn: string;
  /** JSON; undefined: there is no event. */
  readonly payload: string | undefined;
}

/** What the stack's schedule invokes at a moment. */
export function scheduledInvocation(stack: DeployedStack, at: Date): TemplateInvocation {
  const { Target } = theOnly(stack, 'AWS::Scheduler::Schedule') as { readonly Target: { readonly Arn: unknown; readonly Input: unknown } };
  // The scheduler writes whole seconds.
  const time = at.toISOString().replace(/\.\d+Z$/, 'Z');
  return { functionArn: stack.text(Target.Arn), payload: stack.text(Target.Input).replace('<aws.scheduler.scheduled-time>', time) };
}

/** What the stack's trigger invokes at deployment: CDK's own handler of triggers sends no event. */
export function deploymentInvocation(stack: DeployedStack): TemplateInvocation {
  const { HandlerArn, InvocationType } = theOnly(stack, 'Custom::Trigger');
  if (InvocationType !== 'Event') throw new Error(`A trigger of the type ${String(InvocationType)} waits, which is not known here.`);
  return { functionArn: stack.text(HandlerArn), payload: undefined };
}

function theOnly(stack: DeployedStack, type: string): Readonly<Record<string, unknown>> {
  const [logicalId, ...others] = stack.logicalIdsOf(type);
  if (logicalId !== undefined && others.length === 0) return stack.properties(logicalId);
  throw new Error(`The template should have one resource of the type ${type}, and has ${others.length + (logicalId ? 1 : 0)}.`);
}
