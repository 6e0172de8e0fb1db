import type { Paint } from './progress';
import type { RotationSummary, StartSummary } from './rotation-summary';

/** The result of a run, as `--json` prints it. */
export interface JsonReport {
  readonly instances: number;
  readonly rotations: readonly {
    readonly authCalls: number;
    readonly killedHolder: boolean;
    readonly requests: number;
    readonly failedRequests: number;
    readonly halfMs: number | null;
    readonly allMs: number | null;
  }[];
  /** Path of the picture, relative to the current folder. */
  readonly timeline: string;
  readonly ok: boolean;
}

export function jsonReport(instances: number, rotations: readonly RotationSummary[], timeline: string, ok: boolean): JsonReport {
  return {
    instances,
    rotations: rotations.map(({ authCalls, killedHolder, requests, failedRequests, halfMs, allMs }) => ({
      authCalls, killedHolder, requests, failedRequests, halfMs: halfMs ?? null, allMs: allMs ?? null,
    })),
    timeline,
    ok,
  };
}

const HEADINGS = ['rotation', 'auth calls', 'requests', 'rejected once', 'failed', 'half had it after', 'all had it after', 'takeover'];

/** One line per rotation, for people. */
export function tableReport(start: StartSummary, rotations: readonly RotationSummary[], paint: Paint): string {
  const rows = [
    ['start', String(start.authCalls), String(start.requests), '-', String(start.failedRequests), '-', '-', '-'],
    ...rotations.map((rotation, index) => [
      String(index + 1),
      String(rotation.authCalls),
      String(rotation.requests),
      String(rotation.rejectedOnce),
      String(rotation.failedRequests),
      milliseconds(rotation.halfMs),
      milliseconds(rotation.allMs),
      takeoverText(rotation),
    ]),
  ];
  const widths = HEADINGS.map((heading, column) => Math.max(heading.length, ...rows.map(row => row[column].length)));
  const line = (cells: readonly string[]): string => cells.map((cell, column) => column === cells.length - 1 ? cell : cell.padStart(widths[column])).join('   ');
  return [
    paint.bold(line(HEADINGS)),
    ...rows.map(row => row[4] === '0' ? line(row) : paint.bad(line(row))),
    ...notes(rotations).map(paint.dim),
  ].join('\n');
}

function takeoverText({ killedHolder, takeoverMs }: RotationSummary): string {
  if (!killedHolder) return '-';
  return takeoverMs === undefined ? 'none: the killed holder\'s token had been stored' : `${milliseconds(takeoverMs)} after the kill`;
}

function notes(rotations: readonly RotationSummary[]): string[] {
  const lost = rotations.reduce((sum, { lostRequests }) => sum + lostRequests, 0);
  return lost === 0 ? [] : [`${lost} request${lost === 1 ? ' was' : 's were'} lost with the killed instance, as Lambda loses what a dying environment works on.`];
}

function milliseconds(ms: number | undefined): string {
  return ms === undefined ? 'never' : `${ms.toLocaleString('en')} ms`;
}
