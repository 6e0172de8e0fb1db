import { ARRIVALS_MS, type Contender, type Draw, type Rotation, type Setting } from './rotation';
import { SharedWorld, Throttled } from './shared-world';
import type { GetRequest, UpdateRequest } from '../../lambda-runtime/dynamodb-requests';
import { TOKEN_ID } from '../token-id';

const TABLE = 'tokens';
const SECOND = 1_000;

/** A lock ends so long after it was taken. */
const LOCK_MS = 15 * SECOND;
/** Losers wait 1, 2, 4 ... 10 s between their reads, each drawn from zero up to that ("full jitter"), and give up after a minute. */
const FIRST_STEP_MS = SECOND;
const LONGEST_STEP_MS = 10 * SECOND;
const GIVES_UP_MS = 60 * SECOND;
/** The SDK sends a throttled request again, ten times in all, after 50, 100, 200 ms ..., fully jittered. */
const SDK_ATTEMPTS = 10;
const SDK_FIRST_STEP_MS = 50;
const SDK_LONGEST_STEP_MS = 20 * SECOND;

/**
 * The algorithm to compare with. A rejected token is marked invalid; then claim = update on condition (token is the rejected one) and (no lock, or it has
 * expired); who wins fetches and stores; who does not reads consistently at once, and then with exponential back-off and full jitter, until the token is
 * another one, and claims again where the lock has expired.
 */
export function referenceContender(): Contender {
  return { name: 'reference', rotate: async (setting, draw) => new ReferenceRotation(setting, draw).run() };
}

/** The item, as this algorithm stores it. */
interface Stored {
  readonly token: string;
  readonly lock?: { readonly release_code: string; readonly expires: number };
}

class GaveUp extends Error {}

class ReferenceRotation {
  private readonly world: SharedWorld;
  private latencyMs = 0;

  constructor(private readonly setting: Setting, draw: Draw) {
    this.world = new SharedWorld(setting, draw);
  }

  async run(): Promise<Rotation> {
    const { world, setting: { instances } } = this;
    const { partition, scheduler, random } = world;
    const dead = world.newToken();
    partition.table.put({ tokenId: TOKEN_ID, token: dead });
    this.latencyMs = world.latencyMs();
    const begins = scheduler.now;
    const overMs: number[] = [];
    let failed = 0;

    const live = async (name: string): Promise<void> => {
      await world.sleep(random.next() * ARRIVALS_MS);
      try {
        await this.successorOf(dead, name);
        overMs.push(scheduler.now - begins - this.latencyMs);
      } catch (error) {
        if (!(error instanceof GaveUp || error instanceof Throttled)) throw error;
        failed++;
      }
    };
    await world.run(async () => Promise.all(Array.from({ length: instances }, async (_, id) => live(`i${id}`))));
    const { requests, readUnits, writeUnits } = partition;
    return { authCalls: world.authCalls, invocations: 0, requests, readUnits, writeUnits, overMs, failed };
  }

  private async successorOf(dead: string, name: string): Promise<string> {
    for (let claims = 1; ; claims++) {
      const releaseCode = `${name} ${claims}`;
      if (await this.claim(dead, releaseCode)) {
        const token = await this.world.authorize(this.latencyMs);
        await this.store(dead, token, releaseCode);
        return token;
      }
      const { token } = await this.wait(dead);
      if (token !== dead) return token;
    }
  }

  /** Until the token is another one, or its lock has expired. */
  private async wait(dead: string): Promise<Stored> {
    const { world } = this;
    const { scheduler, random } = world;
    const since = scheduler.now;
    for (let stepMs = FIRST_STEP_MS; ; stepMs = Math.min(stepMs * 2, LONGEST_STEP_MS)) {
      const stored = await this.read();
      if (stored.token !== dead || stored.lock === undefined || stored.lock.expires < scheduler.now) return stored;
      const leftMs = GIVES_UP_MS - (scheduler.now - since);
      if (leftMs <= 0) throw new GaveUp('The token is still the old one');
      await world.sleep(Math.min(random.next() * stepMs, leftMs));
    }
  }

  // --- requests -------------------------------------------------------------------------------------------------------------------------

  private async read(): Promise<Stored> {
    return this.send(() => this.world.partition.get(READ) as unknown as Stored);
  }

  private async claim(dead: string, releaseCode: string): Promise<boolean> {
    const { now } = this.world.scheduler;
    return this.update({
      UpdateExpression: 'SET #lock = :lock',
      ConditionExpression: '(attribute_not_exists(#token) OR #token = :dead) AND (attribute_not_exists(#lock) OR #lock.#expires < :now)',
      ExpressionAttributeNames: { '#token': 'token', '#lock': 'lock', '#expires': 'expires' },
      ExpressionAttributeValues: { ':dead': dead, ':now': now, ':lock': { release_code: releaseCode, expires: now + LOCK_MS } },
    });
  }

  private async store(dead: string, token: string, releaseCode: string): Promise<boolean> {
    return this.update({
      UpdateExpression: 'SET #token = :token REMOVE #lock',
      ConditionExpression: '(attribute_not_exists(#token) OR #token = :dead) AND #lock.#releaseCode = :mine',
      ExpressionAttributeNames: { '#token': 'token', '#lock': 'lock', '#releaseCode': 'release_code' },
      ExpressionAttributeValues: { ':token': token, ':dead': dead, ':mine': releaseCode },
    });
  }

  private async update(expressions: Omit<UpdateRequest, keyof typeof WRITE>): Promise<boolean> {
    return this.send(() => this.world.partition.update({ ...WRITE, ...expressions }).applied);
  }

  private async send<T>(perform: () => T): Promise<T> {
    const { world } = this;
    for (let attempt = 1, stepMs = SDK_FIRST_STEP_MS; ; attempt++, stepMs = Math.min(stepMs * 2, SDK_LONGEST_STEP_MS)) {
      try {
        return await world.roundTrip(perform);
      } catch (error) {
        if (!(error instanceof Throttled) || attempt === SDK_ATTEMPTS) throw error;
        await world.sleep(world.random.next() * stepMs);
      }
    }
  }
}

const READ: GetRequest = {
  TableName: TABLE,
  Key: { tokenId: TOKEN_ID },
  ConsistentRead: true,
  ProjectionExpression: '#token, #lock',
  ExpressionAttributeNames: { '#token': 'token', '#lock': 'lock' },
};

const WRITE = {
  TableName: TABLE,
  Key: { tokenId: TOKEN_ID },
  ReturnValues: 'ALL_NEW',
  ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
} as const;
