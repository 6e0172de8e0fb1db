import type { Case } from './case';
import type { Attributes } from './expression';
import type { Instance } from './instance';
import { type Carrier, exchange } from './network';
import type { Observer } from './observer';
import type { Runtime } from './runtime';
import type { PortCall } from './schedule';
import type { Scheduler } from './scheduler';
import type { SimulatedTable } from './simulated-table';
import { TOKEN_ID } from './token-id';
import type { Trace } from './trace';
import type { UpdateRequest } from '../lambda-runtime/dynamodb-requests';
import type { TableClock } from '../lambda-runtime/host';
import type { TokenItem } from '../lambda-runtime/token-item';
import type { Claim, Commit, Release, Renewal, TokenStore, WriteReply } from '../lambda-runtime/token-store';

const TABLE = 'tokens';

/** A write as the observer sees it. */
export type Write =
  | { readonly kind: 'claim'; readonly claim: Claim }
  | { readonly kind: 'commit'; readonly commit: Commit }
  | { readonly kind: 'renew'; readonly renewal: Renewal }
  | { readonly kind: 'release'; readonly release: Release };

/** Writes a request otherwise than the runtime did: how a broken variant is made from outside. */
export type Rewrite = (request: UpdateRequest, write: Write, item: Attributes | undefined) => UpdateRequest;

/** The place where all meet: the table, its capacity, and who watches. */
export interface TableServer {
  readonly runtime: Runtime;
  readonly parse: Parse;
  readonly scheduler: Scheduler;
  readonly table: SimulatedTable;
  readonly capacity: Capacity;
  readonly carrier: Carrier;
  readonly observer: Observer;
  readonly latencyMs: number;
  readonly rewrite: Rewrite | undefined;
  readonly trace: Trace | undefined;
}

type Parse = (found: Attributes | undefined) => TokenItem | undefined;

/** The runtime's own reading of an item, once for all who see the same one: the table never changes one in place. */
export function parserOf({ parseItem }: Runtime): Parse {
  const parsed = new WeakMap<Attributes, TokenItem | undefined>();
  return found => {
    if (found === undefined) return undefined;
    if (!parsed.has(found)) parsed.set(found, parseItem(TOKEN_ID, found));
    return parsed.get(found);
  };
}

/** docs/protocol.md: a reply during which the wall clock moved by more than this against the monotonic one counts as lost. */
const CLOCK_JUMP_MS = 250;

/** And so does one that is noticed later than any request may take: the process stood still. */
const LONGEST_REQUEST_MS = 1_250;

interface Answer<T> {
  readonly date: number;
  readonly value?: T;
  readonly error?: Error;
}

/** The port to the table, over a network on which everything happens that the schedule says. */
export function createSimulatedStore(server: TableServer, instance: Instance, clock: TableClock): TokenStore {
  const { runtime, parse, scheduler, table, capacity, carrier, observer, latencyMs, rewrite, trace } = server;
  const { TableTrouble } = runtime;

  const send = async <T>(call: PortCall, perform: () => T): Promise<T> => new Promise((resolve, reject) => {
    const sentAt = instance.host.now();
    exchange<Answer<T>>(carrier, {
      instance,
      call,
      latencyMs,
      arrive: (refused, random, reply) => {
        // The header counts whole seconds.
        const date = Math.floor(scheduler.now / 1_000) * 1_000;
        if (refused || !capacity.allows(call)) {
          const throttled = !refused || random.chance(0.5);
          trace?.note('table', `${throttled ? 'throttles' : 'fails'} ${instance.name}'s ${call}`);
          return reply({ date, error: new TableTrouble(throttled, new Error('The table says no')) });
        }
        reply(attempt(date, perform));
      },
      notice: ({ date, value, error }) => {
        clock.learn(date, sentAt, instance.host.now());
        if (error !== undefined) reject(error);
        else resolve(value as T);
      },
      broken: () => reject(new TableTrouble(false, new Error('The connection broke'))),
    });
  });

  const write = async (what: Write, request: UpdateRequest, signal: AbortSignal): Promise<WriteReply> => {
    const asked = requestStarts();
    const reply = await send(what.kind, () => {
      const before = table.item(TOKEN_ID);
      const { applied, item } = table.update(rewrite === undefined ? request : rewrite(request, what, before));
      trace?.note('table', `${instance.name}'s ${describe(what, trace)} ${applied ? 'applied' : 'refused'}: ${itemText(item, trace)}`);
      observer.written({ instance, write: what, before, after: item, applied });
      return { applied, item: parse(item) };
    });
    learnt(reply.item, asked, signal);
    return reply;
  };

  // What the process knows: a reply counts only in time, if no clock jumped meanwhile, and if its request began after that of the last one that counted.
  interface Asked {
    readonly order: number;
    readonly drift: number;
    readonly at: number;
  }
  let requests = 0;
  let lastCounted = 0;
  const drift = () => instance.host.now() - instance.host.monotonic();
  const requestStarts = (): Asked => ({ order: ++requests, drift: drift(), at: instance.host.now() });
  const learnt = (item: TokenItem | undefined, asked: Asked, signal: AbortSignal) => {
    if (signal.aborted || asked.order < lastCounted || Math.abs(drift() - asked.drift) > CLOCK_JUMP_MS) return;
    if (instance.host.now() - asked.at > LONGEST_REQUEST_MS || clock.isUnsure()) return;
    lastCounted = asked.order;
    instance.known = item;
  };

  const readRequest = runtime.readRequest(TABLE, TOKEN_ID);
  return {
    read: async (_tokenId, signal) => {
      const asked = requestStarts();
      const item = await send('read', () => {
        const found = table.get(readRequest);
        trace?.note('table', `${instance.name} reads: ${itemText(found, trace)}`);
        return parse(found);
      });
      learnt(item, asked, signal);
      return item;
    },
    claim: async (tokenId, claim, signal) => {
      observer.claimSent(claim);
      return write({ kind: 'claim', claim }, runtime.claimRequest(TABLE, tokenId, claim), signal);
    },
    commit: async (tokenId, commit, signal) => write({ kind: 'commit', commit }, runtime.commitRequest(TABLE, tokenId, commit), signal),
    renew: async (tokenId, renewal, signal) => write({ kind: 'renew', renewal }, runtime.renewRequest(TABLE, tokenId, renewal), signal),
    release: async (tokenId, release, signal) => write({ kind: 'release', release }, runtime.releaseRequest(TABLE, tokenId, release), signal),
  };
}

function attempt<T>(date: number, perform: () => T): Answer<T> {
  try {
    return { date, value: perform() };
  } catch (error) {
    return { date, error: error as Error };
  }
}

/** What one partition can take: a second's worth at once, then so many a second. */
export class Capacity {
  private reads: number;
  private writes: number;
  private filledAt = 0;
  isUnlimited = false;

  constructor(private readonly limits: Case['network'], private readonly scheduler: Scheduler) {
    this.reads = limits.readsPerSecond;
    this.writes = limits.writesPerSecond;
  }

  allows(call: PortCall): boolean {
    const { readsPerSecond, writesPerSecond } = this.limits;
    const seconds = (this.scheduler.now - this.filledAt) / 1_000;
    this.filledAt = this.scheduler.now;
    this.reads = Math.min(readsPerSecond, this.reads + seconds * readsPerSecond);
    this.writes = Math.min(writesPerSecond, this.writes + seconds * writesPerSecond);
    if (this.isUnlimited) return true;
    if (call === 'read') return this.reads >= 1 && this.reads-- >= 1;
    return this.writes >= 1 && this.writes-- >= 1; // a failed condition costs as much
  }
}

function describe(write: Write, trace: Trace): string {
  switch (write.kind) {
    case 'claim': return `claim ${trace.short(write.claim.lease.id)}${write.claim.ended ? ` over ${trace.short(write.claim.ended.id)}` : ''}`;
    case 'commit': return `${'lease' in write.commit.onlyIf ? '' : 'late '}commit of ${trace.short(write.commit.token.accessToken)}`;
    case 'renew': return `renewal of ${trace.short(write.renewal.lease)} until ${trace.moment(write.renewal.until)}`;
    case 'release': return `release of ${trace.short(write.release.lease)}${write.release.failure ? ` with ${write.release.failure.failure.code}` : ''}`;
  }
}

export function itemText(item: Attributes | undefined, trace: Trace): string {
  if (item === undefined) return 'no item';
  const { accessToken, generation, issuedAt, lease, failure, refreshToken } = item as {
    accessToken?: string;
    generation?: number;
    issuedAt?: number;
    refreshToken?: string;
    lease?: { id: string; since: number; until: number };
    failure?: { code: string; count: number; at: number; retryAt: number };
  };
  return [
    accessToken === undefined ? 'no token' : `${trace.short(accessToken)} generation ${generation} issued ${trace.moment(issuedAt)}`,
    refreshToken === undefined ? '' : `refresh token ${trace.short(refreshToken)}`,
    lease === undefined ? '' : `lease ${trace.short(lease.id)} ${trace.moment(lease.since)} to ${trace.moment(lease.until)}`,
    failure === undefined ? '' : `failure ${failure.code} no. ${failure.count} retry at ${trace.moment(failure.retryAt)}`,
  ].filter(Boolean).join(', ');
}
