import { randomUUID } from 'node:crypto';
import type { Kind } from './consumers-stack';
import type { ConsumersWorld } from './consumers-world';
import type { TokenServer } from '../../../demo/token-server';
import type { SharedTokenEvent } from '../../../lambda-runtime';
import type { NodeMajor } from '../../../local-aws/lambda/environment-variables';
import type { ExecutionEnvironment, ExecutionEnvironmentOptions } from '../../../local-aws/lambda/execution-environment';
import type { InvocationResult } from '../../../local-aws/lambda/runtime-api';
import { startThirdParty, type ThirdParty } from '../../support/third-party';
import { until } from '../../support/until';

/** What an event may tell a consumer: `consumers/behaviour.cjs`. */
export interface ConsumerEvent {
  readonly timeoutMs?: number;
  readonly abortAfterMs?: number;
  readonly leaveAt?: SharedTokenEvent['type'];
  readonly exitAt?: SharedTokenEvent['type'];
  readonly hangs?: boolean;
  readonly throws?: boolean;
}

/** What a consumer answers. */
export interface ConsumerAnswer {
  readonly pid: number;
  readonly threadId: number;
  /** How many invocations ran in its thread when this one began, with it. */
  readonly atOnce: number;
  /** What the API answered; or why there was no token for it. */
  readonly status?: number;
  readonly code?: string;
}

export interface StartOptions extends Pick<ExecutionEnvironmentOptions, 'concurrency' | 'staysAwake'> {
  /** @default 10_000 */
  readonly authLimitMs?: number;
  /** Is an auth call not ended by its limit? */
  readonly ignoresSignal?: boolean;
}

/** An auth call without an answer. */
export interface HeldCall {
  /** Resolves when it has come in as a whole: whoever is frozen then has sent all of it. */
  readonly arrived: () => Promise<void>;
  /** Lets it be answered. */
  readonly answer: () => void;
}

const HOUR_MS = 3_600_000;

/** One token, with a provider and an API of its own, and the environments that share it. */
export class Scenario {
  static async begin(world: ConsumersWorld, tokenId: string): Promise<Scenario> {
    const client = { id: 'consumers', secret: randomUUID() };
    const thirdParty = await startThirdParty(client, HOUR_MS);
    return new Scenario(world, tokenId, thirdParty, {
      TOKEN_ID: tokenId,
      AUTH_URL: thirdParty.tokens.tokenUrl,
      API_URL: thirdParty.api.url,
      CLIENT_ID: client.id,
      CLIENT_SECRET: client.secret,
    });
  }

  readonly environments: ExecutionEnvironment[] = [];
  private ownCalls = 0;
  private ownToken: string | undefined;

  private constructor(
    private readonly world: ConsumersWorld,
    private readonly tokenId: string,
    private readonly thirdParty: ThirdParty,
    private readonly variables: Readonly<Record<string, string>>,
  ) {}

  /** How often the consumers asked the provider. */
  get authCalls(): number {
    return this.provider.authCalls.length - this.ownCalls;
  }

  /** Operations on the token's item, in their order. */
  get requests(): readonly string[] {
    return this.world.exchanges.filter(({ tokenId }) => tokenId === this.tokenId).map(({ operation, error }) => error ?? operation);
  }

  /** Has the provider issued a token to a consumer? */
  get hasIssued(): boolean {
    const { liveToken } = this.provider;
    return liveToken !== undefined && liveToken.jti !== this.ownToken;
  }

  /** What must stand nowhere. */
  get clientSecret(): string {
    return this.variables.CLIENT_SECRET ?? '';
  }

  private get provider(): TokenServer {
    return this.thirdParty.tokens;
  }

  /** A cold start. */
  async start(kind: Kind, node: NodeMajor, options: StartOptions = {}): Promise<ExecutionEnvironment> {
    const { authLimitMs = 10_000, ignoresSignal = false, ...how } = options;
    const variables = { ...this.variables, AUTH_LIMIT_MS: String(authLimitMs), ...ignoresSignal && { IGNORES_SIGNAL: 'yes' } };
    const environment = await this.world.start(kind, node, { variables, ...how });
    this.environments.push(environment);
    return environment;
  }

  /** Cold starts, all at once. */
  async startAll(count: number, kind: Kind, node: NodeMajor, options?: StartOptions): Promise<ExecutionEnvironment[]> {
    return Promise.all(Array.from({ length: count }, async () => this.start(kind, node, options)));
  }

  /** Has a token in the table that the API accepts, issued so long ago that nobody takes its rejection for a mistake. */
  async storeToken({ ageMs = 600_000, leftMs = HOUR_MS }: { readonly ageMs?: number; readonly leftMs?: number } = {}): Promise<void> {
    this.ownCalls++;
    const response = await fetch(this.provider.tokenUrl, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from(`${this.variables.CLIENT_ID}:${this.clientSecret}`).toString('base64')}` },
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
    });
    const { access_token: accessToken } = await response.json() as { readonly access_token: string };
    this.ownToken = this.provider.liveToken?.jti;
    const now = Date.now();
    await this.world.put({ tokenId: this.tokenId, accessToken, generation: 1, issuedAt: now - ageMs, expiresAt: now + leftMs });
  }

  /** The token's item. */
  async item(): Promise<Readonly<Record<string, unknown>>> {
    return this.world.item(this.tokenId);
  }

  /** From now on the API refuses the token. */
  revoke(): void {
    this.provider.revoke();
  }

  /** Leaves the next auth call without an answer until it is told. */
  holdNextCall(): HeldCall {
    let answer = (): void => undefined;
    const answered = new Promise<void>(resolve => { answer = resolve; });
    let isThere = (): boolean => false;
    this.provider.holdNextCall(async request => {
      isThere = () => request.complete;
      return answered;
    });
    return { answer, arrived: async () => until('the auth call comes in', () => isThere()) };
  }

  /** What the runtime told of its steps, in one environment. */
  steps(environment: ExecutionEnvironment): SharedTokenEvent[] {
    return environment.logs.flatMap(line => {
      const [told] = /\{\\?"sharedToken.*?\}\}/.exec(line) ?? [];
      if (told === undefined) return [];
      return [(JSON.parse(told.replaceAll('\\"', '"')) as { readonly sharedToken: SharedTokenEvent }).sharedToken];
    });
  }

  /** The same, by name. */
  story(environment: ExecutionEnvironment): string[] {
    return this.steps(environment).map(({ type }) => type);
  }

  async end(): Promise<void> {
    await Promise.all(this.environments.map(async environment => environment.close()));
    await Promise.all([this.thirdParty.tokens.stop(), this.thirdParty.api.stop()]);
  }
}

/** What the consumer answered; an invocation that failed fails the test. */
export function answerOf(result: InvocationResult): ConsumerAnswer {
  if ('error' in result) throw new Error(`The invocation failed: ${JSON.stringify(result.error)}`);
  return result.value as ConsumerAnswer;
}

/** Invokes, and tells what the consumer answered. */
export async function call(environment: ExecutionEnvironment, event: ConsumerEvent = {}): Promise<ConsumerAnswer> {
  return answerOf(await environment.invoke(event));
}
