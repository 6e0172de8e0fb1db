import { Lazy, ResourceEnvironment, Stack } from 'aws-cdk-lib';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { Construct, IConstruct } from 'constructs';
import { SharedTokenTableError } from './errors';
import { Reference } from './reference';

const ID = 'SharedTokenRefreshers';

/** A refresher as its consumers know it. */
export interface NamedRefresher {
  readonly tokenId: string;
  /** Path of the construct. */
  readonly path: string;
  /** Its function. */
  readonly reference: Reference;
}

/** Whom to ask for which token: one map, since token ids can hold what the name of a variable cannot. */
export class Refreshers {
  private readonly byTokenId = new Map<string, NamedRefresher>();

  /** @param owner whose map it is */
  constructor(private readonly owner: IConstruct) {}

  public add(refresher: NamedRefresher): void {
    const known = this.byTokenId.get(refresher.tokenId);
    if (known && known !== refresher) {
      throw new SharedTokenTableError(this.owner, {
        what: `Whoever needs the token '${refresher.tokenId}' asks one refresher for it, and this one has two.`,
        got: refresher.path,
        expected: `${known.path}, which was named first`,
        todo: 'Keep one of the two, or give the token of the other table an id of its own.',
      });
    }
    this.byTokenId.set(refresher.tokenId, refresher);
  }

  /** As JSON, for the stack that renders it. */
  public render(): string {
    return Lazy.uncachedString({ produce: ({ scope }) => this.toJson(Stack.of(scope), Stack.of(scope)) });
  }

  /**
   * As JSON, for whoever runs in this account and region. Sorted, so that the order of calls changes no template. The ids are written here, since CDK drops a member
   * `__proto__`.
   */
  public toJson(stack: Stack, env: ResourceEnvironment): string {
    const tokenIds = [...this.byTokenId.keys()].sort();
    return `{${tokenIds.map(tokenId => `${JSON.stringify(tokenId)}:${stack.toJsonString(this.byTokenId.get(tokenId)!.reference.from(env))}`).join(',')}}`;
  }
}

/** The refreshers of one function, however often it is attached. */
export class RefresherMap extends Construct {
  public static of(consumer: lambda.IFunction): RefresherMap {
    const existing = consumer.node.tryFindChild(ID);
    return existing ? existing as RefresherMap : new RefresherMap(consumer);
  }

  private readonly refreshers: Refreshers;

  private constructor(consumer: lambda.IFunction) {
    // An interface in the other languages of jsii, a construct all the same.
    super(consumer as unknown as Construct, ID);
    this.refreshers = new Refreshers(consumer);
  }

  public add(refresher: NamedRefresher): void {
    this.refreshers.add(refresher);
  }

  public render(): string {
    return this.refreshers.render();
  }

  public toJson(env: ResourceEnvironment): string {
    return this.refreshers.toJson(Stack.of(this), env);
  }
}
