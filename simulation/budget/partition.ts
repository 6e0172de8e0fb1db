import { readUnits, writeUnits } from './item-size';
import type { GetRequest, UpdateRequest } from '../../lambda-runtime/dynamodb-requests';
import type { Attributes } from '../expression';
import type { Scheduler } from '../scheduler';
import { SimulatedTable, type UpdateReply } from '../simulated-table';

/** What DynamoDB allows one partition, and so one item: a second's worth at once, then so much a second. */
const READ_UNITS_PER_SECOND = 3_000;
const WRITE_UNITS_PER_SECOND = 1_000;

/** The table says: not done, come back later. */
export class Throttled extends Error {}

/** One partition of a table: limited, and metered. */
export class Partition {
  readonly table = new SimulatedTable();
  requests = 0;
  readUnits = 0;
  writeUnits = 0;
  private readonly reads: Bucket;
  private readonly writes: Bucket;

  constructor(scheduler: Scheduler) {
    this.reads = new Bucket(READ_UNITS_PER_SECOND, scheduler);
    this.writes = new Bucket(WRITE_UNITS_PER_SECOND, scheduler);
  }

  /** @throws Throttled */
  get(request: GetRequest): Attributes | undefined {
    this.requests++;
    const units = readUnits(this.stored(request));
    this.reads.check(units);
    this.reads.take(units);
    this.readUnits += units;
    return this.table.get(request);
  }

  /** @throws Throttled */
  update(request: UpdateRequest): UpdateReply {
    this.requests++;
    const before = this.stored(request);
    this.writes.check(writeUnits(before, undefined));
    const reply = this.table.update(request);
    const units = writeUnits(before, reply.item);
    this.writes.take(units);
    this.writeUnits += units;
    return reply;
  }

  /** Counts from here. */
  resetMeters(): void {
    this.requests = 0;
    this.readUnits = 0;
    this.writeUnits = 0;
  }

  private stored({ Key }: Pick<GetRequest, 'Key'>): Attributes | undefined {
    return this.table.item(Key.tokenId as string);
  }
}

class Bucket {
  private units: number;
  private filledAt: number;

  constructor(private readonly unitsPerSecond: number, private readonly scheduler: Scheduler) {
    this.units = unitsPerSecond;
    this.filledAt = scheduler.now;
  }

  /** @throws Throttled */
  check(units: number): void {
    const { now } = this.scheduler;
    this.units = Math.min(this.unitsPerSecond, this.units + this.unitsPerSecond * (now - this.filledAt) / 1_000);
    this.filledAt = now;
    if (this.units < units) throw new Throttled('The partition has no units left');
  }

  take(units: number): void {
    this.units -= units;
  }
}
