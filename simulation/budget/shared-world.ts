import { Partition, Throttled } from './partition';
import { Random } from '../random';
import { drive, Scheduler } from '../scheduler';
import type { Draw, Setting } from './rotation';

/** A moment in 2026, at no whole second. */
const START = Date.UTC(2026, 0, 1) + 371;

/** Time that is not counted in whole milliseconds: with these, a network of 5 ms would be one of 6. */
class FineScheduler extends Scheduler {
  override after(ms: number, run: () => void): void {
    this.at(this.now + Math.max(0, ms), run);
  }
}

/** What both contenders share: time, one partition, a network to it, a provider. */
export class SharedWorld {
  readonly scheduler = new FineScheduler(START);
  readonly partition = new Partition(this.scheduler);
  readonly random: Random;
  authCalls = 0;
  private tokens = 0;
  private hasWoken = false;

  constructor(private readonly setting: Setting, private readonly draw: Draw) {
    this.random = new Random(draw.seed, setting.instances, 11);
  }

  /** A request to the table and back: 5 ms in the mean, 3 ms at least, half of it each way. `perform` happens there. */
  async roundTrip<T>(perform: () => T): Promise<T> {
    const halfMs = (3 + 2 * exponential(this.random)) / 2;
    return new Promise((resolve, reject) => {
      this.scheduler.after(halfMs, () => {
        try {
          const value = perform();
          this.wakeAfter(halfMs, () => resolve(value));
        } catch (error) {
          this.wakeAfter(halfMs, () => reject(error as Error));
        }
      });
    });
  }

  async sleep(ms: number): Promise<void> {
    return new Promise(resolve => { this.wakeAfter(ms, resolve); });
  }

  /** Does something later that lets somebody go on. */
  wakeAfter(ms: number, wake: () => void): void {
    this.scheduler.after(ms, () => {
      this.hasWoken = true;
      wake();
    });
  }

  /** The provider's latency in the rotation that is measured. */
  latencyMs(): number {
    return latencyAt(this.draw.quantile, this.setting);
  }

  /** And in one before. */
  anyLatencyMs(): number {
    return latencyAt(this.random.next() || 0.5, this.setting);
  }

  /** One request to the provider. */
  async authorize(ms: number): Promise<string> {
    this.authCalls++;
    await this.sleep(ms);
    return this.newToken();
  }

  newToken(): string {
    return String(++this.tokens).padEnd(this.setting.tokenKb * 1_024, '-');
  }

  /** Runs until `work` is done; what would happen after that is left undone. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    let outcome: Promise<T> | undefined;
    let isDone = false;
    const done = () => { isDone = true; };
    await drive(() => {
      if (outcome === undefined) {
        outcome = work();
        outcome.then(done, done);
        return true;
      }
      if (isDone) return false;
      // Only what wakes somebody needs a pause in which promises settle.
      for (this.hasWoken = false; !this.hasWoken;) {
        if (this.scheduler.isEmpty()) throw new Error('Somebody waits for what never happens.');
        this.scheduler.step();
      }
      return true;
    });
    return outcome as Promise<T>;
  }
}

export { Throttled };

function exponential(random: Random): number {
  return -Math.log(1 - random.next());
}

/** Log-normal: never below zero, with a tail, as latencies are. */
function latencyAt(quantile: number, { providerMs, providerCv }: Setting): number {
  const variance = Math.log(1 + providerCv ** 2);
  return providerMs * Math.exp(Math.sqrt(variance) * normalAt(quantile) - variance / 2);
}

/** The normal distribution's quantile, to 0.00045 (Abramowitz and Stegun 26.2.23). */
function normalAt(quantile: number): number {
  if (quantile > 0.5) return -normalAt(1 - quantile);
  const t = Math.sqrt(-2 * Math.log(quantile));
  return (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))) - t;
}
