import type { RotationSummary } from './rotation-summary';
import { type Instance, type InstanceEvent, REFRESHER, type RunLog } from './run-log';

/** Something that lasts, in one lane. */
export interface Span {
  readonly kind: 'token' | 'wait' | 'lease' | 'orphaned-lease' | 'auth-call';
  readonly from: number;
  readonly to: number;
  /** Of a token. */
  readonly generation?: number;
}

/** Something that happens, in one lane. */
export interface Mark {
  readonly kind: 'look' | 'adopted' | 'rejected' | 'asked' | 'invoked' | 'killed' | 'replaced';
  readonly at: number;
}

/** What one instance did. */
export interface Lane {
  readonly instance: Instance;
  readonly spans: readonly Span[];
  readonly marks: readonly Mark[];
}

/** One part of the time, drawn to its own scale: the quiet seconds between two rotations are left out. */
export interface Panel {
  readonly title: string;
  readonly subtitle: string;
  readonly from: number;
  readonly to: number;
  /** What the panel's axis counts from. */
  readonly zero: number;
  readonly zeroIs: 'start' | 'revocation';
  readonly killedHolder: boolean;
}

/** Follows each instance through its events. The refresher, where there is one, comes first. */
export function lanesOf(log: RunLog, instances: number): Lane[] {
  const end = Math.max(...log.events.map(({ at }) => at), ...log.invocations.map(({ endedAt }) => endedAt), log.startedAt);
  const lanes = Array.from({ length: instances }, (_, index) => laneOf(index + 1, log, end));
  return log.refresherInvocations ? [laneOfRefresher(log, log.refresherInvocations, end), ...lanes] : lanes;
}

/** It fetches tokens and uses none, and its environments look at the table beside each other: what it does under a lease is shown, and when it was invoked. */
function laneOfRefresher(log: RunLog, invocations: readonly number[], end: number): Lane {
  const { spans, marks } = laneOf(REFRESHER, log, end);
  return {
    instance: REFRESHER,
    spans: spans.filter(({ kind }) => kind !== 'token' && kind !== 'wait'),
    marks: [
      ...marks.filter(({ kind }) => kind === 'adopted' || kind === 'killed'),
      ...invocations.map(at => ({ kind: 'invoked' as const, at })),
    ],
  };
}

type Step = InstanceEvent | { readonly type: 'killed' | 'replaced'; readonly at: number };

function laneOf(instance: Instance, log: RunLog, end: number): Lane {
  const mine = <T extends { readonly instance: Instance }>(all: readonly T[]): T[] => all.filter(one => one.instance === instance);
  const steps: Step[] = [
    ...mine(log.events),
    ...mine(log.kills).map(({ at }) => ({ type: 'killed' as const, at })),
    ...mine(log.replacements).map(({ at }) => ({ type: 'replaced' as const, at })),
  ].sort((a, b) => a.at - b.at);

  const marks: Mark[] = [];
  const spans: Span[] = [];
  const open = new Map<Span['kind'], { readonly from: number; readonly generation?: number }>();
  const begin = (kind: Span['kind'], from: number, generation?: number): void => {
    if (!open.has(kind)) open.set(kind, { from, generation });
  };
  const finish = (kind: Span['kind'], to: number): void => {
    const begun = open.get(kind);
    if (begun) spans.push({ kind, to, ...begun });
    open.delete(kind);
  };
  const take: Record<Step['type'], (step: Step) => void> = {
    read: ({ at }) => {
      if (!open.has('token') && !open.has('lease')) begin('wait', at);
      marks.push({ kind: 'look', at });
    },
    waiting: ({ at }) => begin('wait', at),
    asked: (step) => {
      begin('wait', step.at);
      if (!('code' in step)) marks.push({ kind: 'asked', at: step.at });
    },
    rejected: ({ at }) => {
      finish('token', at);
      begin('wait', at);
      marks.push({ kind: 'rejected', at });
    },
    claimed: ({ at }) => {
      finish('wait', at);
      begin('lease', at);
    },
    refreshing: ({ at }) => begin('auth-call', at),
    refreshed: ({ at }) => finish('auth-call', at),
    released: ({ at }) => {
      finish('auth-call', at);
      finish('lease', at);
    },
    committed: step => holdToken(step),
    adopted: step => holdToken(step),
    replaced: ({ at }) => marks.push({ kind: 'replaced', at }),
    killed: ({ at }) => {
      if (open.has('lease')) spans.push({ kind: 'orphaned-lease', from: at, to: takeoverAfter(at, log) ?? end });
      for (const kind of [...open.keys()]) finish(kind, at);
      marks.push({ kind: 'killed', at });
    },
  };
  const holdToken = (step: Step): void => {
    const generation = 'generation' in step ? step.generation : undefined;
    for (const kind of ['wait', 'auth-call', 'lease'] as const) finish(kind, step.at);
    if (open.has('token') && open.get('token')?.generation === generation) return;
    finish('token', step.at);
    begin('token', step.at, generation);
    marks.push({ kind: 'adopted', at: step.at });
  };
  for (const step of steps) take[step.type](step);
  for (const kind of [...open.keys()]) finish(kind, end);
  return { instance, spans, marks };
}

function takeoverAfter(at: number, log: RunLog): number | undefined {
  return log.events.find(event => event.type === 'claimed' && event.takeover && event.at >= at)?.at;
}

/** The start, and each rotation, with a little of what was before and after. */
export function panelsOf(log: RunLog, rotations: readonly RotationSummary[]): Panel[] {
  const firstTokens = new Map<Instance, number>();
  for (const { type, instance, at } of log.events) {
    if (instance !== REFRESHER && (type === 'adopted' || type === 'committed') && !firstTokens.has(instance)) firstTokens.set(instance, at);
  }
  const start = panel({
    title: 'Start',
    subtitle: log.refresherInvocations ? 'the deployment has the first token fetched' : 'no instance has a token',
    zero: log.startedAt,
    end: Math.max(...firstTokens.values(), log.startedAt + 1),
    zeroIs: 'start',
    killedHolder: false,
  });
  return [start, ...rotations.map((rotation, index) => panel({
    title: `Rotation ${index + 1}${rotation.killedHolder ? ': its holder is killed' : ''}`,
    subtitle: `${rotation.authCalls} auth call${rotation.authCalls === 1 ? '' : 's'}, all after ${inSeconds(rotation.allMs)}`,
    zero: rotation.revokedAt,
    end: rotation.revokedAt + (rotation.allMs ?? 2_000),
    zeroIs: 'revocation',
    killedHolder: rotation.killedHolder,
  }))];
}

function panel({ end, ...rest }: Omit<Panel, 'from' | 'to'> & { readonly end: number }): Panel {
  const around = (end - rest.zero) * 0.12;
  return { ...rest, from: rest.zero - around, to: end + around };
}

function inSeconds(ms: number | undefined): string {
  return ms === undefined ? '?' : `${(ms / 1_000).toFixed(2)} s`;
}
