import { setTimeout as sleep } from 'node:timers/promises';
import { createDynamoDbTokenStore } from '../../lambda-runtime/dynamodb-token-store';
import { type Host, systemHost, type TableClock } from '../../lambda-runtime/host';
import type { SharedTokenEvent, SharedTokenOptions } from '../../lambda-runtime/public-types';
import type { RefresherPort } from '../../lambda-runtime/refresher-port';
import { TokenClient } from '../../lambda-runtime/token-client';
import { TokenProcess } from '../../lambda-runtime/token-process';
import type { TokenStore } from '../../lambda-runtime/token-store';

/** The real host, with clocks that a test can move: a wall clock that is off, a freeze that moves both. */
export class MovableHost implements Host {
  wallOffset = 0;
  monotonicOffset = 0;

  sleep = systemHost.sleep;
  random = systemHost.random;
  uuid = systemHost.uuid;

  /** Time passes without anything running, as in a frozen environment. */
  pass(ms: number): void {
    this.wallOffset += ms;
    this.monotonicOffset += ms;
  }

  now(): number {
    return systemHost.now() + this.wallOffset;
  }

  monotonic(): number {
    return systemHost.monotonic() + this.monotonicOffset;
  }
}

class InstanceToken extends TokenClient {
  constructor(process: TokenProcess, tokenId: string, options: SharedTokenOptions) {
    super(process, tokenId, options);
  }
}

/** One simulated process: its own memory, its own clocks, the real store. */
export class Instance {
  readonly host = new MovableHost();
  readonly events: SharedTokenEvent[] = [];
  private readonly once = new Map<SharedTokenEvent['type'], () => void>();
  private readonly process: TokenProcess;

  /** @param refresher whom its tokens ask that have no `refresh` and name a refresher */
  constructor(wrapStore: (store: TokenStore, host: MovableHost) => TokenStore = store => store, refresher?: RefresherPort) {
    const createStore = (table: string, host: Host, clock: TableClock) => wrapStore(createDynamoDbTokenStore(table, host, clock), this.host);
    this.process = new TokenProcess(this.host, createStore, refresher && (() => refresher));
  }

  token(tokenId: string, options: SharedTokenOptions = {}): TokenClient {
    const onEvent = (event: SharedTokenEvent) => {
      this.events.push(event);
      this.once.get(event.type)?.();
      this.once.delete(event.type);
    };
    return new InstanceToken(this.process, tokenId, { onEvent, ...options });
  }

  /** Does something in the middle of things, the first time that an event is told. */
  onFirst(type: SharedTokenEvent['type'], act: () => void): void {
    this.once.set(type, act);
  }

  /** What happened, by name. */
  story(): string[] {
    return this.events.map(event => event.type);
  }

  count(type: SharedTokenEvent['type']): number {
    return this.events.filter(event => event.type === type).length;
  }

  /** Waits until something has happened; 10 s are enough for everything. */
  async until(type: SharedTokenEvent['type']): Promise<void> {
    for (let looks = 0; looks < 2_000; looks++) {
      if (this.count(type) > 0) return;
      await sleep(5);
    }
    throw new Error(`Never ${type}; but ${this.story().join(', ')}`);
  }
}
