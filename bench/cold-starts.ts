import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, PutCommand } from '@aws-sdk/lib-dynamodb';
import { App, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { buildFunction, IMPORTS, RUNTIME, VARIANTS, type BuiltFunction, type Variant } from './functions';
import { CleanUp } from '../demo/clean-up';
import type { NodeMajor } from '../local-aws/lambda/environment-variables';
import { LocalLambda } from '../local-aws/lambda/local-lambda';
import { SharedTokenTable } from '../src';
import { startEmbeddedTable, type JsonObject, type StartedEmbeddedTable } from '../testing-kit';

const LAYER = resolve(__dirname, '..', 'assets', 'layer');

/** One cold start, in milliseconds. */
export interface Sample {
  /** From the start of Node.js to the moment at which the runtime asks for its first invocation. */
  readonly init: number;
  /** What the handler measured itself: its first call; or its imports, and the making of a client. */
  readonly firstCall?: number;
  readonly sdk?: number;
  readonly client?: number;
  readonly runtime?: number;
  readonly oauth?: number;
}

/** A variant on one version of Node.js. */
export interface Measurement extends Pick<BuiltFunction, 'bytes' | 'gzippedBytes'> {
  readonly node: NodeMajor;
  readonly variant: Variant;
  readonly samples: readonly Sample[];
}

export interface ColdStartOptions {
  readonly nodes: readonly NodeMajor[];
  /** Cold starts of each variant. */
  readonly rounds: number;
  /** Which of them. @default - all */
  readonly variants?: readonly Variant[];
  readonly onRound: (round: number) => void;
}

/**
 * Starts every variant on every Node.js once a round, one after the other: what slows the machine down for a while slows all of them down, and samples of one round
 * may be compared.
 */
export async function measureColdStarts({ nodes, rounds, variants = [...VARIANTS, IMPORTS], onRound }: ColdStartOptions): Promise<Measurement[]> {
  const cleanUp = new CleanUp();
  try {
    const folder = mkdtempSync(join(tmpdir(), 'bench-'));
    cleanUp.add(() => rmSync(folder, { recursive: true, force: true }));
    const lambda = LocalLambda.open();
    cleanUp.add(async () => lambda.close());
    const table = cleanUp.stopLater(await startEmbeddedTable({ template: tokenTable() }));
    await putToken(table);
    const functions = await Promise.all(variants.map(async (variant, index) => ({
      variant,
      built: await buildFunction(variant, join(folder, String(index))),
    })));
    const measurements = nodes.flatMap(node => functions.map(fn => ({ node, ...fn, samples: [] as Sample[] })));
    for (let round = 0; round <= rounds; round++) {
      for (const { node, variant, built, samples } of measurements) {
        const layer = variant.external.includes(RUNTIME) ? LAYER : undefined;
        const sample = await coldStart(lambda, { node, folder: built.folder, layer, variables: table.environment });
        if (round > 0) samples.push(sample); // the first one warms the machine's file cache
      }
      onRound(round);
    }
    return measurements.map(({ built: { bytes, gzippedBytes }, ...rest }) => ({ ...rest, bytes, gzippedBytes }));
  } finally {
    await cleanUp.run();
  }
}

interface StartedFunction {
  readonly node: NodeMajor;
  readonly folder: string;
  readonly layer: string | undefined;
  readonly variables: Readonly<Record<string, string>>;
}

async function coldStart(lambda: LocalLambda, { node, folder, layer, variables }: StartedFunction): Promise<Sample> {
  const environment = await lambda.start({ node, code: folder, layer, handler: 'index.handler', variables, memoryMb: 1_769, staysAwake: true });
  try {
    const result = await environment.invoke({});
    if ('error' in result) throw new Error(`The function failed: ${JSON.stringify(result.error)}\n${environment.logs.join('\n')}`);
    return { init: environment.initMs, ...result.value as Omit<Sample, 'init'> };
  } finally {
    await environment.close();
  }
}

function tokenTable(): JsonObject {
  const stack = new Stack(new App(), 'Stack');
  new SharedTokenTable(stack, 'Tokens');
  return Template.fromStack(stack).toJSON();
}

async function putToken({ clientConfig, tableName }: StartedEmbeddedTable): Promise<void> {
  const documents = DynamoDBDocumentClient.from(new DynamoDBClient(clientConfig));
  const now = Date.now();
  await documents.send(new PutCommand({
    TableName: tableName,
    Item: { tokenId: 'crm', accessToken: 'a-token-of-the-bench', generation: 1, issuedAt: now, expiresAt: now + 86_400_000 },
  }));
  documents.destroy();
}
