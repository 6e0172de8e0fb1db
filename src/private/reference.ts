import { Lazy, ResourceEnvironment, Stack, Token, TokenComparison } from 'aws-cdk-lib';

/** What is known of a resource by which others find it. */
export interface Referred {
  readonly name: string;
  readonly arn: string;
  readonly env: ResourceEnvironment;
  /** Whether the name is known to be in the account and region that `env` tells: two values that are both known only at deployment count as the same there. */
  readonly isNameReliable: boolean;
  /** What stands behind the name or ARN. */
  readonly suffix?: string;
}

/** What a resource is found by: its name, or its ARN where whoever asks is, or may be, in another account or region. */
export class Reference {
  /** @param read called when it is needed, since a resource may be half built when its reference is made */
  constructor(private readonly read: () => Referred) {}

  /** As seen from an account and region. */
  public from({ account, region }: ResourceEnvironment): string {
    const { name, arn, env, isNameReliable, suffix = '' } = this.read();
    return `${isNameReliable && isSame(account, env.account) && isSame(region, env.region) ? name : arn}${suffix}`;
  }

  /** As seen from the stack that renders it. */
  public render(): string {
    return Lazy.uncachedString({ produce: ({ scope }) => this.from(Stack.of(scope)) });
  }
}

function isSame(one: string, other: string): boolean {
  return [TokenComparison.SAME, TokenComparison.BOTH_UNRESOLVED].includes(Token.compareStrings(one, other));
}

/** Are these two accounts, or regions, as far as that is known? */
export function isOther(one: string, other: string): boolean {
  return Token.compareStrings(one, other) === TokenComparison.DIFFERENT;
}
