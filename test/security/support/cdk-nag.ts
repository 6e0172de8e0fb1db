import { App, Aspects, Stack } from 'aws-cdk-lib';
import { INagLogger, NagLoggerBaseData, NagPack, NagPackProps } from 'cdk-nag';
import type { Finding } from './findings';

type Pack = new (props: NagPackProps) => NagPack;

/** Everything that a pack finds in an app: errors, warnings, and rules that it could not judge. */
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
