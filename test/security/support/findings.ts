/** What a check says of a construct or a resource. */
export interface Finding {
  readonly stack: string;
  /** Where in its stack: a path of constructs, or a logical id. */
  readonly construct: string;
  /** The rule, and in brackets what of the construct is meant, where there may be more than one thing. */
  readonly finding: string;
}

/** A finding that stays, and why. */
export interface Suppression {
  readonly finding: string;
  /** Where the constructs are: in any stack, or with the name of their stack before it, as in `Stack/Queue/Resource`. */
  readonly constructs: readonly string[];
  readonly reason: string;
  /**
   * Whether the CDK that is installed is one that it is for.
   *
   * @default true
   */
  readonly isForThisCdk?: boolean;
}

const isAt = (construct: string, found: Finding) => construct === found.construct || construct === `${found.stack}/${found.construct}`;

const isOf = ({ finding, constructs, isForThisCdk = true }: Suppression, found: Finding) =>
  isForThisCdk && found.finding === finding && constructs.some(construct => isAt(construct, found));

/** The findings that no suppression is for. */
export function unsuppressed(findings: readonly Finding[], suppressions: readonly Suppression[]): Finding[] {
  return findings.filter(found => !suppressions.some(suppression => isOf(suppression, found)));
}

/** The constructs of suppressions in which nothing is found: as `finding at construct`. */
export function unneeded(suppressions: readonly Suppression[], findings: readonly Finding[]): string[] {
  return suppressions.filter(({ isForThisCdk = true }) => isForThisCdk).flatMap(suppression => suppression.constructs
    .filter(construct => !findings.some(found => isAt(construct, found) && isOf(suppression, found)))
    .map(construct => `${suppression.finding} at ${construct}`));
}

/** As docs/security-checks.md has them. */
export function rowsOf(suppressions: readonly Suppression[]): string[] {
  return suppressions.map(({ finding, constructs, reason }) => `| \`${finding}\` | ${constructs.map(construct => `\`${construct}\``).join('<br>')} | ${reason} |`);
}
