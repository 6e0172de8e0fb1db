import { AskedFunction } from './asked-function';
import type { Clocks } from './instance';
import type { AuthCall } from './observer';
import { letSomebodyOperate } from './operator';
import { Random } from './random';
import { TOKEN_ID } from './token-id';
import type { Member, World } from './world';
import type { CallOptions } from '../lambda-runtime/public-types';
import type { Failure, Lease } from '../lambda-runtime/token-item';

const SECOND = 1_000;
const DAY = 86_400_000;

/** Puts a whole random life into a world: what the table holds, who calls when, what happens beside; and in the end, that all comes right again. */
export function liveIn(world: World): void {
  const { settings } = world.options;
  const { scheduler, random } = world;
  startItem(world);
  if (settings.hasRefresher) world.refresher = new AskedFunction(world, () => clocksOf(world));
  for (let count = 0; count < settings.instances; count++) {
    const member = world.join(clocksOf(world), {
      mayRefresh: settings.hasRefresher ? random.chance(0.2) : !settings.hasReaders || count === 0 || random.chance(0.6),
      mayAsk: settings.hasRefresher,
      timeouts: settings.functionTimeouts,
    });
    plan(world, member);
  }
  for (let count = 0; count < settings.revocations; count++) {
    scheduler.after(sometime(world), () => {
      world.trace?.note('provider', 'revokes all access tokens');
      world.provider.revoke();
    });
  }
  for (let count = 0; count < settings.deletions; count++) scheduler.after(sometime(world), () => remove(world, 'operator'));
  if (settings.deletions > 1) removeUnderALease(world);
  if (settings.hasRenewer) new Renewer(world).start();
  if (settings.scheduledEvents > 0) runSchedule(world);
  if (settings.hasLogIn) letSomebodyLogIn(world);
  letSomebodyOperate(world);
  const end = settings.durationMs + settings.idleDays * DAY;
  if (settings.idleDays > 0) scheduler.after(settings.durationMs + random.between(0, settings.idleDays * DAY - SECOND), () => sweep(world));
  scheduler.after(end, () => settle(world));
}

function sometime({ random, options }: World): number {
  return random.between(0, options.settings.durationMs);
}

function clocksOf({ random, options }: World): Clocks {
  if (options.settings.clocks === 'exact') return { offsetMs: 0, rate: 1, standsStill: random.chance(0.5), mayJump: false };
  const standsStill = random.chance(0.5);
  return {
    // Within a second a clock may be right, as far as the table's tells.
    offsetMs: random.pick([0, -1, 1]) * random.between(0, random.pick([1_000, 600_000])),
    rate: 1 + random.between(-100, 100) / 1_000_000,
    standsStill,
    mayJump: !standsStill,
  };
}

export function startItem({ table, provider, scheduler: { now }, options: { settings } }: World): void {
  if (settings.start === 'empty') return;
  const { accessToken, refreshToken } = provider.logIn();
  const { lifeS } = settings.provider;
  const isUsable = settings.start === 'usable';
  const issuedAt = now - (isUsable ? 10 * SECOND : (lifeS ?? 0) * SECOND);
  if (!isUsable) provider.revoke();
  table.put({
    tokenId: TOKEN_ID,
    accessToken,
    issuedAt,
    generation: 1,
    ...(refreshToken === undefined ? {} : { refreshToken }),
    ...(lifeS === undefined ? {} : { expiresAt: issuedAt + lifeS * SECOND }),
    ...(settings.start === 'dead-lease' ? { lease: { id: 'lease-dead', since: now - 600 * SECOND, until: now - 590 * SECOND, holder: 'nobody' } } : {}),
    ...(settings.start === 'failed' ? { failure: { code: 'down', count: 3, at: now - 2 * SECOND, retryAt: now + 2 * SECOND } } : {}),
  });
}

// --- invocations ------------------------------------------------------------------------------------------------------------------------

function plan(world: World, member: Member): void {
  const { settings } = world.options;
  const { instance } = member;
  const random = new Random(settings.seed, 6, instance.id);
  let at = random.between(0, Math.min(settings.durationMs / 2, 3_000));
  for (let count = 0; count < settings.invocations; count++) {
    const timeout = member.timeouts[random.between(0, member.timeouts.length - 1)] ?? 3 * SECOND;
    world.scheduler.after(at, () => invoke(world, member, timeout, random));
    at += random.between(1, settings.durationMs / 2) + (timeout < 60 * SECOND && settings.freezesBetweenInvocations ? timeout : 0);
  }
}

/** Lambda thaws the environment, runs the handler, and freezes it again; who takes longer than the timeout is killed. */
function invoke(world: World, member: Member, timeout: number, random: Random): void {
  const { instance } = member;
  const { scheduler, options: { settings } } = world;
  if (!instance.isAlive || !world.isDisturbed) return;
  instance.deliver(() => {
    if (!world.isDisturbed) return;
    const end = scheduler.now + timeout;
    const calls: Promise<unknown>[] = [];
    for (let count = random.between(1, 2); count > 0; count--) {
      const kind = random.chance(0.7) ? 'use' : 'get';
      const withContext = random.chance(0.7);
      const options: CallOptions = {
        ...(withContext ? { context: { awsRequestId: 'request', getRemainingTimeInMillis: () => end - scheduler.now } } : { timeoutMs: timeout * 0.9 }),
        ...(random.chance(0.05) ? { signal: abortedSometime(world, instance.id, random, timeout) } : {}),
      };
      const limit = withContext ? timeout - Math.min(500, timeout * 0.1) : timeout * 0.9;
      calls.push(world.call(member, kind, options, Math.min(limit, withContext ? 30 * SECOND : timeout)));
    }
    let isRunning = true;
    void Promise.all(calls).then(() => {
      isRunning = false;
      if (!settings.freezesBetweenInvocations || !instance.isAlive || !world.isDisturbed) return;
      instance.freeze();
      const rest = random.between(10, settings.durationMs);
      scheduler.after(rest, () => instance.thaw());
    });
    scheduler.after(timeout, () => { if (isRunning && world.isDisturbed) instance.crash(); });
  });
}

function abortedSometime({ scheduler, members }: World, id: number, random: Random, timeout: number): AbortSignal {
  const controller = new AbortController();
  scheduler.after(random.between(1, timeout), () => members[id - 1]?.instance.deliver(() => controller.abort()));
  return controller.signal;
}

/** A schedule's events come late, now and then twice, and to any of its environments. */
function runSchedule(world: World): void {
  const { scheduler, options: { settings } } = world;
  const random = new Random(settings.seed, 8);
  const members = [1, 2].map(() => world.join(clocksOf(world), { mayRefresh: true, timeouts: [10 * SECOND] }));
  for (let count = 0; count < settings.scheduledEvents; count++) {
    const event = scheduler.now + random.between(0, settings.durationMs);
    for (let times = random.chance(0.3) ? 2 : 1; times > 0; times--) {
      const { instance, ...member } = random.pick(members as [Member, ...Member[]]);
      scheduler.at(event + random.around(1_000), () => instance.deliver(() => {
        if (!world.isDisturbed || instance.forcedSince !== undefined) return;
        void world.force({ instance, ...member }, event, { timeoutMs: 9 * SECOND }, 9 * SECOND);
      }));
    }
  }
}

const HOUR = 3_600 * SECOND;

/** A process of a person: what it asks for takes longer than any lease. */
function letSomebodyLogIn(world: World): void {
  const { scheduler, options: { settings } } = world;
  const random = new Random(settings.seed, 9);
  const member = world.join(clocksOf(world), {
    mayRefresh: true, isForOneCall: true, timeouts: [2 * HOUR], authLimitMs: HOUR, authLatencyMs: random.between(500, 960) * SECOND,
  });
  scheduler.after(sometime(world), () => member.instance.deliver(() => {
    if (world.isDisturbed) void world.force(member, scheduler.now, { timeoutMs: 1.5 * HOUR }, 1.5 * HOUR);
  }));
}

// --- what happens beside ----------------------------------------------------------------------------------------------------------------

function remove(world: World, by: 'operator' | 'time to live'): void {
  const item = world.item();
  if (item === undefined || (by === 'operator' && !world.isDisturbed)) return;
  world.trace?.note('table', `the item is removed by ${by}`);
  world.table.delete(TOKEN_ID);
  world.observer.deleted(item, by);
}

/** While somebody refreshes is the moment at which a deletion can do most harm. */
function removeUnderALease(world: World): void {
  world.observer.hooks.onWrite = ({ kind }) => {
    if (kind !== 'claim') return;
    delete world.observer.hooks.onWrite;
    world.scheduler.after(world.random.around(200), () => remove(world, 'operator'));
  };
}

/** DynamoDB deletes at some moment after the time to live, hours or days later. */
function sweep(world: World): void {
  const { expireAfter } = (world.item() ?? {}) as { expireAfter?: number };
  if (expireAfter !== undefined && expireAfter * SECOND < world.scheduler.now) remove(world, 'time to live');
}

/** A holder of a later version: it renews its lease, now and then too late, and takes back what nobody has taken. */
class Renewer {
  private readonly random: Random;
  private readonly lease = 'lease-renewer';
  private since = 0;
  private until = 0;
  private renewals = 0;
  private call: AuthCall | undefined;

  constructor(private readonly world: World) {
    this.random = new Random(world.options.settings.seed, 7);
  }

  start(): void {
    this.world.scheduler.after(sometime(this.world) / 2, () => this.claim());
  }

  private claim(): void {
    const { table, observer, scheduler: { now }, trace } = this.world;
    const item = this.world.item();
    const isFree = item !== undefined && [item.lease, item.failure, item.refreshToken].every(value => value === undefined);
    if (!isFree || !this.world.isDisturbed) return;
    this.since = now;
    this.until = now + this.random.between(500, 4_000);
    table.put({ ...item, tokenId: TOKEN_ID, lease: this.asLease() });
    observer.foreignClaim(this.lease, this.until, item);
    trace?.note('renewer', `claims until ${trace.moment(this.until)} and asks the provider`);
    this.call = observer.authSent('renewer', undefined, this.lease, {});
    // The worst moment: somebody has judged the lease over, and its claim is on its way.
    observer.hooks.onClaimSent = ended => {
      if (ended === this.lease && this.random.chance(0.5)) this.renew();
    };
    this.renewLater();
  }

  private renewLater(): void {
    const { scheduler } = this.world;
    scheduler.at(Math.max(scheduler.now, this.until + this.random.between(-500, 3_500)), () => this.renew());
  }

  private renew(): void {
    const { table, observer, scheduler: { now }, trace } = this.world;
    const item = this.world.item();
    const isMine = (item?.lease as Lease | undefined)?.id === this.lease;
    if (!isMine || item === undefined || ++this.renewals > 3 || !this.world.isDisturbed) {
      if (this.call !== undefined) observer.authEnded(this.call);
      return;
    }
    this.until = now + this.random.between(1_000, 4_000);
    table.put({ ...item, tokenId: TOKEN_ID, lease: this.asLease() });
    observer.renewed(this.lease, this.until);
    trace?.note('renewer', `renews until ${trace.moment(this.until)}`);
    this.renewLater();
  }

  private asLease(): Lease {
    return { id: this.lease, since: this.since, until: this.until, holder: 'later version' };
  }
}

// --- the end ----------------------------------------------------------------------------------------------------------------------------

/**
 * Nothing goes wrong any more. Every living process calls until it has a token, and the first of them must succeed as soon as lease and cool-down allow:
 * whatever happened before, nobody has to step in. Then all call once more, so that what could not be stored before is stored now.
 */
export function settle(world: World): void {
  const { scheduler, observer, capacity, members, provider, trace } = world;
  trace?.note('world', '-- nothing goes wrong any more --');
  world.isDisturbed = false;
  capacity.isUnlimited = true;
  if (!members.some(member => member.instance.isAlive && canGetTokens(member) && !member.isForOneCall)) {
    world.join({ offsetMs: 0, rate: 1, standsStill: false, mayJump: false }, { mayRefresh: true, timeouts: world.options.settings.functionTimeouts });
  }
  for (const { instance } of members) instance.thawForGood();
  const living = members.filter(({ instance, isForOneCall }) => instance.isAlive && !isForOneCall);

  const bound = new Bound(world);
  let missing = living.filter(canGetTokens).length;
  const allSucceeded = () => {
    bound.isMet = true;
    if (!observer.hasUnsaved()) return void scheduler.after(SECOND, () => observer.runEnds());
    // Late answers of the provider come until then.
    scheduler.after(20 * SECOND, () => {
      const calls = living.map(async member => world.call(member, 'get', { timeoutMs: longest(member) }, longest(member)));
      void Promise.all([...calls, ...world.refresher?.invokeAll() ?? []]).then(() => scheduler.after(2 * SECOND, () => observer.runEnds()));
    });
  };
  for (const member of living) {
    void untilSuccess(world, member).then(succeeded => {
      if (!canGetTokens(member)) return;
      if (succeeded) bound.isMet = true;
      if (--missing === 0) allSucceeded();
    });
  }
  const watch = () => {
    if (bound.isMet || provider.familyRevoked) return;
    observer.expect('I4', scheduler.now <= bound.at, () => `nobody has a token ${scheduler.now - bound.start} ms after the last disturbance`);
    scheduler.at(Math.max(bound.at, scheduler.now) + 1, watch);
  };
  scheduler.at(bound.at + 1, watch);
}

/** By itself, or by asking. */
function canGetTokens({ mayRefresh, mayAsk }: Member): boolean {
  return mayRefresh || mayAsk === true;
}

function longest({ timeouts }: Member): number {
  return Math.min(Math.max(...timeouts) * 0.9, 30 * SECOND);
}

async function untilSuccess(world: World, member: Member): Promise<boolean> {
  const { scheduler, provider } = world;
  const start = scheduler.now;
  for (;;) {
    const { succeeded, retryAt } = await world.call(member, 'get', { timeoutMs: longest(member) }, longest(member));
    if (succeeded) return true;
    if (provider.familyRevoked || !canGetTokens(member) || scheduler.now > start + 1_800 * SECOND) return false;
    const pause = Math.min(Math.max(300, (retryAt ?? 0) - scheduler.now), 400 * SECOND);
    await new Promise<void>(resolve => scheduler.after(pause, () => member.instance.deliver(resolve)));
  }
}

/** By when somebody must have a token: the lease and its grace, the cool-down, and the time that a refresh takes. */
class Bound {
  isMet = false;
  at: number;
  readonly start: number;

  constructor(private readonly world: World) {
    this.start = world.scheduler.now;
    this.at = this.bound();
    // Requests that were on their way may still arrive.
    world.observer.hooks.onWrite = () => { this.at = Math.max(this.at, this.bound()); };
  }

  private bound(): number {
    const { scheduler: { now }, observer, options: { settings } } = this.world;
    const { lease, failure } = (this.world.item() ?? {}) as { lease?: Lease; failure?: Failure };
    const leaseLeft = Math.max(0, Math.max(lease?.until ?? 0, observer.voidUntil) + 2 * SECOND - now);
    const isNoHindrance = failure === undefined || failure.forced === true || failure.retryAt - now > 303 * SECOND;
    const coolDownLeft = isNoHindrance ? 0 : Math.max(0, failure.retryAt - now);
    // A living holder's attempt may still fail, for what went wrong before: its own pause comes on top.
    const mayFail = observer.hasOpenCalls() ? 300 * SECOND : 0;
    const clocks = settings.clocks === 'exact' ? 0 : 4 * SECOND;
    // What was asked before may have got lost, and is waited for; then an environment has to start.
    const asking = settings.hasRefresher ? 15 * SECOND : 0;
    return now + Math.max(leaseLeft, coolDownLeft) + mayFail + clocks + asking + settings.provider.latencyMs * 3 + 6 * SECOND;
  }
}
