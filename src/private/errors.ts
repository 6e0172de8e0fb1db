import { IConstruct } from 'constructs';
import { PACKAGE_NAME } from './contract';

/** What a person needs in order to mend a declaration: every part is asked for, so that no error lacks one. */
export interface Problem {
  /** The rule that is broken. */
  readonly what: string;
  readonly got: string;
  readonly expected: string;
  /** The way out, as an instruction. */
  readonly todo: string;
}

/** A declaration that cannot be synthesized. */
export class SharedTokenTableError extends Error {
  constructor(scope: IConstruct, problem: Problem) {
    super(describe(scope, problem));
    this.name = 'SharedTokenTableError';
  }
}

/** One line that begins with the construct's path. */
export function describe(scope: IConstruct, problem: Problem): string {
  return `${scope.node.path}: ${inWords(problem)}`;
}

/** The same without the path, which CDK puts before a warning. */
export function inWords({ what, got, expected, todo }: Problem): string {
  return `${what} Got ${got}, expected ${expected}. ${todo}`;
}

/** The stable id of a warning, by which it can be acknowledged. */
export function warningId(kind: string): string {
  return `${PACKAGE_NAME}:${kind}`;
}
