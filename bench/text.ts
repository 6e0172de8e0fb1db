import type { Measurement, Sample } from './cold-starts';
import { IMPORTS } from './functions';
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
    const differences = (of: 'init' | 'firstCall') => samples.map((sample, round) => (sample[of] ?? NaN) - (baseline.samples[round]?.[of] ?? NaN));
    const initMs = median(differences('init'));
    return [{
      node,
      variant: variant.name,
      baseline: baseline.variant.name,
      bytes: measured.bytes - baseline.bytes,
      initMs,
      initRatio: initMs / medianOf(baseline, 'init'),
      firstCallMs: median(differences('firstCall')),
    }];
  });
}

function medianOf({ samples }: Measurement, what: keyof Sample): number {
  return median(samples.map(sample => sample[what] ?? NaN));
}

/** Tables of Markdown: what each variant costs, what the shared token adds, and what imports take of that. */
export function textOf(measurements: readonly Measurement[]): string {
  const imports = measurements.filter(({ variant }) => variant === IMPORTS);
  const functions = measurements.filter(measured => !imports.includes(measured));
  return [
    table(['Node.js', 'function', 'code, kB (gzip)', 'init, ms', 'first call, ms'], functions.map(measured => [
      measured.node, measured.variant.name, `${kB(measured.bytes)} (${kB(measured.gzippedBytes)})`, ms(medianOf(measured, 'init')), ms(medianOf(measured, 'firstCall')),
    ])),
    table(['Node.js', 'function', 'against', 'code, kB', 'init, ms', 'first call, ms'], comparisons(measurements).map(compared => [
      compared.node, compared.variant, compared.baseline, signed(compared.bytes / 1_000),
      `${signed(compared.initMs)} (${signed(compared.initRatio * 100)} %)`, signed(compared.firstCallMs),
    ])),
    table(['Node.js', 'SDK, ms', 'a client of it, ms', 'then the runtime, ms', 'then `runtime/oauth`, ms'], imports.map(measured => [
      measured.node, ...(['sdk', 'client', 'runtime', 'oauth'] as const).map(what => ms(medianOf(measured, what))),
    ])),
  ].filter(text => text !== '').join('\n');
}

/** Nothing, where it would have no rows. */
function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  if (rows.length === 0) return '';
  return [head, head.map(() => '---'), ...rows].map(cells => `| ${cells.join(' | ')} |\n`).join('');
}

const ms = (value: number) => value.toFixed(1);
const kB = (bytes: number) => (bytes / 1_000).toFixed(1);
const signed = (value: number) => `${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(1)}`;
