import { App, Aspects, Stack } from 'aws-cdk-lib';
import { INagLogger, NagLoggerBaseData, NagPack, NagPackProps } from 'cdk-nag';

/** What cdk-nag says of a resource. */
export interface Finding {
  /** The stack, whose name is no matter for a suppression. */
  readonly stack: string;
  /** Where in its stack. */
  readonly construct: string;
  /** The rule, and what of the resource is meant where cdk-nag tells: `AwsSolutions-IAM4[Policy::...]`. A rule that could not be judged is a finding, too. */
  readonly finding: string;
}

type Pack = new (props: NagPackProps) => NagPack;

/** Everything that a pack finds in an app, errors, warnings and rules that could not be judged. */
export function findingsOf(app: App, Pack: Pack): Finding[] {
  const findings: Finding[] = [];
  const note = ({ resource }: NagLoggerBaseData, finding: string) => {
    const stack = Stack.of(resource);
    findings.push({ stack: stack.node.path, construct: resource.node.path.slice(stack.node.path.length + 1), finding });
  };
  const logger: INagLogger = {
    onNonCompliance: data => note(data, data.findingId === '' ? data.ruleId : `${data.ruleId}[${data.findingId}]`),
    onError: data => note(data, `${data.ruleId}, not judged: ${data.errorMessage}`),
    // Nothing is suppressed by cdk-nag's own means here; what somebody suppresses all the same is found.
    onSuppressed: data => note(data, `${data.ruleId}, suppressed elsewhere: ${data.suppressionReason}`),
    onSuppressedError: data => note(data, `${data.ruleId}, suppressed elsewhere: ${data.errorSuppressionReason}`),
    onCompliance: () => {},
    onNotApplicable: () => {},
  };
  Aspects.of(app).add(new Pack({ reports: false, additionalLoggers: [logger] }));
  app.synth();
  return findings;
}

/** A finding that stays, and why. */
export interface Suppression {
  readonly finding: string;
  /** Where in their stacks the constructs are. */
  readonly constructs: readonly string[];
  readonly reason: string;
  /**
   * Whether the CDK that is installed is one that it is for.
   *
   * @default true
   */
  readonly isForThisCdk?: boolean;
}

const isOf = ({ finding, constructs, isForThisCdk = true }: Suppression, found: Finding) =>
  isForThisCdk && found.finding === finding && constructs.includes(found.construct);

/** The findings that no suppression is for. */
export function unsuppressed(findings: readonly Finding[], suppressions: readonly Suppression[]): Finding[] {
  return findings.filter(found => !suppressions.some(suppression => isOf(suppression, found)));
}

/** The constructs of suppressions in which nothing is found: as `finding at construct`. */
export function unneeded(suppressions: readonly Suppression[], findings: readonly Finding[]): string[] {
  return suppressions.filter(({ isForThisCdk = true }) => isForThisCdk).flatMap(suppression => suppression.constructs
    .filter(construct => !findings.some(found => found.construct === construct && isOf(suppression, found)))
    .map(construct => `${suppression.finding} at ${construct}`));
}
