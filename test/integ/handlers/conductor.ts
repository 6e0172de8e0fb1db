import { setTimeout as sleep } from 'node:timers/promises';
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import type { Served } from './consumer';
import type { Statistics } from './server-state';
import type { ControlEvent } from './stand-in-provider';
import { minimumAge } from '../../../lambda-runtime/timing';
import { CONDUCTOR_ENV } from '../stacks/contract';

/** How it conducts. All of it has defaults, which are those of a test on AWS. */
export interface ConductorEvent {
  /** Invocations of each function at once. */
  readonly atOnce?: number;
  /** Before each revocation. One for each. */
  readonly pausesMs?: readonly number[];
}

/** What one round of invocations came to. */
export interface Round {
  readonly authCalls: number;
  /** Different tokens in use at its end. */
  readonly tokens: number;
  readonly failed: number;
}

/** What a test asserts. Short: CloudFormation takes 4 KB of it. */
export interface Report {
  readonly rounds: readonly Round[];
  /** Whether each function really ran in several instances. */
  readonly severalInstances: boolean;
  /** The first few failures, for people. */
  readonly failures: readonly string[];
}

/** Until the storm guard believes the rejection of a token after none, one and two others that were rejected early; and a second for clocks. */
const PAUSES_MS = [0, 1, 2].map(earlyRejections => minimumAge(earlyRejections) + 1_000);
const AT_ONCE = 4;
const SHOWN_FAILURES = 3;

const lambda = new LambdaClient({});
const consumers = (process.env[CONDUCTOR_ENV.CONSUMERS] ?? '').split(',');
const server = process.env[CONDUCTOR_ENV.SERVER] ?? '';
const scope = process.env[CONDUCTOR_ENV.SCOPE] ?? '';

/** Has all consumers call the API at once, with no token or the one that there is, and then once more after each of some revocations. */
export async function handler({ atOnce = AT_ONCE, pausesMs = PAUSES_MS }: ConductorEvent): Promise<Report> {
  const rounds: Round[] = [];
  const instances = new Set<string>();
  const failures: string[] = [];
  for (const pauseMs of [undefined, ...pausesMs]) {
    if (pauseMs !== undefined) {
      await sleep(pauseMs);
      await control('revoke');
    }
    const before = await control('statistics');
    const outcomes = await callAll(atOnce);
    const { authCalls } = await control('statistics');
    const served = outcomes.filter(outcome => typeof outcome !== 'string');
    for (const { instance } of served) instances.add(instance);
    failures.push(...outcomes.filter(outcome => typeof outcome === 'string'));
    const tokens = new Set(served.map(({ fingerprint }) => fingerprint)).size;
    rounds.push({ authCalls: authCalls - before.authCalls, tokens, failed: outcomes.length - served.length });
  }
  return { rounds, severalInstances: instances.size > consumers.length, failures: failures.slice(0, SHOWN_FAILURES) };
}

/** One invocation of every consumer, as often as is wished, all at once. A text is a failure. */
async function callAll(atOnce: number): Promise<(Served | string)[]> {
  return Promise.all(Array.from({ length: atOnce }, () => consumers).flat().map(async consumer => {
    try {
      const served = await invoke<Served>(consumer, {});
      return served.status === 200 ? served : `the API answered ${served.status}`;
    } catch (error) {
      return String(error).slice(0, 200);
    }
  }));
}

async function control(what: ControlEvent['control']): Promise<Statistics> {
  const event: ControlEvent = { control: what, scope };
  return invoke<Statistics>(server, event);
}

async function invoke<T>(functionName: string, event: object): Promise<T> {
  const { FunctionError, Payload } = await lambda.send(new InvokeCommand({ FunctionName: functionName, Payload: JSON.stringify(event) }));
  const text = Payload?.transformToString() ?? '';
  if (FunctionError) throw new Error(`${functionName} failed: ${text}`);
  return JSON.parse(text) as T;
}
