import { setTimeout as sleep } from 'node:timers/promises';
import type { Fleet } from './fleet';
import type { Progress } from './progress';
import { type Instance, REFRESHER, type RunLog } from './run-log';
import { REVOKE_AT_SHARE_OF_LIFE, ROTATION_LIMIT_MS, TOO_OLD_TO_REVOKE_AT_SHARE_OF_LIFE } from './settings';
import type { TokenServer } from './token-server';

/** What a rotation acts on. */
export interface RotationStage {
  readonly fleet: Fleet;
  readonly tokens: TokenServer;
  readonly log: RunLog;
  readonly progress: Progress;
  /** Kills an instance in whatever it is doing. */
  readonly kill: (instance: Instance) => Promise<void>;
}

/** Revokes the token when it is old enough, and waits until every instance has the next one. False when that takes too long. */
export async function rotate(stage: RotationStage, name: string, victimWanted: 'kill-holder' | 'kill-nobody'): Promise<boolean> {
  const { tokens, log, progress } = stage;
  await liveTokenIsRipe(tokens, msLeft => progress.update(`${name}: the token is revoked in ${(msLeft / 1_000).toFixed(1)} s`));

  const revokedAt = Date.now();
  if (victimWanted === 'kill-holder') {
    tokens.holdNextCall(async () => {
      const holder = await whoRefreshes(log, revokedAt);
      if (holder === undefined) return;
      progress.say(`${name}: ${holder === REFRESHER ? 'the refresher' : `instance ${holder}`} is in the middle of its auth call and is killed`);
      await stage.kill(holder);
    });
  }
  log.revocations.push(revokedAt);
  tokens.revoke();
  progress.say(`${name}: token revoked`);
  return everyInstanceServed(stage, revokedAt, name);
}

/** Waits until the token's age is right: see REVOKE_AT_SHARE_OF_LIFE. */
async function liveTokenIsRipe(tokens: TokenServer, onWait: (msLeft: number) => void): Promise<void> {
  const patienceEndsAt = Date.now() + ROTATION_LIMIT_MS;
  while (Date.now() < patienceEndsAt) {
    const age = Date.now() - (tokens.liveToken?.issuedAt ?? 0);
    const msLeft = REVOKE_AT_SHARE_OF_LIFE * tokens.tokenLifeMs - age;
    if (msLeft <= 0 && age < TOO_OLD_TO_REVOKE_AT_SHARE_OF_LIFE * tokens.tokenLifeMs) return;
    if (msLeft > 0) onWait(msLeft);
    await sleep(msLeft > 0 ? Math.min(msLeft, 100) : 100);
  }
  throw new Error('No instance fetches the next token, so there is none to revoke.');
}

async function everyInstanceServed({ fleet, log, progress }: RotationStage, since: number, name: string): Promise<boolean> {
  const total = fleet.instances.length;
  for (let served = 0; served < total; served = log.instancesServedSince(since).size) {
    if (Date.now() - since > ROTATION_LIMIT_MS) return false;
    progress.update(`${name}: ${served} of ${total} instances have the new token`);
    await sleep(25);
  }
  return true;
}

/** The instance that says it sends an auth request. Its word comes through a pipe, so it may arrive after the request. */
async function whoRefreshes(log: RunLog, since: number): Promise<Instance | undefined> {
  const patienceEndsAt = Date.now() + 2_000;
  while (Date.now() < patienceEndsAt) {
    const holder = log.events.filter(({ type, at }) => type === 'refreshing' && at >= since).pop()?.instance;
    if (holder !== undefined) return holder;
    await sleep(5);
  }
  return undefined;
}
