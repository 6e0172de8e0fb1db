/** Something that happens at a moment of simulated time. */
interface Scheduled {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
}

/** The one queue of things to come, and the only true clock: whole milliseconds that pass only when nothing is left to run. */
export class Scheduler {
  /** True time; the table's clock shows it. */
  now: number;
  private order = 0;
  private readonly heap: Scheduled[] = [];

  constructor(start: number) {
    this.now = start;
  }

  after(ms: number, run: () => void): void {
    this.at(this.now + Math.max(0, Math.ceil(ms)), run);
  }

  at(at: number, run: () => void): void {
    const { heap } = this;
    const scheduled: Scheduled = { at, order: this.order++, run };
    let place = heap.length;
    heap.push(scheduled);
    while (place > 0) {
      const parent = Math.floor((place - 1) / 2);
      const above = heap[parent] as Scheduled;
      if (!isBefore(scheduled, above)) break;
      heap[place] = above;
      place = parent;
    }
    heap[place] = scheduled;
  }

  isEmpty(): boolean {
    return this.heap.length === 0;
  }

  /** When the next thing happens; Infinity: never. */
  nextAt(): number {
    return this.heap[0]?.at ?? Infinity;
  }

  /** Runs the next thing. */
  step(): void {
    const next = this.pop();
    if (next.at > this.now) this.now = next.at;
    next.run();
  }

  private pop(): Scheduled {
    const { heap } = this;
    const first = heap[0] as Scheduled;
    const last = heap.pop() as Scheduled;
    const { length } = heap;
    if (length === 0) return first;
    let place = 0;
    for (;;) {
      let child = 2 * place + 1;
      if (child >= length) break;
      if (child + 1 < length && isBefore(heap[child + 1] as Scheduled, heap[child] as Scheduled)) child++;
      if (!isBefore(heap[child] as Scheduled, last)) break;
      heap[place] = heap[child] as Scheduled;
      place = child;
    }
    heap[place] = last;
    return first;
  }
}

function isBefore(one: Scheduled, other: Scheduled): boolean {
  return one.at < other.at || (one.at === other.at && one.order < other.order);
}

/**
 * Calls `step` again and again until it says false, and lets every promise settle in between.
 *
 * Node drains all microtasks, those queued by microtasks included, before it takes the next `nextTick`: so one that is queued *by* a microtask runs when
 * the runtime under test has come to rest. That costs a fraction of a microsecond, where `setImmediate` costs several.
 */
export async function drive(step: () => boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    const afterMicrotasks = () => process.nextTick(tick);
    const tick = () => {
      try {
        if (step()) queueMicrotask(afterMicrotasks);
        else resolve();
      } catch (error) {
        reject(error as Error);
      }
    };
    queueMicrotask(afterMicrotasks);
  });
}
