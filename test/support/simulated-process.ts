import { claimRequest, commitRequest, readRequest, releaseRequest, renewRequest, type UpdateRequest } from '../../lambda-runtime/dynamodb-requests';
import type { Host } from '../../lambda-runtime/host';
import type { SharedTokenEvent, SharedTokenOptions } from '../../lambda-runtime/public-types';
import type { RefresherPort } from '../../lambda-runtime/refresher-port';
import { TokenClient } from '../../lambda-runtime/token-client';
import { parseItem } from '../../lambda-runtime/token-item';
import { TokenProcess } from '../../lambda-runtime/token-process';
import { TableTrouble, type TokenStore, type WriteReply } from '../../lambda-runtime/token-store';
import type { Attributes } from '../../simulation/expression';
import { drive, Scheduler } from '../../simulation/scheduler';
import { SimulatedTable } from '../../simulation/simulated-table';

const START = Date.UTC(2026, 0, 1);
const TABLE = 'tokens';
/** The only token. */
export const TOKEN_ID = 'crm';
/** What each request takes there, and its reply back. */
export const ONE_WAY_MS = 5;

/** A request as the table sees it. */
export interface SimulatedRequest {
  readonly operation: 'read' | 'claim' | 'commit' | 'renew' | 'release';
  /** Milliseconds since the simulation began, when it left its process. */
  readonly at: number;
  readonly update: UpdateRequest | undefined;
}

/** What becomes of a request instead of an answer within 10 ms. */
export type SimulatedFault = 'throttled' | 'request lost' | 'reply lost' | 'request vanishes' | 'reply vanishes' | { readonly slowMs: number } | Error;

/**
 * A table in simulated time: minutes pass at once, and each moment is known to the millisecond. The runtime is the real one, and so are its requests and
 * their conditions.
 */
export class SimulatedTime {
  readonly requests: SimulatedRequest[] = [];
  readonly table = new SimulatedTable();
  private readonly scheduler = new Scheduler(START);
  private leases = 0;
  faults: (request: SimulatedRequest) => SimulatedFault | undefined = () => undefined;

  /** Milliseconds since it began. */
  get passed(): number {
    return this.scheduler.now - START;
  }

  /** True time. */
  get now(): number {
    return this.scheduler.now;
  }

  item(): Attributes | undefined {
    return this.table.item(TOKEN_ID);
  }

  put(item: Attributes): void {
    this.table.put({ tokenId: TOKEN_ID, ...item });
  }

  operations(): string[] {
    return this.requests.map(({ operation }) => operation);
  }

  after(ms: number, act: () => void): void {
    this.scheduler.after(ms, act);
  }

  async sleep(ms: number): Promise<void> {
    return new Promise(resolve => this.scheduler.after(ms, resolve));
  }

  /** Lets time pass until a call is over. */
  async until<T>(call: Promise<T>): Promise<T> {
    let isOver = false;
    const ends = () => { isOver = true; };
    call.then(ends, ends);
    await drive(() => {
      if (isOver) return false;
      if (this.scheduler.isEmpty()) throw new Error('The call never ends');
      this.scheduler.step();
      return true;
    });
    return call;
  }

  /** Lets time pass. */
  async pass(ms: number): Promise<void> {
    return this.until(this.sleep(ms));
  }

  /** The error with which a call ends. */
  async errorOf(call: Promise<unknown>): Promise<unknown> {
    return this.until(call.then(value => { throw new Error(`It ended with ${JSON.stringify(value)}`); }, (error: unknown) => error));
  }

  /** @param refresher whom the process asks for refreshes, if it is attached to one */
  process(refresher?: RefresherPort): SimulatedProcess {
    return new SimulatedProcess(this, refresher);
  }

  /** No two leases have the same id, whichever process claims them. */
  nextLease(): string {
    return `lease-${++this.leases}`;
  }

  /** @internal */
  async answer(request: Omit<SimulatedRequest, 'at'>, perform: () => WriteReply): Promise<WriteReply> {
    const asked = { ...request, at: this.passed };
    this.requests.push(asked);
    const fault = this.faults(asked);
    const { scheduler } = this;
    return new Promise((resolve, reject) => {
      if (fault === 'request vanishes') return;
      const comeBack = (reply: () => void) => scheduler.after(ONE_WAY_MS, reply);
      scheduler.after(ONE_WAY_MS + (typeof fault === 'object' && 'slowMs' in fault ? fault.slowMs : 0), () => {
        if (fault instanceof Error) return comeBack(() => reject(fault));
        if (fault === 'throttled') return comeBack(() => reject(new TableTrouble(true, new Error('Slow down'))));
        if (fault === 'request lost') return comeBack(() => reject(new TableTrouble(false, new Error('No connection'))));
        const reply = perform();
        if (fault === 'reply lost') comeBack(() => reject(new TableTrouble(false, new Error('The connection broke'))));
        else if (fault !== 'reply vanishes') comeBack(() => resolve(reply));
      });
    });
  }
}

/** One process in it, with clocks that a test can move. */
export class SimulatedProcess {
  readonly events: SharedTokenEvent[] = [];
  wallOffset = 0;
  monotonicOffset = 0;
  /** What the host's next random numbers are. */
  random = 0.5;
  private readonly process: TokenProcess;

  constructor(private readonly time: SimulatedTime, private readonly refresher?: RefresherPort) {
    const host: Host = {
      now: () => time.now + this.wallOffset,
      monotonic: () => time.passed + this.monotonicOffset,
      sleep: async (ms, signal) => new Promise(resolve => {
        if (signal?.aborted) return resolve();
        const done = () => {
          signal?.removeEventListener('abort', done);
          resolve();
        };
        signal?.addEventListener('abort', done, { once: true });
        time.after(ms, done);
      }),
      random: () => this.random,
      uuid: () => time.nextLease(),
    };
    this.process = new TokenProcess(host, () => this.store(), refresher && (() => refresher));
  }

  token(options: SharedTokenOptions = {}): TokenClient {
    const attached = this.refresher && { refresher: 'refresher' };
    return new SimulatedToken(this.process, { table: TABLE, onEvent: event => this.events.push(event), ...attached, ...options });
  }

  /** What happened, by name. */
  story(): string[] {
    return this.events.map(({ type }) => type);
  }

  /** A freeze of both clocks' time. */
  freeze(ms: number): void {
    this.wallOffset += ms;
    this.monotonicOffset += ms;
  }

  private store(): TokenStore {
    const { time } = this;
    const { table } = time;
    const write = async (operation: SimulatedRequest['operation'], update: UpdateRequest): Promise<WriteReply> => time.answer({ operation, update }, () => {
      const { applied, item } = table.update(update);
      return { applied, item: parseItem(TOKEN_ID, item) };
    });
    return {
      read: async () => (await time.answer({ operation: 'read', update: undefined }, () => (
        { applied: true, item: parseItem(TOKEN_ID, table.get(readRequest(TABLE, TOKEN_ID))) }))).item,
      claim: async (_, claim) => write('claim', claimRequest(TABLE, TOKEN_ID, claim)),
      commit: async (_, commit) => write('commit', commitRequest(TABLE, TOKEN_ID, commit)),
      renew: async (_, renewal) => write('renew', renewRequest(TABLE, TOKEN_ID, renewal)),
      release: async (_, release) => write('release', releaseRequest(TABLE, TOKEN_ID, release)),
    };
  }
}

class SimulatedToken extends TokenClient {
  constructor(process: TokenProcess, options: SharedTokenOptions) {
    super(process, TOKEN_ID, options);
  }
}
