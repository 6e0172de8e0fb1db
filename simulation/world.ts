import { AskedFunction } from './asked-function';
import { createRefresh } from './auth-port';
import type { Case } from './case';
import type { Attributes } from './expression';
import { type Clocks, Instance } from './instance';
import { type Carrier, timedCarrier } from './network';
import { type Mend, Observer, type TokenCall } from './observer';
import { Provider } from './provider';
import { Random } from './random';
import type { Runtime } from './runtime';
import type { Schedule } from './schedule';
import { drive, Scheduler } from './scheduler';
import { Capacity, createSimulatedStore, parserOf, type Rewrite } from './simulated-store';
import { SimulatedTable } from './simulated-table';
import { TOKEN_ID } from './token-id';
import { Trace } from './trace';
import type { OperatorRequest } from '../lambda-runtime/dynamodb-requests';
import type { Host, TableClock } from '../lambda-runtime/host';
import type { CallOptions, RefreshAsk, SharedTokenOptions } from '../lambda-runtime/public-types';
import type { TokenClient } from '../lambda-runtime/token-client';
import type { TokenStore } from '../lambda-runtime/token-store';

/** A moment in 2026, at no whole second. */
const START = Date.UTC(2026, 0, 1) + 371;
/** Beyond this the disturbances are over for good, and somebody should have succeeded long ago. */
const LONGEST_SETTLING_MS = 40 * 60_000;

/** The code under test: the real one, or one with a defect. */
export interface Subject {
  readonly runtime: Runtime;
  readonly rewrite?: Rewrite;
  /** The same of what operators write. */
  readonly rewriteMend?: (request: OperatorRequest, mend: Mend) => OperatorRequest;
  readonly wrapStore?: (store: TokenStore) => TokenStore;
  readonly wrapHost?: (host: Host, instance: Instance) => Host;
}

/** What one run is made of. */
export interface WorldOptions {
  readonly settings: Case;
  readonly schedule: Schedule;
  readonly subject: Subject;
  readonly traces: boolean;
  readonly carrier?: (scheduler: Scheduler) => Carrier;
}

/** A process with the runtime in it. */
export interface Member {
  readonly instance: Instance;
  readonly token: TokenClient;
  readonly mayRefresh: boolean;
  /** Asks the refresher where it may not. */
  readonly mayAsk?: boolean;
  /** Its function's timeouts, the longest last. */
  readonly timeouts: readonly number[];
  /** Called once by a person, and by nobody else. */
  readonly isForOneCall?: boolean;
}

/** How a process differs from others. */
interface MemberOptions extends Pick<Member, 'mayRefresh' | 'mayAsk' | 'timeouts' | 'isForOneCall'> {
  readonly authLimitMs?: number;
  /** How long its provider takes. */
  readonly authLatencyMs?: number;
}

/** What one call came to. */
export interface CallResult {
  readonly succeeded: boolean;
  /** When the next refresh may be tried, says its error. */
  readonly retryAt?: number | undefined;
}

/** Table, provider, network and true time of one run, and the processes in it. */
export class World {
  readonly scheduler = new Scheduler(START);
  readonly table = new SimulatedTable();
  readonly provider: Provider;
  readonly observer: Observer;
  readonly trace: Trace | undefined;
  readonly random: Random;
  readonly members: Member[] = [];
  readonly capacity: Capacity;
  readonly carrier: Carrier;
  /** Whom readers ask, where somebody does. */
  refresher: AskedFunction | undefined;
  private readonly parse: ReturnType<typeof parserOf>;
  private readonly Token: ReturnType<typeof tokenClassOf>;
  isDisturbed = true;

  constructor(readonly options: WorldOptions) {
    const { settings, traces, carrier = timedCarrier } = options;
    const { scheduler } = this;
    this.random = new Random(settings.seed, 2);
    this.provider = new Provider(settings.provider, () => scheduler.now);
    this.observer = new Observer(scheduler, settings, () => this.item());
    this.trace = traces ? new Trace(START, () => scheduler.now) : undefined;
    this.capacity = new Capacity(settings.network, scheduler);
    this.carrier = carrier(scheduler);
    this.parse = parserOf(options.subject.runtime);
    this.Token = tokenClassOf(options.subject.runtime);
  }

  item(): Attributes | undefined {
    return this.table.item(TOKEN_ID);
  }

  isOver(): boolean {
    return this.observer.violation !== undefined || this.scheduler.isEmpty() || this.scheduler.now > START + LONGEST_SETTLING_MS + this.idleMs();
  }

  /** Runs until nothing is left to happen, or a promise is broken. */
  async run(more: () => boolean = () => this.step()): Promise<void> {
    await drive(() => {
      this.observer.stepEnds();
      return !this.isOver() && more();
    });
  }

  step(): boolean {
    this.scheduler.step();
    return true;
  }

  /** Starts a process. */
  join(clocks: Clocks, { authLimitMs, authLatencyMs, ...more }: MemberOptions): Member {
    const { scheduler, table, observer, capacity, carrier, provider, trace } = this;
    const { settings, schedule, subject } = this.options;
    const { runtime, rewrite, wrapStore = store => store, wrapHost = host => host } = subject;
    const id = this.members.length + 1;
    const instance = new Instance(id, { scheduler, trace, schedule, isDisturbed: () => this.isDisturbed }, clocks, new Random(settings.seed, 5, id));
    const { latencyMs } = settings.network;
    const server = { runtime, parse: this.parse, scheduler, table, capacity, carrier, observer, rewrite, trace, latencyMs };
    const createStore = (_table: string, _host: Host, clock: TableClock) => wrapStore(createSimulatedStore(server, instance, clock));
    const port = more.mayAsk ? this.refresher?.portFor(instance) : undefined;
    const process = new runtime.TokenProcess(wrapHost(instance.host, instance), createStore, port && (() => port));
    const refresh = createRefresh({
      ...server,
      provider,
      settings: authLatencyMs === undefined ? settings.provider : { ...settings.provider, latencyMs: authLatencyMs },
      heedsSignal: settings.heedsSignal,
      now: () => scheduler.now,
      isDisturbed: () => this.isDisturbed,
    }, instance);
    const way = more.mayRefresh ? { refresh } : port ? { refresher: 'refresher' } : {};
    const member = { instance, token: this.client(instance, process, { ...way, authLimitMs }), ...more };
    this.members.push(member);
    return member;
  }

  /** One call for a token by one process, observed. */
  call(member: Member, kind: 'get' | 'use', options: CallOptions, limitMs: number): Promise<CallResult> {
    const { instance, token } = member;
    const { observer, trace, scheduler } = this;
    if (kind === 'get') return this.observe(instance, kind, limitMs, async () => token.get(options));
    return this.observe(instance, kind, limitMs, async observed => token.use(async used => new Promise<{ status: number }>(resolve => {
      observer.callIsServed(observed);
      scheduler.after(20, () => instance.deliver(() => {
        const status = this.provider.isAccepted(used) ? 200 : 401;
        trace?.note('API', `${instance.name} with ${trace.short(used)}: ${status}`);
        // Its own time is the application's.
        observed.deadline = Math.max(observed.deadline, instance.monotonic());
        if (status === 401) instance.refused.add(used);
        resolve({ status });
      }));
    }), options));
  }

  /** A forced refresh for an event at a moment of true time. */
  force({ instance, token }: Member, since: number, options: CallOptions, limitMs: number): Promise<CallResult> {
    instance.forcedSince = since;
    const result = this.observe(instance, 'refresh', limitMs, async () => token.refresh({ ...options, since }));
    void result.then(() => { instance.forcedSince = undefined; });
    return result;
  }

  /** A reader's report, as its refresher gets it. */
  ask({ instance, token }: Member, asked: RefreshAsk, options: CallOptions, limitMs: number): Promise<CallResult> {
    instance.asked = asked;
    const { accessToken, generation } = this.item() ?? {};
    if (asked.generation !== undefined && generation === asked.generation) instance.refused.add(accessToken as string);
    const result = this.observe(instance, 'refresh', limitMs, async () => token.refresh({ ...options, asked }));
    void result.then(() => { instance.asked = undefined; });
    return result;
  }

  private observe(instance: Instance, kind: TokenCall['kind'], limitMs: number, start: (call: TokenCall) => Promise<string | boolean | { status: number }>): Promise<CallResult> {
    const { observer, trace } = this;
    const { SharedTokenError } = this.options.subject.runtime;
    const observed = observer.callStarts(instance, kind, limitMs);
    trace?.note(instance.name, `${kind}, ${Math.round(limitMs)} ms`);
    return start(observed).then(result => {
      trace?.note(instance.name, `${kind} ends with ${typeof result === 'string' ? trace.short(result) : typeof result === 'boolean' ? String(result) : String(result.status)}`);
      observer.callEnds(observed, { isTyped: true });
      return { succeeded: typeof result !== 'object' || result.status === 200 };
    }, (error: unknown) => {
      trace?.note(instance.name, `${kind} ends with ${error instanceof SharedTokenError ? error.code : String(error)}`);
      observer.callEnds(observed, { error, isTyped: error instanceof SharedTokenError });
      return { succeeded: false, retryAt: error instanceof SharedTokenError ? error.retryAt : undefined };
    });
  }

  private client(instance: Instance, process: InstanceType<Runtime['TokenProcess']>, options: SharedTokenOptions): TokenClient {
    return new this.Token(process, {
      table: 'tokens',
      ...options,
      onEvent: event => {
        if (!instance.isAlive) return;
        this.trace?.note(instance.name, `. ${event.type} ${event.code ?? ''}`);
        this.observer.event(instance, event);
      },
    });
  }

  private idleMs(): number {
    return this.options.settings.durationMs + this.options.settings.idleDays * 86_400_000;
  }
}

type TokenClass = new (process: InstanceType<Runtime['TokenProcess']>, options: SharedTokenOptions) => TokenClient;
const tokenClasses = new WeakMap<Runtime, TokenClass>();

/** The runtime's face, with a constructor that the simulator may call. */
function tokenClassOf(runtime: Runtime): TokenClass {
  const { TokenClient: Client } = runtime;
  const known = tokenClasses.get(runtime) ?? class SimulatedToken extends Client {
    constructor(process: InstanceType<Runtime['TokenProcess']>, options: SharedTokenOptions) {
      super(process, TOKEN_ID, options);
    }
  };
  tokenClasses.set(runtime, known);
  return known;
}
