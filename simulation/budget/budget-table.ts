import type { Contender, Rotation, Setting } from './rotation';

/** One line of the table, as `--json` prints it. */
export interface Row extends Setting {
  readonly contender: string;
  /** The most of any rotation. */
  readonly authCalls: number;
  /** Of a refresher: the most of any rotation. */
  readonly invocations: number;
  /** To the table: all that were sent, throttled ones included. */
  readonly requestsPerInstance: number;
  /** Capacity units per instance. */
  readonly readUnits: number;
  readonly writeUnits: number;
  /** Of all instances in all rotations. */
  readonly overP50Ms: number;
  readonly overP99Ms: number;
  readonly overMaxMs: number;
  /** Calls that ended with an error, in all rotations together. */
  readonly failed: number;
}

const INSTANCES = [1, 10, 100, 1_000, 10_000] as const;
const PROVIDERS = [300, 2_000].flatMap(providerMs => [0, 0.3].map(providerCv => ({ providerMs, providerCv })));
const TOKENS_KB = [0.5, 3] as const;

/** All that is measured. */
export const SETTINGS: readonly Setting[] = TOKENS_KB.flatMap(tokenKb => {
  return PROVIDERS.flatMap(provider => INSTANCES.map(instances => ({ instances, ...provider, tokenKb })));
});

/**
 * So many rotations make one row: where few instances wait, a single one says little; a latency that varies takes more of them; and of 10,000 instances a
 * single one says all, since the partition decides there and no luck.
 */
function rotationsOf({ instances, providerCv }: Setting): number {
  if (instances >= 10_000) return 1;
  if (providerCv === 0) return instances >= 1_000 ? 8 : 24;
  return instances >= 1_000 ? 24 : 48;
}

/** Measures one row. */
export async function measure(contender: Contender, setting: Setting, count = rotationsOf(setting)): Promise<Row> {
  const rotations: Rotation[] = [];
  for (let index = 0; index < count; index++) {
    // One latency from each part of its distribution: so a few rotations stand for many.
    rotations.push(await contender.rotate(setting, { seed: index + 1, quantile: (index + 0.5) / count }));
  }
  const perInstance = (pick: (rotation: Rotation) => number) => hundredths(sum(rotations.map(pick)) / (count * setting.instances));
  const overMs = rotations.flatMap(rotation => rotation.overMs).sort((one, other) => one - other);
  const over = (share: number) => Math.round(overMs[Math.min(overMs.length - 1, Math.floor(share * overMs.length))] ?? 0);
  return {
    contender: contender.name,
    ...setting,
    authCalls: Math.max(...rotations.map(({ authCalls }) => authCalls)),
    invocations: Math.max(...rotations.map(({ invocations }) => invocations)),
    requestsPerInstance: perInstance(({ requests }) => requests),
    readUnits: perInstance(({ readUnits }) => readUnits),
    writeUnits: perInstance(({ writeUnits }) => writeUnits),
    overP50Ms: over(0.5),
    overP99Ms: over(0.99),
    overMaxMs: over(1),
    failed: sum(rotations.map(({ failed }) => failed)),
  };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

function hundredths(number: number): number {
  return Math.round(number * 100) / 100;
}
