import { type Instance, REFRESHER, type RunLog } from './run-log';
import { REFRESH_AHEAD_FROM_SHARE_OF_LIFE } from './settings';

/** What one rotation came to. All times are milliseconds. */
export interface RotationSummary {
  readonly revokedAt: number;
  /** Auth calls that the token server got, from this revocation to the next one. */
  readonly authCalls: number;
  readonly killedHolder: boolean;
  /** Invocations that ended from this revocation to the next one, without lost ones. */
  readonly requests: number;
  /** Of those, how many were refused with the old token, then served with the new one. */
  readonly rejectedOnce: number;
  /** Of those, how many the caller got no good answer to. */
  readonly failedRequests: number;
  /** Invocations that ended with the killed instance. */
  readonly lostRequests: number;
  /** From the revocation until half of the instances, and all, had the new token. `undefined` when that never came. */
  readonly halfMs: number | undefined;
  readonly allMs: number | undefined;
  /** From the kill until another instance took the lease over. */
  readonly takeoverMs: number | undefined;
  /** How often the refresher was invoked, by whomever; undefined where there is none. */
  readonly invocations: number | undefined;
}

/** What the instances did before the first revocation: all began without a token. */
export interface StartSummary {
  readonly durationMs: number;
  readonly tokenLifeMs: number;
  readonly authCalls: number;
  readonly requests: number;
  readonly failedRequests: number;
  /** How often the refresher was invoked; undefined where there is none. */
  readonly invocations: number | undefined;
}

/** Counts what happened before the first revocation. */
export function summarizeStart(log: RunLog, authCalls: readonly number[], tokenLifeMs: number): StartSummary {
  const end = log.revocations[0] ?? Infinity;
  const invocations = log.invocations.filter(({ endedAt }) => endedAt < end);
  return {
    durationMs: end - log.startedAt,
    tokenLifeMs,
    authCalls: authCalls.filter(at => at < end).length,
    requests: invocations.length,
    failedRequests: invocations.filter(({ outcome }) => outcome === 'failed').length,
    invocations: log.refresherInvocations?.filter(at => at < end).length,
  };
}

/** Counts what each revocation led to. Nothing falls between two rotations: one lasts until the next, the last until the end. */
export function summarizeRotations(log: RunLog, authCalls: readonly number[], instances: number): RotationSummary[] {
  return log.revocations.map((revokedAt, index) => {
    const within = timeSpan(revokedAt, log.revocations[index + 1] ?? Infinity);
    const events = log.events.filter(({ at }) => within(at));
    const ended = log.invocations.filter(({ endedAt }) => within(endedAt));
    const served = ended.filter(({ outcome }) => outcome !== 'lost');
    const kill = log.kills.find(({ at }) => within(at));
    const takeover = events.find(({ type, takeover: isTakeover, at }) => type === 'claimed' && isTakeover && kill && at >= kill.at);
    const adoptions = firstAdoptions(log, revokedAt, within).map(at => at - revokedAt).sort((a, b) => a - b);
    return {
      revokedAt,
      authCalls: authCalls.filter(within).length,
      killedHolder: kill !== undefined,
      requests: served.length,
      rejectedOnce: served.filter(({ instance, startedAt, endedAt, outcome }) => outcome === 'succeeded'
        && events.some(event => event.instance === instance && event.type === 'rejected' && event.at >= startedAt && event.at <= endedAt)).length,
      failedRequests: served.filter(({ outcome }) => outcome === 'failed').length,
      lostRequests: ended.length - served.length,
      halfMs: adoptions[Math.ceil(instances / 2) - 1],
      allMs: adoptions[instances - 1],
      takeoverMs: takeover && kill ? takeover.at - kill.at : undefined,
      invocations: log.refresherInvocations?.filter(within).length,
    };
  });
}

/**
 * When each instance had the new token. The instance's own word counts; where that is missing, the first answer that it could only have got with the new
 * token does. (A new process may take up the revoked token once more, from the table: that does not count.)
 */
function firstAdoptions(log: RunLog, revokedAt: number, within: (at: number) => boolean): number[] {
  const revoked = log.events.filter(({ type, at }) => type === 'committed' && at < revokedAt).pop()?.generation;
  const first = new Map<Instance, number>();
  const note = (instance: Instance, at: number): void => { first.set(instance, Math.min(at, first.get(instance) ?? Infinity)); };
  for (const { type, instance, at, generation } of log.events) {
    if (instance !== REFRESHER && within(at) && (type === 'adopted' || type === 'committed') && generation !== revoked) note(instance, at);
  }
  for (const { instance, startedAt, endedAt, outcome } of log.invocations) {
    if (outcome === 'succeeded' && within(startedAt) && within(endedAt)) note(instance, endedAt);
  }
  return [...first.values()];
}

function timeSpan(from: number, until: number): (at: number) => boolean {
  return at => at >= from && at < until;
}

/** What the demo promises, and whether it came true. Empty when all is well. */
export function brokenPromises(start: StartSummary, rotations: readonly RotationSummary[], killWanted: boolean): string[] {
  const broken: string[] = [];
  if (start.authCalls > callsThatExpiryExplains(start)) broken.push(`The start made ${start.authCalls} auth calls, not one per token.`);
  if (start.failedRequests > 0) broken.push(`${start.failedRequests} requests failed during the start.`);
  rotations.forEach((rotation, index) => {
    const name = `Rotation ${index + 1}`;
    if (!rotation.killedHolder && rotation.authCalls !== 1) broken.push(`${name} made ${rotation.authCalls} auth calls, not one.`);
    if (rotation.killedHolder && rotation.authCalls > 2) broken.push(`${name}, in which the holder was killed, made ${rotation.authCalls} auth calls: at most two are right.`);
    if (rotation.failedRequests > 0) broken.push(`${rotation.failedRequests} requests failed in rotation ${index + 1}.`);
    if (rotation.allMs === undefined) broken.push(`${name} ended before every instance had the new token.`);
  });
  if (killWanted && !rotations.some(({ killedHolder }) => killedHolder)) broken.push('No holder was killed, though one should have been.');
  return broken;
}

/** One for the first token, and one for each that grew old while a large fleet was starting. */
function callsThatExpiryExplains({ durationMs, tokenLifeMs }: StartSummary): number {
  return 1 + Math.floor(durationMs / (REFRESH_AHEAD_FROM_SHARE_OF_LIFE * tokenLifeMs));
}
