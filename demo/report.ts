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
    /** How often the refresher was invoked. Only in the mode `refresher`. */
    readonly invocations?: number;
  }[];
  /** Path of the picture, relative to the current folder. */
  readonly timeline: string;
  readonly ok: boolean;
}

export function jsonReport(instances: number, rotations: readonly RotationSummary[], timeline: string, ok: boolean): JsonReport {
  return {
    instances,
    rotations: rotations.map(({ authCalls, killedHolder, requests, failedRequests, halfMs = null, allMs = null, invocations }) => {
      const rotation = { authCalls, killedHolder, requests, failedRequests, halfMs, allMs };
      return invocations === undefined ? rotation : { ...rotation, invocations };
    }),
    timeline,
    ok,
  };
}

interface Column {
  readonly heading: string;
  readonly atStart: string;
  readonly of: (rotation: RotationSummary, index: number) => string;
}

function columns(start: StartSummary): Column[] {
  return [
    { heading: 'rotation', atStart: 'start', of: (_, index) => String(index + 1) },
    { heading: 'auth calls', atStart: String(start.authCalls), of: ({ authCalls }) => String(authCalls) },
    ...start.invocations === undefined ? [] : [
      { heading: 'invocations', atStart: String(start.invocations), of: ({ invocations }: RotationSummary) => String(invocations) },
    ],
    { heading: 'requests', atStart: String(start.requests), of: ({ requests }) => String(requests) },
    { heading: 'rejected once', atStart: '-', of: ({ rejectedOnce }) => String(rejectedOnce) },
    { heading: 'failed', atStart: String(start.failedRequests), of: ({ failedRequests }) => String(failedRequests) },
    { heading: 'half had it after', atStart: '-', of: ({ halfMs }) => milliseconds(halfMs) },
    { heading: 'all had it after', atStart: '-', of: ({ allMs }) => milliseconds(allMs) },
    { heading: 'takeover', atStart: '-', of: takeoverText },
  ];
}

/** One line per rotation, for people. */
export function tableReport(start: StartSummary, rotations: readonly RotationSummary[], paint: Paint): string {
  const cells = columns(start).map(({ heading, atStart, of }) => [heading, atStart, ...rotations.map(of)]);
  const widths = cells.map(column => Math.max(...column.map(cell => cell.length)));
  const line = (row: number): string =>
    cells.map((column, index) => index === cells.length - 1 ? column[row] : column[row].padStart(widths[index])).join('   ');
  return [
    paint.bold(line(0)),
    ...[start, ...rotations].map(({ failedRequests }, index) => failedRequests === 0 ? line(index + 1) : paint.bad(line(index + 1))),
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
