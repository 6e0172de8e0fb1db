import type { Measurement } from './cold-starts';
import type { NodeMajor } from '../local-aws/lambda/environment-variables';

/** Half of the samples are less. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] ?? NaN) + (sorted[Math.floor(middle)] ?? NaN)) / 2;
}

/** A variant against its baseline: medians of the differences within each round. */
export interface Comparison {
  readonly node: NodeMajor;
  readonly variant: string;
  readonly baseline: string;
  readonly bytes: number;
  readonly initMs: number;
  /** Of `initMs`: this much more for each millisecond of the baseline's. */
  readonly initRatio: number;
  readonly firstCallMs: number;
}

export function comparisons(measurements: readonly Measurement[]): Comparison[] {
  return measurements.flatMap(measured => {
    const { node, variant, samples } = measured;
    const baseline = measurements.find(other => other.node === node && other.variant.name === variant.baseline);
    if (!baseline) return [];
    const differences = (of: 'init' | 'firstCall') => samples.map((sample, round) => sample[of] - (baseline.samples[round]?.[of] ?? NaN));
    const initMs = median(differences('init'));
    return [{
      node,
      variant: variant.name,
      baseline: baseline.variant.name,
      bytes: measured.bytes - baseline.bytes,
      initMs,
      initRatio: initMs / median(baseline.samples.map(({ init }) => init)),
      firstCallMs: median(differences('firstCall')),
    }];
  });
}

/** Two tables of Markdown: what each variant costs, and what the shared token adds. */
export function textOf(measurements: readonly Measurement[]): string {
  return [
    '| Node.js | function | code, kB (gzip) | init, ms | first call, ms |',
    '|---|---|---|---|---|',
    ...measurements.map(({ node, variant, bytes, gzippedBytes, samples }) =>
      `| ${node} | ${variant.name} | ${kB(bytes)} (${kB(gzippedBytes)}) | ${ms(median(samples.map(({ init }) => init)))} | ${ms(median(samples.map(({ firstCall }) => firstCall)))} |`),
    '',
    '| Node.js | function | against | code, kB | init, ms | first call, ms |',
    '|---|---|---|---|---|---|',
    ...comparisons(measurements).map(({ node, variant, baseline, bytes, initMs, initRatio, firstCallMs }) =>
      `| ${node} | ${variant} | ${baseline} | ${signed(bytes / 1_000)} | ${signed(initMs)} (${signed(initRatio * 100)} %) | ${signed(firstCallMs)} |`),
    '',
  ].join('\n');
}

const ms = (value: number) => value.toFixed(1);
const kB = (bytes: number) => (bytes / 1_000).toFixed(1);
const signed = (value: number) => `${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(1)}`;
