import { freezeMs, type Instance } from './instance';
import type { Random } from './random';
import type { PortCall } from './schedule';
import type { Scheduler } from './scheduler';

/** Carries something to its destination, after a while: how long is the network's secret. */
export interface Carrier {
  /** A request on its way to the one place that all share. */
  request(ms: number, arrive: () => void): void;
  /** An answer on its way back. */
  reply(ms: number, arrive: () => void): void;
}

/** Takes as long as it is told. */
export function timedCarrier(scheduler: Scheduler): Carrier {
  return { request: (ms, arrive) => scheduler.after(ms, arrive), reply: (ms, arrive) => scheduler.after(ms, arrive) };
}

/** One exchange over the network. */
export interface Exchange<T> {
  readonly instance: Instance;
  readonly call: PortCall;
  readonly latencyMs: number;
  /** What happens over there. `refused`: the other side was told to say no. `reply` may come later than at once. */
  readonly arrive: (refused: boolean, random: Random, reply: (answer: T) => void) => void;
  /** The process notices the answer. */
  readonly notice: (answer: T) => void;
  /** The process notices that the connection broke. */
  readonly broken: () => void;
  /** The request leaves the process. */
  readonly leave?: (() => void) | undefined;
}

/** Sends a request and brings back its answer, if its fate allows. */
export function exchange<T>(carrier: Carrier, { instance, call, latencyMs, arrive, notice, broken, leave }: Exchange<T>): void {
  if (!instance.isAlive) return;
  instance.requests++;
  const { fate, random } = instance.fateOf(call);
  const there = 1 + random.around(latencyMs);
  const back = 1 + random.around(latencyMs);
  const breakOff = () => carrier.reply(there + back, () => instance.deliver(broken));

  const send = (ms: number, comeBack: (answer: T) => void) => {
    leave?.();
    carrier.request(ms, () => arrive(fate === 'refused', random, comeBack));
  };
  const comeBack = (answer: T) => carrier.reply(back, () => instance.deliver(() => notice(answer)));

  switch (fate) {
    case 'request-lost':
      leave?.();
      return breakOff();
    case 'request-vanishes': return leave?.();
    case 'crash-before': return instance.crash();
    case 'reply-lost': return send(there, () => carrier.reply(back, () => instance.deliver(broken)));
    case 'reply-vanishes': return send(there, () => undefined);
    case 'slow': return send(there + random.between(300, 8_000), comeBack);
    case 'crash-in-flight':
      send(there, comeBack);
      return instance.crash();
    case 'crash-after': return send(there, answer => carrier.reply(back, () => instance.deliver(() => {
      if (instance.isDisturbed()) instance.crash();
      else notice(answer);
    })));
    case 'freeze-before':
      instance.freezeFor(freezeMs(random));
      return instance.deliver(() => send(there, comeBack));
    case 'freeze-after':
      send(there, comeBack);
      return instance.freezeFor(freezeMs(random));
    case 'clock-jump':
      instance.jump(random);
      return send(there, comeBack);
    default: return send(there, comeBack);
  }
}
