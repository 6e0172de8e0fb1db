import type { Case } from './case';
import type { Attributes } from './expression';
import type { Instance } from './instance';
import { type Issued, SENTINEL } from './provider';
import type { Scheduler } from './scheduler';
import type { Write } from './simulated-store';
import type { RefreshRequest, SharedTokenEvent } from '../lambda-runtime/public-types';
import type { Failure, Lease } from '../lambda-runtime/token-item';
import type { Claim, Commit, Release, Renewal } from '../lambda-runtime/token-store';

/** The invariants of docs/protocol.md; and that no refresh token is lost or spent twice without need, which several of them imply. */
export const INVARIANTS = ['I1', 'I2', 'I3', 'I4', 'I5', 'I6', 'I7', 'I8', 'credentials'] as const;
export type Invariant = typeof INVARIANTS[number];

/** How often each was checked. */
export type Checks = Record<Invariant, number>;

export function noChecks(): Checks {
  return { I1: 0, I2: 0, I3: 0, I4: 0, I5: 0, I6: 0, I7: 0, I8: 0, credentials: 0 };
}

/** A promise that was broken. */
export interface Violation {
  readonly invariant: Invariant;
  readonly what: string;
  readonly at: number;
}

/** What an operator writes. */
export type Mend = 'end lease' | 'clear failure' | 'expire';

/** An applied or refused write, with the item before and after. */
export interface Written {
  readonly instance: Instance;
  readonly write: Write;
  readonly before: Attributes | undefined;
  readonly after: Attributes | undefined;
  readonly applied: boolean;
}

interface LeaseRecord {
  readonly id: string;
  /** When by true time the lease is over, counted from the first attempt to claim it. */
  end: number;
  /** In the order in which the table gave them; 0: not yet. */
  order: number;
  hasSent: boolean;
  isGivenBack: boolean;
  /** Its item was removed, or an operator ended it: whatever its holder does now is nobody's fault. */
  isVoid: boolean;
  /** Its item was removed since, or an operator ended it. */
  isRemoved: boolean;
  /**
   * The item was removed, or the lease ended by an operator, and a former holder stored its late answer since: which of the two is newer cannot be told, if they were issued within seconds.
   * A limit of the protocol that is known.
   */
  isOvertaken: boolean;
  base: string;
  refreshToken: string | undefined;
}

/** A request to the provider. */
export interface AuthCall {
  readonly by: string;
  readonly lease: LeaseRecord;
  /** 1, 2, 3 ... in the order of sending: the network may change it. */
  readonly number: number;
  isOpen: boolean;
}

interface Credential {
  readonly issued: Issued;
  readonly instance: Instance;
  readonly lease: LeaseRecord;
  /** Of the request that brought it. */
  readonly number: number;
  /** Later leases outrank earlier ones, and later requests those that were sent before them under the same lease. */
  readonly rank: number;
}

/** A call of an application for a token. */
export interface TokenCall {
  readonly instance: Instance;
  readonly kind: 'get' | 'use' | 'refresh';
  readonly startedAt: number;
  /** By its own monotonic clock. */
  deadline: number;
  readonly requestsBefore: number;
  /** It has a token, or has ended. */
  isServed: boolean;
}

/** Cool-downs as docs/protocol.md has them, written down a second time. */
function scheduledPause(count: number): number {
  return Math.min(1_000 * 2 ** (count - 1), 60_000);
}

/** Clocks that are off agree with the table's to a second each, and by two more where replies were slow. */
const TOLERANCE_MS = 3_000;
/** Where the own clock is exact, the table's time is, too, or nearly so; where replies are slow, less so. */
const KNOWN_TO_MS = 900;
const ROUNDING_MS = 5;
/** Of a clock during a lease. */
const DRIFT_MS = 50;

/**
 * Sees everything: true time, the table, the provider, which process lives. Compares what happens with what docs/protocol.md promises, at every step, and
 * shares no code with the runtime.
 */
export class Observer {
  readonly checks = noChecks();
  violation: Violation | undefined;
  /** Told of every write that changed the item, which lease somebody is about to take over, and that somebody has claimed. */
  readonly hooks: { onWrite?: (write: Write) => void; onClaimSent?: (ended: string | undefined) => void; onClaimed?: () => void } = {};

  private readonly leases = new Map<string, LeaseRecord>();
  private readonly openCalls = new Set<AuthCall>();
  private readonly credentials: Credential[] = [];
  private readonly committed = new Set<string>();
  private newestCommitted = 0;
  private readonly redeemed = new Map<string, LeaseRecord>();
  private readonly tokenCalls = new Set<TokenCall>();
  private startedInThisStep: TokenCall[] = [];
  private claims = 0;
  private authCalls = 0;
  /** By which request the stored token was fetched. */
  private storedRank = 0;
  private storedNumber = 0;
  /** Leases since the last token under which the provider was asked. */
  private attempts = 0;
  /** Under which lease the last failure was recorded. */
  private failureOrder = 0;
  /** Until when the holder of a lease that went with its item may wait for an answer. */
  voidUntil = 0;
  private readonly toleranceMs: number;

  constructor(private readonly scheduler: Scheduler, settings: Pick<Case, 'clocks'>, private readonly itemNow: () => Attributes | undefined) {
    this.toleranceMs = settings.clocks === 'exact' ? KNOWN_TO_MS : TOLERANCE_MS;
  }

  // --- the table --------------------------------------------------------------------------------------------------------------------------

  claimSent({ lease, ended }: Claim): void {
    this.hooks.onClaimSent?.(ended?.id);
    if (this.leases.has(lease.id)) return;
    this.leases.set(lease.id, newLease(lease.id, this.scheduler.now + lease.until - lease.since));
  }

  /** A holder of a later version has moved the end of its lease. */
  renewed(id: string, until: number): void {
    const lease = this.leases.get(id);
    if (lease !== undefined) lease.end = until;
  }

  /** A holder of a later version has claimed. */
  foreignClaim(id: string, until: number, before: Attributes): void {
    this.leases.set(id, { ...newLease(id, until), order: ++this.claims, base: baseOf(before) });
  }

  hasOpenCalls(): boolean {
    return this.openCalls.size > 0;
  }

  written(written: Written): void {
    if (!written.applied) return;
    const { before, after, write } = written;
    this.checkGenerations(before, after, write.kind);
    const { lease, failure } = (after ?? {}) as { readonly lease?: Lease; readonly failure?: Failure };
    this.checkNoSecrets([lease?.holder, lease?.id, failure?.code]);
    if (write.kind === 'claim') this.claimed(write.claim, written);
    else if (write.kind === 'commit') this.stored(write.commit, written);
    else if (write.kind === 'renew') this.moved(write.renewal, written);
    else this.released(write.release, written);
    this.hooks.onWrite?.(write);
    if (write.kind === 'claim') this.hooks.onClaimed?.();
  }

  /** The item was removed: by time to live, or by an operator. All leases are void. */
  deleted(item: Attributes, by: 'time to live' | 'operator'): void {
    if (by === 'time to live') {
      this.expect('credentials', item.refreshToken === undefined, () => 'the time to live took the only refresh token');
      const end = this.leases.get((item.lease as Lease | undefined)?.id ?? '')?.end ?? 0;
      this.expect('I1', end < this.scheduler.now, () => 'the time to live took a live lease');
    }
    for (const lease of this.leases.values()) {
      lease.isRemoved = true;
      this.makeVoid(lease);
    }
    this.storedRank = 0;
    this.storedNumber = 0;
    this.attempts = 0;
  }

  /** An operator changed what it had seen, and nothing else. Where that was a lease or a failure, I1 and I6 are the operator's from there on. */
  mended(mend: Mend, { seen, before, after }: Pick<Written, 'before' | 'after'> & { readonly seen: Attributes }): void {
    const isUntouched = (name: string) => before?.[name] === after?.[name];
    this.expect('I2', ['accessToken', 'generation'].every(isUntouched), () => `an operator's ${mend} changes the token`);
    this.expect('credentials', isUntouched('refreshToken'), () => `an operator's ${mend} changes the refresh token`);
    if (mend === 'expire') {
      this.expect('I2', baseOf(before) === baseOf(seen), () => 'an operator has another token expire than it saw');
      return;
    }
    if (mend === 'clear failure') {
      this.expect('I6', isSame(before?.failure, seen.failure, 'at', 'count'), () => 'an operator clears another failure than it saw');
      this.attempts = 0;
      return;
    }
    this.expect('I1', isSame(before?.lease, seen.lease, 'id', 'until'), () => 'an operator ends another lease than it saw');
    // Its death, if it is dead, or its failure, if it will fail, is not recorded.
    this.attempts = ((before?.failure ?? {}) as Partial<Failure>).count ?? 0;
    const lease = this.leases.get((before?.lease as Lease).id);
    if (lease === undefined) return;
    lease.isRemoved = true;
    this.makeVoid(lease);
  }

  /** Its holder cannot know. */
  private makeVoid(lease: LeaseRecord): void {
    if (lease.end < this.scheduler.now) return;
    this.voidUntil = Math.max(this.voidUntil, lease.end);
    lease.end = this.scheduler.now;
    lease.isVoid = true;
  }

  // --- the provider -----------------------------------------------------------------------------------------------------------------------

  authSent(by: string, instance: Instance | undefined, leaseId: string, request: Pick<RefreshRequest, 'refreshToken'>): AuthCall {
    const { now } = this.scheduler;
    const lease = this.leases.get(leaseId) ?? newLease(leaseId, 0);
    this.expect('I1', lease.order > 0, () => `${by} asks the provider without a lease`);
    const isInTime = lease.isVoid || now <= lease.end + DRIFT_MS;
    this.expect('I1', isInTime, () => `${by} asks the provider ${now - lease.end} ms after the end of its lease ${lease.id}`);
    for (const other of this.openCalls) {
      // Whoever deletes an item voids its lease, and the holder cannot know.
      const isApart = lease.isVoid || (other.lease !== lease && now >= other.lease.end);
      this.expect('I1', isApart, () => `${by} asks the provider while ${other.by} does, under the live lease ${other.lease.id}`);
    }
    // Its own newest, where the table has not taken that yet.
    // A former holder's late answer may have been stored since.
    const isItsOwn = request.refreshToken === lease.refreshToken || request.refreshToken === this.itemNow()?.refreshToken
      || this.credentials.some(({ instance: to, issued }) => to === instance && issued.refreshToken === request.refreshToken);
    this.expect('credentials', isItsOwn, () => `${by} sends another refresh token than it was given with its lease`);
    this.countAttempt(by, lease);
    const call: AuthCall = { by, lease, number: ++this.authCalls, isOpen: true };
    this.openCalls.add(call);
    return call;
  }

  authEnded(call: AuthCall): void {
    call.isOpen = false;
    this.openCalls.delete(call);
  }

  /** The provider takes a rotating credential. */
  spent(refreshToken: string | undefined, { lease, by }: AuthCall): void {
    if (refreshToken === undefined) return;
    const former = this.redeemed.get(refreshToken);
    const isOver = (one: LeaseRecord) => one.isGivenBack || this.scheduler.now >= one.end;
    // A request that was held up on its way is nobody's fault.
    const isAlone = former === undefined || former === lease || isOver(former) || isOver(lease);
    this.expect('credentials', isAlone, () => `${by} spends a refresh token that the living holder of ${former?.id} has spent`);
    this.redeemed.set(refreshToken, lease);
  }

  /** The answer has reached a living process. */
  credentialReceived(instance: Instance, issued: Issued, { lease, number }: AuthCall): void {
    this.credentials.push({ issued, instance, lease, number, rank: lease.order * 1_000 + number });
  }

  // --- the callers ------------------------------------------------------------------------------------------------------------------------

  callStarts(instance: Instance, kind: TokenCall['kind'], limitMs: number): TokenCall {
    const call: TokenCall = {
      instance, kind, startedAt: this.scheduler.now, deadline: instance.monotonic() + limitMs, requestsBefore: instance.requests, isServed: false,
    };
    this.tokenCalls.add(call);
    if (this.knowsUsableToken(instance)) this.startedInThisStep.push(call);
    return call;
  }

  /** All promises have settled. */
  stepEnds(): void {
    if (this.startedInThisStep.length === 0) return;
    for (const call of this.startedInThisStep) {
      if (!call.instance.isAlive) continue;
      this.expect('I7', call.isServed || call.instance.requests > call.requestsBefore, () => `${call.instance.name} waits though it has a usable token`);
    }
    this.startedInThisStep = [];
  }

  callEnds(call: TokenCall, outcome: { readonly token?: string; readonly error?: unknown; readonly isTyped: boolean }): void {
    const { instance, kind } = call;
    call.isServed = true;
    this.tokenCalls.delete(call);
    this.expectInTime(call, 'ended');
    this.expect('I5', outcome.isTyped, () => `${instance.name}'s ${kind} threw ${String(outcome.error)}`);
    if (outcome.error !== undefined) this.checkError(outcome.error);
  }

  /** The application is called with a token. Its own time does not count. */
  callIsServed(call: TokenCall): void {
    call.isServed = true;
    this.expectInTime(call, 'goes on');
  }

  event(instance: Instance, event: SharedTokenEvent): void {
    if (event.type === 'refreshing') instance.refreshingUnder = event.leaseId ?? '';
    if (event.type === 'waiting' && event.leaseId !== undefined) {
      this.expect('I7', !this.knowsUsableToken(instance), () => `${instance.name} waits for ${event.leaseId} though it has a usable token`);
    }
    this.checkNoSecrets([event.leaseId, event.code, event.tokenId]);
  }

  // --- the end ----------------------------------------------------------------------------------------------------------------------------

  /** Everything has come to rest, and every living process has called once more. */
  runEnds(): void {
    for (const call of this.tokenCalls) {
      const isDue = call.instance.monotonic() > call.deadline + ROUNDING_MS;
      this.expect('I5', !isDue || !call.instance.isAlive, () => `${call.instance.name}'s ${call.kind} never ended`);
    }
    for (const credential of this.credentials) {
      const { issued, instance } = credential;
      if (!instance.isAlive) continue;
      this.expect('I3', this.isKept(credential), () => `${instance.name} lives, and the token ${issued.accessToken} that it was given is lost`);
    }
  }

  /** Is there a credential that a living process has and the table has not? */
  hasUnsaved(): boolean {
    return this.openCalls.size > 0
      || [...this.tokenCalls].some(({ instance }) => instance.isAlive)
      || this.credentials.some(credential => credential.instance.isAlive && !this.isKept(credential));
  }

  private isKept({ issued, lease, rank }: Credential): boolean {
    return this.committed.has(issued.accessToken) || this.newestCommitted > rank || lease.isOvertaken;
  }

  expect(invariant: Invariant, holds: boolean, what: () => string): void {
    this.checks[invariant]++;
    if (!holds && this.violation === undefined) this.violation = { invariant, what: what(), at: this.scheduler.now };
  }

  // --- how ----------------------------------------------------------------------------------------------------------------------------

  private claimed({ lease }: Claim, { instance, before, after }: Written): void {
    const { now } = this.scheduler;
    const record = this.leases.get(lease.id);
    if (record === undefined) return;
    record.order = ++this.claims;
    record.base = baseOf(before);
    record.refreshToken = after?.refreshToken as string | undefined;

    const former = before?.lease as Lease | undefined;
    const end = this.leases.get(former?.id ?? '')?.end ?? 0;
    this.expect('I1', now >= end - ROUNDING_MS, () => `${instance.name} takes over the lease ${former?.id} ${end - now} ms before its end`);

    const forcedSince = this.forcedSince(instance);
    const isNeeded = forcedSince === undefined || ((before?.issuedAt ?? 0) as number) < forcedSince;
    this.expect('I6', isNeeded, () => `${instance.name} forces a refresh though a token was issued since`);
    this.expect('I6', this.isDue(instance, before), () => `${instance.name} refreshes for a reader though nothing is due`);
    const failure = before?.failure as Failure | undefined;
    // One that nobody needed keeps nobody from one that somebody does.
    const isNoHindrance = failure === undefined || (failure.forced === true && forcedSince === undefined);
    const left = isNoHindrance ? 0 : failure.retryAt - now;
    const isOver = left <= this.toleranceMs || left > 302_000;
    this.expect('I6', isOver, () => `${instance.name} claims ${left} ms before the end of a cool-down`);
    if (former === undefined) return;
    const recorded = after?.failure as Failure | undefined;
    const pause = scheduledPause((failure?.count ?? 0) + 1);
    this.expect('I6', recorded !== undefined && recorded.retryAt >= lease.until + pause, () => `${instance.name}'s takeover records no cool-down after it`);
  }

  private stored({ onlyIf, token }: Commit, { instance, before, after }: Written): void {
    const mine = this.credentials.filter(({ issued, instance: to }) => to === instance && issued.accessToken === token.accessToken).at(-1);
    const order = mine?.lease.order ?? 0;
    const endured = before?.failure as Failure | undefined;
    // Within seconds, by the clocks of two instances, which attempt ended first cannot be told.
    const isLater = this.failureOrder > order && (endured?.at ?? 0) > token.issuedAt + 10_000;
    const isOfLaterAttempt = endured !== undefined && endured.code !== 'HOLDER_DIED' && isLater;
    const knows = !('lease' in onlyIf) && instance.known?.failure?.at === endured?.at;
    this.expect('I6', !isOfLaterAttempt || !knows || after?.failure !== undefined, () => `${instance.name}'s late commit ends the pause that a later attempt was told to make`);
    const rank = mine?.rank ?? 0;
    const number = mine?.number ?? 0;
    // Who does not know that its lease has ended may still send, and then its answer is the newer one.
    const isLaterRequest = mine?.lease.isRemoved === true && number > this.storedNumber;
    this.expect('I2', rank >= this.storedRank || isLaterRequest, () => `${instance.name} overwrites a token that was fetched later`);
    this.storedRank = rank;
    this.storedNumber = number;
    const isRemoved = mine?.lease.isRemoved ?? false;
    if (!('lease' in onlyIf)) for (const lease of this.leases.values()) if (lease.order > order && (isRemoved || lease.isRemoved)) lease.isOvertaken = true;
    this.newestCommitted = Math.max(this.newestCommitted, rank);
    this.committed.add(token.accessToken);
    this.checkLeaseRemoval('lease' in onlyIf ? onlyIf.lease : undefined, instance, before, after);
    const keepsRefreshToken = before?.refreshToken === undefined || after?.refreshToken !== undefined;
    this.expect('credentials', keepsRefreshToken, () => `${instance.name}'s commit wipes the refresh token`);
    this.attempts = (after?.failure as Failure | undefined)?.count ?? 0;
  }

  private moved({ lease, until }: Renewal, { instance, before }: Written): void {
    const present = (before?.lease as Lease | undefined)?.id;
    this.expect('I1', present === lease, () => `${instance.name} moves the end of the lease ${present}, which is not its own`);
    this.renewed(lease, until);
  }

  private released({ lease, failure }: Release, { instance, before, after }: Written): void {
    this.checkLeaseRemoval(lease, instance, before, after);
    const isOfThisToken = this.leases.get(lease)?.base === baseOf(before);
    if (failure === undefined) {
      if (!isOfThisToken) this.attempts = 0;
      return;
    }
    this.expect('I6', isOfThisToken, () => `${instance.name} records a failure on a token that is newer than its attempt`);
    this.failureOrder = this.leases.get(lease)?.order ?? 0;
    const { count, at, retryAt, forced } = failure.failure;
    const isAsked = this.forcedSince(instance) !== undefined && this.knowsUsableToken(instance);
    const isHarmless = !isAsked || forced === true || retryAt <= this.scheduler.now;
    this.expect('I6', isHarmless, () => `the failure of ${instance.name}'s forced refresh keeps others from one that is needed`);
    // Where the provider was not asked, nobody has to wait for it.
    const isLongEnough = retryAt - at >= scheduledPause(count) || this.leases.get(lease)?.hasSent !== true;
    this.expect('I6', isLongEnough, () => `${instance.name} records a cool-down of ${retryAt - at} ms after failure no. ${count}`);
  }

  /** Only its holder ends a live lease. */
  private checkLeaseRemoval(own: string | undefined, instance: Instance, before: Attributes | undefined, after: Attributes | undefined): void {
    const { id } = (before?.lease ?? {}) as Partial<Lease>;
    if (id === undefined || after?.lease !== undefined) return;
    this.expect('I1', id === own, () => `${instance.name} removes the lease ${id}, which is not its own`);
    const lease = this.leases.get(id);
    if (lease !== undefined) lease.isGivenBack = true;
  }

  private checkGenerations(before: Attributes | undefined, after: Attributes | undefined, kind: Write['kind']): void {
    const [old, present] = [before?.generation ?? 0, after?.generation ?? 0] as [number, number];
    this.expect('I2', kind === 'commit' ? present === old + 1 : present === old, () => `a ${kind} makes generation ${present} of ${old}`);
  }

  /** However many ask: every attempt since the last token has been counted, so the pauses grow. */
  private countAttempt(by: string, lease: LeaseRecord): void {
    if (lease.hasSent || lease.isVoid) return;
    lease.hasSent = true;
    const item = this.itemNow();
    const keepsToItsLease = (item?.lease as Lease | undefined)?.id === lease.id;
    const count = (item?.failure as Failure | undefined)?.count ?? 0;
    const { attempts } = this;
    this.expect('I6', !keepsToItsLease || count >= attempts, () => `${by} asks the provider after ${attempts} attempts of which ${count} were recorded`);
    this.attempts++;
  }

  /** Of what a refresher does for a reader: is the stored token one that was refused, near its end, or missing? */
  private isDue({ asked, refused }: Instance, before: Attributes | undefined): boolean {
    if (asked === undefined || before?.accessToken === undefined || before.generation === asked.generation) return true;
    if (refused.has(before.accessToken as string)) return true; // says an earlier report
    const { issuedAt, expiresAt = Infinity } = before as { issuedAt: number; expiresAt?: number };
    const life = expiresAt - issuedAt;
    return this.scheduler.now >= expiresAt - Math.min(30_000, life * 0.1) - Math.min(300_000, life * 0.2) - this.toleranceMs;
  }

  /** Only where what it does can be for nothing else. */
  private forcedSince(instance: Instance): number | undefined {
    const isAlone = [...this.tokenCalls].every(call => call.instance !== instance || call.kind === 'refresh');
    return isAlone ? instance.forcedSince : undefined;
  }

  /** Certainly usable, whatever the clocks. */
  private knowsUsableToken(instance: Instance): boolean {
    const token = instance.known?.token;
    if (token === undefined || instance.hasJumped || instance.refused.has(token.accessToken)) return false;
    if (token.expiresAt === undefined) return true;
    return this.scheduler.now < token.expiresAt - Math.min(30_000, (token.expiresAt - token.issuedAt) * 0.1) - TOLERANCE_MS;
  }

  private expectInTime({ instance, kind, deadline }: TokenCall, what: string): void {
    const late = instance.monotonic() - deadline;
    // What was due while the environment stood still comes with the thaw.
    const isInTime = late <= ROUNDING_MS || this.scheduler.now - instance.thawedAt <= ROUNDING_MS;
    this.expect('I5', isInTime, () => `${instance.name}'s ${kind} ${what} ${late} ms after its deadline`);
  }

  private checkError(error: unknown): void {
    const texts: unknown[] = [];
    let inner: unknown = error;
    for (let depth = 0; depth < 5 && typeof inner === 'object' && inner !== null; depth++) {
      texts.push(...Object.values(inner), (inner as Error).message, (inner as Error).stack);
      inner = (inner as Error).cause;
    }
    this.checkNoSecrets(texts);
  }

  private checkNoSecrets(texts: readonly unknown[]): void {
    for (const text of texts) {
      this.expect('I8', typeof text !== 'string' || !text.includes(SENTINEL), () => `a credential is told: ${String(text)}`);
    }
  }
}

function newLease(id: string, end: number): LeaseRecord {
  return { id, end, order: 0, hasSent: false, isGivenBack: false, isVoid: false, isRemoved: false, isOvertaken: false, base: '', refreshToken: undefined };
}

function isSame(one: unknown, other: unknown, ...fields: readonly string[]): boolean {
  const of = (map: unknown) => fields.map(field => (map as Attributes | undefined)?.[field]).join(' ');
  return of(one) === of(other);
}

function baseOf(item: Attributes | undefined): string {
  return `${String(item?.generation)} ${String(item?.issuedAt)}`;
}
