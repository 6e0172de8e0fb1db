import type { Case } from './case';
import type { Instance } from './instance';
import { type Carrier, exchange } from './network';
import type { Observer } from './observer';
import type { Issued, Provider, Refused } from './provider';
import type { Random } from './random';
import type { Runtime } from './runtime';
import type { Trace } from './trace';
import type { Refresh, RefreshResult } from '../lambda-runtime/public-types';

/** The way to the provider. */
export interface AuthServer {
  readonly runtime: Runtime;
  readonly provider: Provider;
  readonly carrier: Carrier;
  readonly observer: Observer;
  readonly settings: Case['provider'];
  /** True time, which the provider's clock shows. */
  readonly now: () => number;
  readonly heedsSignal: boolean;
  /** Do errors happen still? */
  readonly isDisturbed: () => boolean;
  readonly trace: Trace | undefined;
}

type Answer = (Issued & { readonly expiresIn: number }) | (Refused & { readonly retryAfter?: number });

/** The `refresh` function of an application, with a network and a provider behind it that do what the schedule says. */
export function createRefresh(server: AuthServer, instance: Instance): Refresh {
  const { runtime, provider, carrier, observer, settings, now, heedsSignal, isDisturbed, trace } = server;
  return async ({ signal, refreshToken }) => new Promise<RefreshResult>((resolve, reject) => {
    const lease = instance.refreshingUnder;
    let call: ReturnType<Observer['authSent']> | undefined;
    const ends = () => { if (call?.isOpen) observer.authEnded(call); };
    signal.addEventListener('abort', () => {
      ends();
      if (heedsSignal) reject(signal.reason as Error);
    }, { once: true });

    exchange<Answer>(carrier, {
      instance,
      call: 'auth',
      latencyMs: settings.latencyMs / 10,
      leave: () => {
        trace?.note(instance.name, `asks the provider under ${trace.short(lease)}${refreshToken ? ` with ${trace.short(refreshToken)}` : ''}`);
        call = observer.authSent(instance.name, instance, lease, { refreshToken });
      },
      arrive: (refused, random, reply) => {
        const failure = refused || (isDisturbed() && random.chance(settings.errorRate)) ? errorAnswer(random) : undefined;
        if (failure === undefined && call !== undefined) observer.spent(refreshToken, call);
        const answer = failure ?? withLife(provider.redeem(refreshToken), now());
        trace?.note('provider', `${instance.name}: ${'error' in answer ? answer.error : `${trace.short(answer.accessToken)}${answer.refreshToken ? `, ${trace.short(answer.refreshToken)}` : ''}`}`);
        carrier.reply(random.between(settings.latencyMs / 2, settings.latencyMs * 1.5), () => {
          ends();
          reply(answer);
        });
      },
      notice: answer => {
        ends();
        if ('error' in answer) return reject(new runtime.RefreshError(answer.error, { retryAfter: answer.retryAfter }));
        if (heedsSignal && signal.aborted) return; // the connection was closed: nobody sees the answer
        if (call !== undefined) observer.credentialReceived(instance, answer, call);
        resolve(resultOf(answer, settings));
      },
      broken: () => {
        ends();
        reject(Object.assign(new Error('The connection broke'), { code: 'ECONNRESET' }));
      },
    });
  });
}

function errorAnswer(random: Random): Answer {
  const error = random.pick(['500', '503', '429', '429', 'invalid_client']);
  return error === '429' ? { error, retryAfter: random.pick([1, 7, 100_000]) } : { error };
}

/** A token that is handed out again comes with what is left of its life. */
function withLife(answer: Issued | Refused, now: number): Answer {
  return 'error' in answer ? answer : { ...answer, expiresIn: (answer.expiresAt - now) / 1_000 };
}

function resultOf({ accessToken, refreshToken, expiresIn }: Issued & { readonly expiresIn: number }, { lifeS }: Case['provider']): RefreshResult {
  return { accessToken, refreshToken, ...(lifeS === undefined ? {} : { expiresIn }) };
}
