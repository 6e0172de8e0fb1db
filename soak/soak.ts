import { setTimeout as sleep } from 'node:timers/promises';
import { DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb';
import { App, Stack } from 'aws-cdk-lib';
import { randomFaults } from './faults';
import { isRotating, SoakProvider } from './provider';
import { TableWatch } from './table-watch';
import { type CallReport, Workers } from './workers';
import { SharedTokenTable } from '../src';
import { FaultProxy, startEmbeddedTable } from '../testing-kit';

export interface SoakOptions {
  readonly processes: number;
  readonly rotations: number;
}

/** What a soak came to. */
export interface SoakResult {
  readonly rotations: number;
  readonly calls: number;
  readonly authCalls: number;
  readonly tableWrites: number;
  readonly faults: number;
  readonly killedHolders: number;
  readonly frozenHolders: number;
  readonly problems: readonly string[];
}

const TOKEN_IDS = Array.from({ length: 8 }, (_, index) => `token-${index}${index % 2 === 0 ? '-rotating' : ''}`);
const AUTH_LIMIT_MS = 2_000;
/**
 * Older than half a token's life, by more than two clocks may differ, and than the storm guard's minimum age doubled once: a forced refresh whose holder is
 * frozen ends a young token, too.
 */
const REVOKE_AFTER_MS = 14_000;
/** A killed holder costs its lease (auth limit + 2 s), 2 s of grace and perhaps a cool-down. */
const ROTATION_LIMIT_MS = 60_000;
/** Where one thing is lost, much else fails after it. */
const SHOWN_PROBLEMS = 20;
const KILL_SHARE = 0.25;
const FREEZE_SHARE = 0.1;

/** Many processes, a table behind a proxy that breaks things, holders killed and frozen in their auth calls, wrong clocks: revokes tokens until enough is enough. */
export async function soak({ processes, rotations }: SoakOptions, say: (text: string) => void): Promise<SoakResult> {
  const problems: string[] = [];
  const watch = new TableWatch();
  const stack = new Stack(new App(), 'Soak');
  new SharedTokenTable(stack, 'Tokens');
  const template = (stack.node.root as App).synth().getStackByName('Soak').template as Record<string, unknown>;
  const table = await startEmbeddedTable({ template: JSON.parse(JSON.stringify(template)) as never, onReply: watch.see });
  const proxy = await FaultProxy.start(table.endpoint, randomFaults);

  let calls = 0;
  /** Which issue of each token each process used last with success. */
  const seen = new Map<string, Map<number, number>>(TOKEN_IDS.map(tokenId => [tokenId, new Map()]));
  const onReport = (pid: number, { tokenId, status, generation = 0, code, message }: CallReport) => {
    calls++;
    // Holders of other tokens die with their process, so one token may lose two in a row: then who needs it is told to wait, which is no loss.
    const hasToWait = code === 'COOLING_DOWN' && watch.leasesWithoutEnd(tokenId) >= 2;
    if (status === 200) seen.get(tokenId)?.set(pid, generation);
    else if (!hasToWait) problems.push(`${tokenId}: a call failed for good: ${status ?? `${code}: ${message}`} (${watch.history(tokenId)})`);
  };
  const plans = new Map<string, 'kill' | 'freeze'>();
  const provider = await SoakProvider.start(tokenId => watch.hasCommitted(tokenId), ({ tokenId, pid }) => {
    const plan = plans.get(tokenId);
    plans.delete(tokenId);
    if (plan === 'kill') setTimeout(() => workers.kill(pid), Math.random() * 200);
    if (plan === 'freeze') workers.freeze(pid, 1_000 + Math.random() * 6_000);
  });
  const workers = new Workers({
    ...table.environment,
    AWS_ENDPOINT_URL_DYNAMODB: proxy.endpoint,
    SOAK_PROVIDER: provider.url,
    SOAK_TOKEN_IDS: TOKEN_IDS.join(','),
    SOAK_AUTH_LIMIT_MS: String(AUTH_LIMIT_MS),
  }, onReport);

  let done = 0;
  const rotate = async (tokenId: string): Promise<void> => {
    const account = provider.account(tokenId);
    while (done < rotations && problems.length === 0) {
      await sleep(Math.max(50, account.issuedAt + REVOKE_AFTER_MS + Math.random() * 1_000 - Date.now()));
      if (Date.now() - account.issuedAt < REVOKE_AFTER_MS) continue; // refreshed ahead meanwhile
      const chance = Math.random();
      if (chance < KILL_SHARE) plans.set(tokenId, 'kill');
      else if (chance < KILL_SHARE + FREEZE_SHARE) plans.set(tokenId, 'freeze');
      const before = account.issued;
      provider.revoke(tokenId);
      const everyoneHasIt = () => workers.pids().every(pid => (seen.get(tokenId)?.get(pid) ?? 0) > before);
      for (const since = Date.now(); !everyoneHasIt(); await sleep(50)) {
        if (problems.length > 0) return;
        if (Date.now() - since < ROTATION_LIMIT_MS) continue;
        problems.push(`${tokenId}: ${ROTATION_LIMIT_MS} ms after a revocation not every process had a new token`);
        return;
      }
      done++;
      if (done % 10 === 0) say(`${done} of ${rotations} rotations, ${calls} calls, ${provider.authCalls} auth calls, ${workers.killed} holders killed, ${workers.frozen} frozen`);
    }
  };

  try {
    for (let index = 0; index < processes; index++) workers.start();
    await Promise.all(TOKEN_IDS.map(rotate));
    await workers.stop();
    problems.unshift(...watch.problems, ...provider.problems, ...await lostCredentials(table, provider));
  } finally {
    await workers.stop();
    await proxy.stop();
    await provider.stop();
    await table.stop();
  }
  return {
    rotations: done,
    calls,
    authCalls: provider.authCalls,
    tableWrites: watch.writes,
    faults: Object.values(proxy.counts).reduce((sum, count) => sum + count, 0),
    killedHolders: workers.killed,
    frozenHolders: workers.frozen,
    problems: [...new Set(problems)].slice(0, SHOWN_PROBLEMS),
  };
}

/** The stored refresh token must be one that the provider still honours: the newest, or the one before, whose answer died with its holder. */
async function lostCredentials(table: Awaited<ReturnType<typeof startEmbeddedTable>>, provider: SoakProvider): Promise<string[]> {
  const client = new DynamoDBClient(table.clientConfig);
  const lost: string[] = [];
  for (const tokenId of TOKEN_IDS.filter(isRotating)) {
    const { Item } = await client.send(new GetItemCommand({ TableName: table.tableName, Key: { tokenId: { S: tokenId } } }));
    const { refreshToken, previous } = provider.account(tokenId);
    if (![refreshToken, previous?.token].includes(Item?.refreshToken?.S)) lost.push(`${tokenId}: the stored refresh token is neither the newest nor the one before`);
  }
  client.destroy();
  return lost;
}
