import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { bundleRuntime } from './bundle';
import { assembleCast } from './cast';
import type { CleanUp } from './clean-up';
import { Load } from './load';
import type { DemoOptions } from './options';
import { prepareOutputFile } from './output-file';
import type { Progress } from './progress';
import { rotate, type RotationStage } from './rotation';
import { brokenPromises, summarizeRotations, summarizeStart, type RotationSummary, type StartSummary } from './rotation-summary';
import { REFRESHER } from './run-log';
import { meanPauseMs, PARALLEL_COLD_INVOCATIONS, PARALLEL_STARTS, ROTATION_LIMIT_MS, SETTLE_MS, TIMELINE_FILE } from './settings';
import { timelineSvg } from './timeline';
import type { TokenServer } from './token-server';

/** What a run came to. */
export interface DemoResult {
  readonly start: StartSummary;
  readonly rotations: readonly RotationSummary[];
  /** Empty when all is well. */
  readonly brokenPromises: readonly string[];
  readonly firstError: string | undefined;
}

/** The whole course of the demo. What it starts is registered with `cleanUp`, for the caller to undo. */
export async function runDemo(options: DemoOptions, progress: Progress, cleanUp: CleanUp): Promise<DemoResult> {
  const { mode, instances, rotations } = options;
  prepareOutputFile(TIMELINE_FILE);
  if (await bundleRuntime() === 'bundled') progress.say('runtime bundled');

  const folder = mkdtempSync(join(tmpdir(), 'shared-token-demo-'));
  cleanUp.add(() => rmSync(folder, { recursive: true, force: true }));
  const { tokens, log, fleet, refresher, deploy } = await assembleCast({ mode, instances, folder }, cleanUp);
  progress.say('token server and API started; example app synthesized, its table made in the embedded DynamoDB, its functions laid out as in Lambda');

  await fleet.start(instances, PARALLEL_STARTS, started => progress.update(`function environments: ${started} of ${instances}`));
  progress.say(`${instances} function environments run, each a process of its own`);

  log.startedAt = Date.now();
  await deploy();
  // The instances are used once the deployment is over, which has the refresher fetch a first token.
  if (refresher) await firstTokenIsThere(tokens);
  const load = new Load(fleet, log, meanPauseMs(instances));
  cleanUp.add(() => load.cancel());
  await load.firstInvocations(PARALLEL_COLD_INVOCATIONS, invoked => progress.update(`first token: ${invoked} of ${instances} instances`));
  progress.say(`all instances have a token: ${count(tokens.authCalls.length, 'auth call')}`);
  load.start();

  const kill: RotationStage['kill'] = async instance => instance === REFRESHER ? refresher?.killHolder() : fleet.kill(instance);
  const stage: RotationStage = { fleet, tokens, log, progress, kill };
  const killIn = options.killHolder ? Math.floor(rotations / 2) : undefined;
  for (let index = 0; index < rotations; index += 1) {
    const name = `rotation ${index + 1} of ${rotations}`;
    const complete = await rotate(stage, name, index === killIn ? 'kill-holder' : 'kill-nobody');
    const summary = summarizeRotations(log, tokens.authCalls, instances)[index];
    progress.say(complete
      ? `${name}: ${count(summary.authCalls, 'auth call')}, all instances have the new token after ${summary.allMs} ms`
      : `${name}: given up, since not every instance got the new token`);
    if (!complete) break;
  }
  await sleep(SETTLE_MS);
  await load.stop();
  await Promise.all([fleet.stop(), refresher?.stop()]); // all that they wrote has arrived

  const start = summarizeStart(log, tokens.authCalls, tokens.tokenLifeMs);
  const summaries = summarizeRotations(log, tokens.authCalls, instances);
  writeFileSync(TIMELINE_FILE, timelineSvg(log, summaries, instances));
  return {
    start,
    rotations: summaries,
    brokenPromises: brokenPromises(start, summaries, options.killHolder),
    firstError: log.invocations.find(({ outcome }) => outcome === 'failed')?.error,
  };
}

async function firstTokenIsThere(tokens: TokenServer): Promise<void> {
  const patienceEndsAt = Date.now() + ROTATION_LIMIT_MS;
  while (!tokens.liveToken) {
    if (Date.now() > patienceEndsAt) throw new Error('The refresher fetched no first token.');
    await sleep(25);
  }
}

function count(n: number, what: string): string {
  return `${n} ${what}${n === 1 ? '' : 's'}`;
}
