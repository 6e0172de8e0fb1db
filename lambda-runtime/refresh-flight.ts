import { decide, type Decision, isUsable, type Situation } from './decide';
import { SharedTokenError, type SharedTokenErrorCode } from './errors';
import type { Tell } from './events';
import { type Deadline, deadlineIn, type Host, type TableClock, timeLeft } from './host';
import { LeaseHolder } from './lease-holder';
import type { Refresh } from './public-types';
import { isFinal, type RefreshFailure } from './refresh-failure';
import { backOff } from './timing';
import type { StoredToken } from './token-item';
import type { TokenMemory } from './token-memory';
import type { Commit } from './token-store';
import type { TokenTable } from './token-table';

const SAVE_LIMIT_MS = 1_000;

/** One call that needs a token. */
export interface Caller {
  readonly deadline: Deadline;
  readonly signal: AbortSignal | undefined;
  readonly refresh: Refresh | undefined;
  readonly authLimitMs: number | undefined;
  /** For people: which function and request this is. */
  readonly holder: string;
  readonly tell: Tell;
}

/** What a flight works with. */
export interface FlightMeans {
  readonly tokenId: string;
  readonly host: Host;
  readonly clock: TableClock;
  readonly table: TokenTable;
  readonly memory: TokenMemory;
}

/**
 * The one search for a token that all concurrent callers of a process share: read, decide, act, until the decision is a token or an error.
 *
 * Each caller leaves at its own deadline; the flight ends with the last of them. A request that was sent to the provider goes on all the same.
 */
export class RefreshFlight {
  private readonly callers = new Set<Caller>();
  private readonly everyoneLeft = new AbortController();
  /** Since when nothing says when to expect a token: waits for a lease or a cool-down do not count. */
  private lookingSince: number;
  private latest: Deadline;
  private holder: LeaseHolder | undefined;
  private landed = false;
  private fresh = false;
  private looks = 0;
  private triedAhead = false;
  private failure: RefreshFailure | undefined;
  private readonly landing: Promise<StoredToken>;

  constructor(private readonly means: FlightMeans, private lead: Caller) {
    this.lookingSince = means.host.monotonic();
    this.latest = lead.deadline;
    this.landing = this.fly().finally(() => {
      this.landed = true;
    });
    this.landing.catch(() => undefined); // the last caller may have left before
  }

  /** May another caller join? Not once it has landed, nor when a freeze has taken its time or its lease away. */
  isOpen(): boolean {
    return !this.landed && !this.everyoneLeft.signal.aborted && this.timeLeft() > 0 && !this.holder?.isOver();
  }

  /** The token for one caller: ends at its deadline, or when its signal is aborted. */
  async board(caller: Caller): Promise<StoredToken> {
    const { host } = this.means;
    this.callers.add(caller);
    this.latest = {
      wall: Math.max(this.latest.wall, caller.deadline.wall),
      monotonic: Math.max(this.latest.monotonic, caller.deadline.monotonic),
    };
    if (this.lead.refresh === undefined && caller.refresh !== undefined) this.lead = caller;
    const timer = new AbortController();
    const patience = caller.signal === undefined ? timer.signal : AbortSignal.any([caller.signal, timer.signal]);
    const gaveUp = host.sleep(Math.max(0, timeLeft(host, caller.deadline)), patience).then(() => {
      throw caller.signal?.aborted ? abortedError(this.means.tokenId, caller.signal) : this.deadlineExceeded();
    });
    try {
      return await Promise.race([this.landing, gaveUp]);
    } finally {
      timer.abort();
      gaveUp.catch(() => undefined);
      this.callers.delete(caller);
      if (this.callers.size === 0) this.everyoneLeft.abort();
    }
  }

  /** The latest deadline of all who boarded: who leaves early by a signal does not shorten a request that was sent, or its commit. */
  private readonly deadline = (): Deadline => this.latest;

  private timeLeft(): number {
    return timeLeft(this.means.host, this.deadline());
  }

  private async fly(): Promise<StoredToken> {
    if (this.means.memory.unsaved !== undefined) await this.saveUnsaved(this.means.memory.unsaved);
    for (;;) {
      const decision = decide(situationOf(this.means, this.view()));
      if (decision.action === 'use' && decision.ahead === 'no') {
        if (this.means.memory.isNews()) this.lead.tell('adopted', { generation: decision.token.generation });
        return decision.token;
      }
      if (decision.action === 'fail') throw this.failed(decision.code, decision.retryAt);
      this.checkTime();
      await this.act(decision);
    }
  }

  private async act(decision: Decision): Promise<void> {
    if (decision.action === 'wait') {
      await this.lookAfter(decision.ms);
      if (decision.reason !== 'idle') this.lookingSince = this.means.host.monotonic();
      return;
    }
    if (decision.action === 'read' || (decision.action === 'use' && decision.ahead === 'read')) return this.look();
    if (decision.action === 'use') this.triedAhead = true;
    return this.refresh();
  }

  private async look(): Promise<void> {
    this.looks++;
    await this.means.table.read(this.lead.tell, { deadline: this.deadline, stop: this.everyoneLeft.signal });
    this.fresh = true;
  }

  private async lookAfter(ms: number): Promise<void> {
    const { host, memory } = this.means;
    this.lead.tell('waiting', { until: host.now() + ms, leaseId: memory.item?.lease?.id });
    await host.sleep(Math.min(ms, this.timeLeft()), this.everyoneLeft.signal);
    this.checkTime();
    await this.look();
  }

  private async refresh(): Promise<void> {
    const { memory, clock, host } = this.means;
    const { refresh, authLimitMs, holder, tell } = this.lead;
    if (refresh === undefined) throw new Error('A flight without a right to refresh decided to claim');
    this.holder = new LeaseHolder({ ...this.means, refresh, authLimitMs, holder, tell, deadline: this.deadline });
    const outcome = await this.holder.run();
    this.holder = undefined;
    this.fresh = true;
    if (outcome === 'settled') return;
    if (outcome === 'throttled') return this.lookAfter(backOff(this.looks, host.random()));
    this.failure = outcome;
    if (isFinal(outcome) && !isUsable(memory.item?.token, memory.rejection, clock.now())) {
      throw this.failed(outcome.error.code, memory.item?.failure?.retryAt);
    }
  }

  /** One attempt: the token is in use already, and whoever called must not wait long for it to be stored. */
  private async saveUnsaved(unsaved: Commit): Promise<void> {
    const { table, memory, host } = this.means;
    const soon = deadlineIn(host, Math.min(SAVE_LIMIT_MS, this.timeLeft()));
    try {
      await table.commit(unsaved, this.lead.tell, { deadline: () => soon, stop: this.everyoneLeft.signal });
      if (memory.unsaved === unsaved) memory.unsaved = undefined;
    } catch (error) {
      if (!(error instanceof SharedTokenError)) throw error;
    }
  }

  private view(): FlightView {
    const { fresh, looks, triedAhead } = this;
    return {
      fresh,
      looks,
      triedAhead,
      lookingMs: this.means.host.monotonic() - this.lookingSince,
      timeLeftMs: this.timeLeft(),
      mayRefresh: this.lead.refresh !== undefined,
    };
  }

  private checkTime(): void {
    if (this.timeLeft() <= 0 || this.everyoneLeft.signal.aborted) throw this.deadlineExceeded();
  }

  // --- errors -----------------------------------------------------------------------------------------------------------------------------

  /** The error of this flight's own failed refresh says more than the cool-down that it caused. */
  private failed(code: SharedTokenErrorCode, retryAt: number | undefined): SharedTokenError {
    const { tokenId, memory } = this.means;
    if (this.failure !== undefined) {
      const { error } = this.failure;
      return new SharedTokenError(error.code, error.message, { tokenId, retryAt, cause: error.cause });
    }
    const message = code === 'COOLING_DOWN'
      ? `the last refresh failed (${memory.item?.failure?.code ?? 'unknown'}); no instance tries again before ${isoTime(retryAt)}.`
      : 'there is no usable token, and this function only reads. Give it a refresh function, or see why the one that refreshes does not.';
    return new SharedTokenError(code, `Token "${tokenId}": ${message}`, { tokenId, retryAt });
  }

  private deadlineExceeded(): SharedTokenError {
    const { tokenId, memory } = this.means;
    const { lease, failure } = memory.item ?? {};
    const why = lease !== undefined
      ? `${lease.holder || 'another instance'} is refreshing it until ${isoTime(lease.until)} at the latest`
      : failure !== undefined ? `the last refresh failed (${failure.code})` : 'too little time was left for a refresh';
    return new SharedTokenError('DEADLINE_EXCEEDED', `Token "${tokenId}": no usable token before the deadline: ${why}. ` +
      'Raise the timeout of the function or of the call above what a refresh takes.', { tokenId, cause: this.failure?.error });
  }
}

/** What a decision depends on beside the state that the process shares. */
export type FlightView = Pick<Situation, 'fresh' | 'looks' | 'triedAhead' | 'lookingMs' | 'timeLeftMs' | 'mayRefresh'>;

export function situationOf({ host, clock, memory }: FlightMeans, view: FlightView): Situation {
  return {
    ...view,
    now: clock.now(),
    item: memory.item,
    rejection: memory.rejection,
    leaseWatchedMs: memory.leaseWatchedMs(),
    longestTimeLeftMs: memory.longestTimeLeftMs,
    jitter: host.random(),
    aheadJitter: memory.aheadJitter(),
  };
}

export function abortedError(tokenId: string, signal: AbortSignal): SharedTokenError {
  return new SharedTokenError('ABORTED', `Token "${tokenId}": the caller's signal was aborted.`, { tokenId, cause: signal.reason });
}

function isoTime(at: number | undefined): string {
  return at === undefined ? 'later' : new Date(at).toISOString();
}
