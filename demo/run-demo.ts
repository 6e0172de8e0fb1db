import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { EmbeddedDynamoDb } from '../testing-kit';
import { synthesizeApplication } from './application';
import { bundleRuntime } from './bundle';
import { Fleet } from './fleet';
import { layOutLambda } from './lambda-layout';
import { Load } from './load';
import type { DemoOptions } from './options';
import { prepareOutputFile } from './output-file';
import type { Progress } from './progress';
import { ProtectedApi } from './protected-api';
import { rotate } from './rotation';
import { brokenPromises, summarizeRotations, summarizeStart, type RotationSummary, type StartSummary } from './rotation-summary';
import { RunLog } from './run-log';
import { AUTH_LATENCY_MS, meanPauseMs, PARALLEL_COLD_INVOCATIONS, PARALLEL_STARTS, SETTLE_MS, TIMELINE_FILE, tokenLifeMs } from './settings';
import { timelineSvg } from './timeline';
import { TokenServer } from './token-server';

/** What a run came to. */
export interface DemoResult {
  readonly start: StartSummary;
  readonly rotations: readonly RotationSummary[];
  /** Empty when all is well. */
  readonly brokenPromises: readonly string[];
  readonly firstError: string | undefined;
}

/** What has to be undone, newest first, however the run ends. */
export class CleanUp {
  private readonly steps: (() => void | Promise<void>)[] = [];
  private done: Promise<void> | undefined;

  add(step: () => void | Promise<void>): void {
    this.steps.push(step);
  }

  /** Does it once; whoever asks again waits for the same. */
  async run(): Promise<void> {
    this.done ??= (async () => {
      for (const step of this.steps.reverse()) await Promise.resolve().then(step).catch(() => undefined);
    })();
    return this.done;
  }
}

/** The whole course of the demo. What it starts is registered with `cleanUp`, for the caller to undo. */
export async function runDemo(options: DemoOptions, progress: Progress, cleanUp: CleanUp): Promise<DemoResult> {
  const { instances, rotations } = options;
  prepareOutputFile(TIMELINE_FILE);
  if (await bundleRuntime() === 'bundled') progress.say('runtime bundled');

  const folder = mkdtempSync(join(tmpdir(), 'shared-token-demo-'));
  cleanUp.add(() => rmSync(folder, { recursive: true, force: true }));

  const tokens = await TokenServer.start({ latencyMs: AUTH_LATENCY_MS, tokenLifeMs: tokenLifeMs(instances) });
  cleanUp.add(async () => tokens.stop());
  const api = await ProtectedApi.start(tokens);
  cleanUp.add(async () => api.stop());
  progress.say('token server and API started');

  const application = synthesizeApplication(join(folder, 'cdk.out'), { authUrl: tokens.tokenUrl, apiUrl: api.url });
  const dynamoDb = await EmbeddedDynamoDb.start();
  cleanUp.add(async () => dynamoDb.stop());
  const table = await dynamoDb.createTableFromTemplate(application.template);
  const layout = layOutLambda(folder, application);
  progress.say('example app synthesized, its table made in the embedded DynamoDB, its layer laid out as in Lambda');

  const log = new RunLog();
  const fleet = new Fleet({
    bootstrap: layout.bootstrap,
    taskRoot: layout.taskRoot,
    timeoutMs: application.timeoutMs,
    variables: {
      ...application.variables(table.tableName),
      ...dynamoDb.environment,
      NODE_PATH: layout.nodePath,
      LAMBDA_TASK_ROOT: layout.taskRoot,
      _HANDLER: application.handler,
      AWS_LAMBDA_FUNCTION_NAME: 'send-message',
      AWS_LAMBDA_FUNCTION_VERSION: '$LATEST',
      AWS_LAMBDA_FUNCTION_MEMORY_SIZE: '128',
      LANG: 'en_US.UTF-8',
      TZ: ':UTC',
    },
  }, log);
  cleanUp.add(async () => fleet.stop());
  await fleet.start(instances, PARALLEL_STARTS, started => progress.update(`function environments: ${started} of ${instances}`));
  progress.say(`${instances} function environments run, each a process of its own`);

  log.startedAt = Date.now();
  const stage = { fleet, tokens, log, progress };
  const load = new Load(fleet, log, meanPauseMs(instances));
  cleanUp.add(() => load.cancel());
  await load.firstInvocations(PARALLEL_COLD_INVOCATIONS, invoked => progress.update(`first token: ${invoked} of ${instances} instances`));
  progress.say(`all instances have a token: ${count(tokens.authCalls.length, 'auth call')}`);
  load.start();

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
  await fleet.stop(); // all that the instances wrote has arrived

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

function count(n: number, what: string): string {
  return `${n} ${what}${n === 1 ? '' : 's'}`;
}
