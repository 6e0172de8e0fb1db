import { ARRIVALS_MS, type Contender, type Draw, type Rotation, type Setting } from './rotation';
import { SharedWorld, Throttled } from './shared-world';
import { SimulatedFunction } from './simulated-function';
import type { Host, TableClock } from '../../lambda-runtime/host';
import type { SharedTokenOptions } from '../../lambda-runtime/public-types';
import type { RefresherPort } from '../../lambda-runtime/refresher-port';
import type { TokenClient } from '../../lambda-runtime/token-client';
import type { TokenItem } from '../../lambda-runtime/token-item';
import type { TokenStore, WriteReply } from '../../lambda-runtime/token-store';
import type { Attributes } from '../expression';
import { Random } from '../random';
import type { Runtime } from '../runtime';
import { TOKEN_ID } from '../token-id';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const TABLE = 'tokens';

/** Rotations before the one that is measured: the item's `refreshMs` comes from them, by the runtime's own commits. */
const EARLIER_ROTATIONS = 20;
/** Long enough that no rejection looks like a storm. */
const BETWEEN_ROTATIONS_MS = 35 * MINUTE;
/** Every instance has used the token before: it loaded it at some moment in this time. */
const LOADED_WITHIN_MS = 10 * MINUTE;
/** Clocks of machines that are kept by NTP differ by less. */
const CLOCKS_DIFFER_MS = 10;

/** Where the instances only read, and ask a refresher. */
interface Asking {
  readonly isWarm: boolean;
}

/** What a small function takes to start on Lambda: so much at least. */
const COLD_START_MS = 800;

/** This project's runtime: its own code, over a simulated clock, network and table. */
export function runtimeContender(name: string, runtime: Runtime, asking?: Asking): Contender {
  return { name, rotate: async (setting, draw) => new RuntimeRotation(runtime, setting, draw, asking).run() };
}

/** One process that uses the token. */
type Member = Pick<TokenClient, 'get' | 'reject' | 'refresh'>;

class RuntimeRotation {
  private readonly world: SharedWorld;
  private readonly parsed = new WeakMap<Attributes, TokenItem>();
  private readonly refresher: SimulatedFunction<Member>;
  private readonly port: RefresherPort;
  private members = 0;
  /** What the provider takes in this rotation. */
  private providerMs: () => number;

  constructor(
    private readonly runtime: Runtime,
    private readonly setting: Setting,
    private readonly draw: Draw,
    private readonly asking: Asking | undefined,
  ) {
    const world = this.world = new SharedWorld(setting, draw);
    this.providerMs = () => world.anyLatencyMs();
    this.refresher = new SimulatedFunction(world, () => this.join(), COLD_START_MS);
    this.port = { ask: async asked => this.refresher.invoke(async environment => environment.refresh({ asked })) };
  }

  async run(): Promise<Rotation> {
    return this.world.run(async () => {
      await this.rotateBefore();
      return this.measure();
    });
  }

  private async rotateBefore(): Promise<void> {
    const { world } = this;
    const first = this.join();
    await first.get();
    for (let count = 0; count < EARLIER_ROTATIONS; count++) {
      await world.sleep(BETWEEN_ROTATIONS_MS);
      first.reject(await first.get());
      await first.get();
    }
    await world.sleep(BETWEEN_ROTATIONS_MS);
  }

  private async measure(): Promise<Rotation> {
    const { world, setting: { instances } } = this;
    const { scheduler, partition, random } = world;
    const latencyMs = world.latencyMs();
    // At any part of a second, since the table's clock counts whole ones.
    const begins = scheduler.now + LOADED_WITHIN_MS + MINUTE + random.next() * SECOND;
    const overMs: number[] = [];
    let failed = 0;
    this.providerMs = () => latencyMs;

    const live = async (member: Member): Promise<void> => {
      await world.sleep(random.next() * LOADED_WITHIN_MS);
      const dead = await member.get();
      await world.sleep(begins - scheduler.now + random.next() * ARRIVALS_MS);
      member.reject(dead);
      try {
        if (await member.get() === dead) throw new Error('The dead token again');
        overMs.push(scheduler.now - begins - latencyMs);
      } catch (error) {
        if (!(error instanceof this.runtime.SharedTokenError)) throw error;
        failed++;
      }
    };
    scheduler.at(begins, () => {
      partition.resetMeters();
      world.authCalls = 0;
      this.refresher.invocations = 0;
      if (this.asking?.isWarm) this.refresher.warmUp();
      else this.refresher.coolDown();
    });
    await Promise.all(Array.from({ length: instances }, async () => live(this.asking ? this.joinAsReader() : this.join())));
    const { requests, readUnits, writeUnits } = partition;
    return { authCalls: world.authCalls, invocations: this.refresher.invocations, requests, readUnits, writeUnits, overMs, failed };
  }

  private join(): Member {
    return this.member({ refresh: async () => ({ accessToken: await this.world.authorize(this.providerMs()) }) });
  }

  private joinAsReader(): Member {
    return this.member({ refresher: 'refresher' });
  }

  private member(options: SharedTokenOptions): Member {
    const { runtime, port } = this;
    const host = this.host(++this.members);
    const process = new runtime.TokenProcess(host, (_table, _host, clock) => this.store(host, clock), () => port);
    class SimulatedToken extends runtime.TokenClient {
      constructor() {
        super(process, TOKEN_ID, { table: TABLE, ...options });
      }
    }
    return new SimulatedToken();
  }

  private host(id: number): Host {
    const { world } = this;
    const { scheduler } = world;
    const random = new Random(this.draw.seed, 12, id);
    const shiftMs = (random.next() - 0.5) * CLOCKS_DIFFER_MS;
    const start = scheduler.now;
    let leases = 0;
    return {
      now: () => Math.floor(scheduler.now + shiftMs),
      monotonic: () => scheduler.now - start,
      sleep: async (ms, signal) => new Promise(resolve => {
        if (signal?.aborted) return resolve();
        let isOver = false;
        const end = () => {
          isOver = true;
          resolve();
        };
        signal?.addEventListener('abort', end, { once: true });
        scheduler.after(Math.ceil(ms), () => { if (!isOver) world.wakeAfter(0, end); }); // a timer counts whole milliseconds
      }),
      random: () => random.next(),
      uuid: () => `00000000-0000-4000-8000-${String(id).padStart(8, '0')}${String(++leases).padStart(4, '0')}`,
    };
  }

  private store(host: Host, clock: TableClock): TokenStore {
    const { runtime, world } = this;
    const { partition, scheduler } = world;
    const readRequest = runtime.readRequest(TABLE, TOKEN_ID);

    const send = async <T>(perform: () => T): Promise<T> => {
      const sentAt = host.now();
      let date = 0;
      try {
        return await world.roundTrip(() => {
          date = Math.floor(scheduler.now / SECOND) * SECOND; // the `Date` header counts whole seconds
          return perform();
        });
      } catch (error) {
        throw error instanceof Throttled ? new runtime.TableTrouble(true, error) : error;
      } finally {
        clock.learn(date, sentAt, host.now());
      }
    };
    const write = async (request: Parameters<typeof partition.update>[0]): Promise<WriteReply> => send(() => {
      const { applied, item } = partition.update(request);
      return { applied, item: this.parse(item) };
    });

    return {
      read: async () => send(() => this.parse(partition.get(readRequest))),
      claim: async (tokenId, claim) => write(runtime.claimRequest(TABLE, tokenId, claim)),
      commit: async (tokenId, commit) => write(runtime.commitRequest(TABLE, tokenId, commit)),
      renew: async (tokenId, renewal) => write(runtime.renewRequest(TABLE, tokenId, renewal)),
      release: async (tokenId, release) => write(runtime.releaseRequest(TABLE, tokenId, release)),
    };
  }

  /** All look at the same few items. */
  private parse(attributes: Attributes | undefined): TokenItem | undefined {
    if (attributes === undefined) return undefined;
    const known = this.parsed.get(attributes);
    if (known !== undefined) return known;
    const item = this.runtime.parseItem(TOKEN_ID, attributes);
    if (item !== undefined) this.parsed.set(attributes, item);
    return item;
  }
}
