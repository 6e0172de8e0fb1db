import type { Clocks, Instance } from './instance';
import { exchange } from './network';
import type { Random } from './random';
import type { Member, World } from './world';
import type { RefreshAsk } from '../lambda-runtime/public-types';
import type { RefresherPort } from '../lambda-runtime/refresher-port';

const SECOND = 1_000;
const FUNCTION_TIMEOUT_MS = 20 * SECOND;
const ANSWER_MARGIN_MS = 500;
const INVOKE_LATENCY_MS = 15;

/** What Lambda says to who invoked. */
type Answer = 'done' | 'failed' | 'no capacity';

/** The function that readers ask: environments that do one invocation at a time, over a network on which everything happens that the schedule says. */
export class AskedFunction {
  private idle: Member[] = [];
  private readonly started: Member[] = [];

  constructor(private readonly world: World, private readonly clocks: () => Clocks) {}

  portFor(instance: Instance): RefresherPort {
    const { carrier, trace, options: { subject: { runtime } } } = this.world;
    const { RefresherTrouble } = runtime;
    return {
      ask: async (asked, how) => new Promise((resolve, reject) => exchange<Answer>(carrier, {
        instance,
        call: 'ask',
        latencyMs: INVOKE_LATENCY_MS,
        leave: () => trace?.note(instance.name, `asks the refresher, ${how}`),
        arrive: (refused, random, reply) => {
          if (refused) return reply('no capacity');
          const outcome = this.invoke(asked, random);
          if (how === 'ahead') reply('done');
          else void outcome.then(reply);
        },
        notice: answer => answer === 'done' ? resolve() : reject(new RefresherTrouble(answer === 'failed' ? 'failed' : 'not asked', answer)),
        broken: () => reject(new RefresherTrouble('not asked', 'the connection broke')),
      })),
    };
  }

  /** One more invocation of each environment that lives. */
  invokeAll(): Promise<unknown>[] {
    return this.started.filter(({ instance }) => instance.isAlive)
      .map(async environment => this.world.ask(environment, {}, { timeoutMs: FUNCTION_TIMEOUT_MS }, FUNCTION_TIMEOUT_MS));
  }

  private async invoke(asked: RefreshAsk, random: Random): Promise<Answer> {
    const { world } = this;
    const { scheduler } = world;
    const environment = this.idle.pop() ?? await this.start(random);
    return new Promise(resolve => {
      const end = scheduler.now + FUNCTION_TIMEOUT_MS;
      let isDone = false;
      scheduler.at(end, () => {
        if (isDone) return;
        if (world.isDisturbed) environment.instance.crash(); // as Lambda does
        resolve('failed');
      });
      const context = { awsRequestId: 'asked', getRemainingTimeInMillis: () => end - scheduler.now };
      environment.instance.deliver(() => {
        void world.ask(environment, asked, { context }, FUNCTION_TIMEOUT_MS - ANSWER_MARGIN_MS).then(({ succeeded }) => {
          isDone = true;
          if (environment.instance.isAlive) this.idle.push(environment);
          resolve(succeeded ? 'done' : 'failed');
        });
      });
    });
  }

  /** A cold start. */
  private async start(random: Random): Promise<Member> {
    await new Promise<void>(resolve => this.world.scheduler.after(random.between(50, SECOND), resolve));
    const environment = this.world.join(this.clocks(), { mayRefresh: true, isForOneCall: true, timeouts: [FUNCTION_TIMEOUT_MS] });
    this.started.push(environment);
    return environment;
  }
}
