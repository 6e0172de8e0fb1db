import type { RotationSummary } from './rotation-summary';
import { type Instance, REFRESHER, type RunLog } from './run-log';
import { lanesOf, panelsOf, type Lane, type Mark, type Panel, type Span } from './timeline-model';

const MARGIN = 24;
const LABEL_WIDTH = 92;
const PANEL_GAP = 22;
const HEAD_HEIGHT = 128;
const PANEL_HEAD_HEIGHT = 62;
const FOOT_HEIGHT = 58;

const INK = '#1f2933';
const FAINT_INK = '#66727f';
const TOKEN_COLOURS = ['#94cfac', '#9cc3ee', '#eeb98a', '#8fd6d6', '#d9b3e6', '#ddd07c'] as const;
const COLOUR = {
  'wait': '#ffe08a',
  'lease': '#b7a2ea',
  'orphaned-lease': 'url(#orphaned)',
  'auth-call': '#1d4ed8',
  'look': '#8a5a00',
  'rejected': '#c81e1e',
  'adopted': '#14663a',
  'asked': '#0e7490',
  'invoked': '#0e7490',
  'killed': '#c81e1e',
  'replaced': '#14663a',
  'revocation': '#c81e1e',
} as const;

interface Placed extends Panel {
  readonly x: number;
  readonly width: number;
}

interface Stripe {
  readonly y: number;
  readonly height: number;
}

/** Draws what happened: a lane per instance, a panel per rotation. A page of its own, without scripts or fonts from elsewhere. */
export function timelineSvg(log: RunLog, rotations: readonly RotationSummary[], instances: number): string {
  const panels = place(panelsOf(log, rotations));
  const laneHeight = instances <= 40 ? 18 : instances <= 100 ? 11 : 8;
  const top = MARGIN + HEAD_HEIGHT + PANEL_HEAD_HEIGHT;
  const lanes = lanesOf(log, instances);
  const hasRefresher = log.refresherInvocations !== undefined;
  // Below the refresher's lane is room for its invocations.
  const yOf = (row: number): number => top + row * laneHeight + (hasRefresher && row > 0 ? laneHeight / 2 : 0);
  const bottom = yOf(lanes.length);
  const stripes = lanes.flatMap((_, row): Stripe[] => row % 2 === 0 ? [{ y: yOf(row), height: laneHeight }] : []);
  const last = panels[panels.length - 1];
  const width = Math.max(last.x + last.width + MARGIN, 1_080);
  const height = bottom + FOOT_HEIGHT;
  const authCalls = rotations.reduce((sum, rotation) => sum + rotation.authCalls, 0);
  const title = `${plural(instances, 'instance')}, one shared token, revoked ${rotations.length === 1 ? 'once' : `${rotations.length} times`}: `
    + `${plural(authCalls, 'auth call')} after the first${rotations.some(({ killedHolder }) => killedHolder) ? ' (2 where the holder was killed)' : ''}`;
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img"`,
    ' font-family="system-ui, -apple-system, \'Segoe UI\', \'DejaVu Sans\', sans-serif">',
    `<title>${escape(title)}</title>`,
    '<defs><pattern id="orphaned" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">',
    '<rect width="6" height="6" fill="#f1ecfd"/><rect width="2.5" height="6" fill="#7a5bd0"/></pattern></defs>',
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    text(MARGIN, MARGIN + 20, title, { size: 21, weight: 'bold' }),
    text(MARGIN, MARGIN + 43, `Each lane is one function environment. At the red line the provider revokes the token: ${hasRefresher
      ? 'a few instances ask the refresher, which fetches the next one, and all'
      : 'one instance fetches the next one,'} the others wait for it and take it up.`, { size: 13, fill: FAINT_INK }),
    legend(MARGIN, MARGIN + 66, width - MARGIN, hasRefresher),
    ...panels.map(panel => panelBackground(panel, top, bottom, stripes)),
    ...lanes.map((lane, row) => laneSvg(lane, yOf(row), laneHeight, panels)),
    ...panels.map(panel => revocationLine(panel, top, bottom)),
    ...captions(log, panels, instance => yOf(lanes.findIndex(lane => lane.instance === instance)) + 0.5 * laneHeight),
    text(MARGIN, height - 12, 'Each panel has its own time scale; the quiet seconds between two rotations are left out.', { size: 11, fill: FAINT_INK }),
    '</svg>',
  ].join('\n')}\n`;
}

/** Puts the panels side by side; the one with the long wait for a dead holder's lease is wider. */
function place(panels: readonly Panel[]): Placed[] {
  let x = MARGIN + LABEL_WIDTH;
  return panels.map((panel) => {
    const width = panel.killedHolder ? 440 : 270;
    const placed = { ...panel, x, width };
    x += width + PANEL_GAP;
    return placed;
  });
}

function xOf(panel: Placed, at: number): number {
  return panel.x + (at - panel.from) / (panel.to - panel.from) * panel.width;
}

function panelBackground(panel: Placed, top: number, bottom: number, stripes: readonly Stripe[]): string {
  const ticks = ticksOf(panel).map(({ at, label }) => {
    const x = xOf(panel, at);
    return `<line x1="${n(x)}" x2="${n(x)}" y1="${top}" y2="${bottom + 4}" stroke="#dde3e8" stroke-width="1"/>`
      + text(x, bottom + 18, label, { size: 11, fill: FAINT_INK, anchor: 'middle' });
  });
  return '<g class="panel">'
    + text(panel.x, top - 40, panel.title, { size: 15, weight: 'bold', fill: panel.killedHolder ? COLOUR.killed : INK })
    + text(panel.x, top - 22, panel.subtitle, { size: 12, fill: FAINT_INK })
    + stripes.map(({ y, height }) => rect(panel.x, y, panel.width, height, '#f5f7f9')).join('') + ticks.join('')
    + `<rect x="${panel.x}" y="${top}" width="${panel.width}" height="${bottom - top}" fill="none" stroke="#c5ced6"/>`
    + '</g>';
}

function revocationLine(panel: Placed, top: number, bottom: number): string {
  if (panel.zeroIs === 'start') return '';
  const x = n(xOf(panel, panel.zero));
  return `<g class="revocation"><line x1="${x}" x2="${x}" y1="${top - 10}" y2="${bottom}" stroke="${COLOUR.revocation}" stroke-width="2"/>`
    + `<path d="M${x} ${top} l-5 -11 h10 z" fill="${COLOUR.revocation}"/></g>`;
}

/** Round moments, about five of them. */
function ticksOf(panel: Panel): { readonly at: number; readonly label: string }[] {
  const wanted = (panel.to - panel.zero) / 5;
  const power = 10 ** Math.floor(Math.log10(wanted));
  const step = [1, 2, 5, 10].map(factor => factor * power).find(size => size >= wanted) ?? wanted;
  return Array.from({ length: Math.floor((panel.to - panel.zero) / step) + 1 }, (_, index) => {
    const ms = Math.round(index * step);
    return { at: panel.zero + ms, label: ms === 0 ? '0' : panel.to - panel.zero >= 1_000 ? `${ms / 1_000} s` : `${ms} ms` };
  });
}

function laneSvg(lane: Lane, y: number, height: number, panels: readonly Placed[]): string {
  const parts = panels.flatMap(panel => [
    ...inDrawingOrder(lane.spans).filter(({ from, to }) => to >= panel.from && from <= panel.to).map(span => spanSvg(span, panel, y, height)),
    ...lane.marks.filter(({ at }) => at >= panel.from && at <= panel.to).map(mark => markSvg(mark, xOf(panel, mark.at), y, height)),
  ]);
  const isRefresher = lane.instance === REFRESHER;
  const label = text(MARGIN + LABEL_WIDTH - 10, y + height / 2 + Math.min(11, height - 1) * 0.35, isRefresher ? REFRESHER : `instance ${lane.instance}`,
    { size: Math.min(11, height - 1), fill: isRefresher ? INK : FAINT_INK, anchor: 'end', ...(isRefresher && { weight: 'bold' }) });
  return `<g class="lane" id="${isRefresher ? REFRESHER : `instance-${lane.instance}`}">${label}${parts.join('')}</g>`;
}

/** Which part of the lane's height a span takes, and in which order they are drawn: a token fills the lane, a wait is thin, later ones lie on top. */
const BAND: Record<Span['kind'], readonly [offset: number, size: number]> = {
  'token': [0.1, 0.8],
  'wait': [0.36, 0.28],
  'orphaned-lease': [0.52, 0.42],
  'lease': [0.1, 0.8],
  'auth-call': [0.28, 0.44],
};
const DRAWING_ORDER = Object.keys(BAND);

function inDrawingOrder(spans: readonly Span[]): Span[] {
  return [...spans].sort((a, b) => DRAWING_ORDER.indexOf(a.kind) - DRAWING_ORDER.indexOf(b.kind));
}

function spanSvg(span: Span, panel: Placed, y: number, height: number): string {
  const from = Math.max(panel.x, xOf(panel, span.from));
  const to = Math.min(panel.x + panel.width, xOf(panel, span.to));
  const [offset, size] = BAND[span.kind];
  const fill = span.kind === 'token' ? tokenColour(span.generation) : COLOUR[span.kind];
  return rect(from, y + offset * height, Math.max(1, to - from), size * height, fill, spanNote(span));
}

function spanNote({ kind, from, to, generation }: Span): string {
  const ms = `${Math.round(to - from)} ms`;
  if (kind === 'token') return `token ${generation ?? '?'}`;
  if (kind === 'wait') return `waits ${ms} for another's refresh`;
  if (kind === 'lease') return `holds the lease for ${ms}`;
  if (kind === 'auth-call') return `auth call, ${ms}`;
  return `the dead holder's lease, taken over after ${ms}`;
}

function markSvg({ kind }: Mark, x: number, y: number, height: number): string {
  const middle = y + height / 2;
  const r = Math.min(4, height * 0.3);
  if (kind === 'look') return rect(x - 0.6, y + 0.26 * height, 1.2, 0.48 * height, COLOUR.look);
  if (kind === 'rejected') return rect(x - 1, y + 0.1 * height, 2, 0.8 * height, COLOUR.rejected, 'rejected by the API');
  if (kind === 'invoked') return rect(x - 0.8, y + 0.98 * height, 1.6, 0.44 * height, COLOUR.invoked, 'the refresher is invoked');
  if (kind === 'asked') {
    return `<path d="M${n(x - r)} ${n(middle + r)} l${n(r)} ${n(-2 * r)} l${n(r)} ${n(2 * r)} z" fill="${COLOUR.asked}"><title>asks the refresher</title></path>`;
  }
  if (kind === 'adopted') return `<circle cx="${n(x)}" cy="${n(middle)}" r="${n(r)}" fill="${COLOUR.adopted}"><title>has the new token</title></circle>`;
  if (kind === 'replaced') {
    return `<path d="M${n(x - r)} ${n(middle - r)} l${n(2 * r)} ${n(r)} l${n(-2 * r)} ${n(r)} z" fill="${COLOUR.replaced}"><title>new process</title></path>`;
  }
  const k = Math.min(8, height * 0.5);
  return `<path d="M${n(x - k)} ${n(middle - k)} l${n(2 * k)} ${n(2 * k)} m0 ${n(-2 * k)} l${n(-2 * k)} ${n(2 * k)}" stroke="${COLOUR.killed}" stroke-width="3.5"`
    + ' stroke-linecap="round"><title>killed</title></path>';
}

/** Says in words what happened to the killed holder, since that is what the eye looks for. */
function captions(log: RunLog, panels: readonly Placed[], middleOf: (instance: Instance) => number): string[] {
  const moments = [
    ...log.kills.map(({ instance, at }) => ({ instance, at, words: 'killed in its auth call', anchor: 'start' as const, aside: 14 })),
    ...log.events.filter(({ type, takeover }) => type === 'claimed' && takeover)
      .map(({ instance, at }) => ({ instance, at, words: 'takes over', anchor: 'end' as const, aside: -8 })),
  ];
  return moments.flatMap(({ instance, at, words, anchor, aside }) => panels.filter(({ from, to }) => at >= from && at <= to)
    .map(panel => text(xOf(panel, at) + aside, middleOf(instance) + 4, words, { size: 12, weight: 'bold', fill: INK, anchor, halo: 'white' })));
}

function tokenColour(generation: number | undefined): string {
  return TOKEN_COLOURS[((generation ?? 1) - 1) % TOKEN_COLOURS.length];
}

/** Explains the picture with its own shapes, in as many rows as it takes. */
function legend(x: number, top: number, right: number, hasRefresher: boolean): string {
  const height = 18;
  let y = top;
  const sample = (kind: Span['kind'], width: number, left: number): string => rect(left, y + BAND[kind][0] * height, width, BAND[kind][1] * height,
    kind === 'token' ? TOKEN_COLOURS[0] : COLOUR[kind]);
  const look = (left: number): string => markSvg({ kind: 'look', at: 0 }, left, y, height);
  const tokens = TOKEN_COLOURS.slice(0, 4);
  const items: readonly { readonly label: string; readonly width: number; readonly draw: (left: number) => string }[] = [
    { label: 'holds a token (one colour each)', width: 44, draw: left => tokens.map((fill, i) => rect(left + i * 11, y + 2, 11, 14, fill)).join('') },
    { label: 'rejected by the API', width: 8, draw: left => markSvg({ kind: 'rejected', at: 0 }, left + 4, y, height) },
    { label: 'lease', width: 26, draw: left => sample('lease', 26, left) },
    { label: 'auth call', width: 34, draw: left => sample('lease', 34, left) + sample('auth-call', 26, left + 4) },
    { label: 'waits (tick: a look at the table)', width: 40, draw: left => sample('wait', 40, left) + look(left + 22) + look(left + 34) },
    ...hasRefresher ? [
      { label: 'asks the refresher', width: 10, draw: (left: number) => markSvg({ kind: 'asked', at: 0 }, left + 5, y, height) },
      { label: 'the refresher is invoked', width: 4, draw: (left: number) => markSvg({ kind: 'invoked', at: 0 }, left + 2, y - 0.7 * height, height) },
    ] : [],
    { label: 'has the new token', width: 10, draw: left => markSvg({ kind: 'adopted', at: 0 }, left + 5, y, height) },
    { label: 'killed', width: 18, draw: left => markSvg({ kind: 'killed', at: 0 }, left + 9, y, height) },
    { label: 'dead holder\'s lease', width: 34, draw: left => sample('orphaned-lease', 34, left) },
    { label: 'new process', width: 10, draw: left => markSvg({ kind: 'replaced', at: 0 }, left + 5, y, height) },
  ];
  let left = x;
  const drawn = items.map(({ label, width, draw }) => {
    if (left + width + label.length * 6.4 > right) [left, y] = [x, y + 24];
    const item = draw(left) + text(left + width + 6, y + 13, label, { size: 12 });
    left += width + 6 + label.length * 6.4 + 14;
    return item;
  });
  return `<g class="legend">${drawn.join('')}</g>`;
}

interface TextStyle {
  readonly size: number;
  readonly fill?: string;
  readonly weight?: 'bold';
  readonly anchor?: 'start' | 'middle' | 'end';
  /** A border around the letters, where they lie on other things. */
  readonly halo?: 'white';
}

function text(x: number, y: number, content: string, { size, fill = INK, weight, anchor, halo }: TextStyle): string {
  const attributes = `${weight ? ` font-weight="${weight}"` : ''}${anchor ? ` text-anchor="${anchor}"` : ''}`
    + (halo ? ` stroke="${halo}" stroke-width="4" stroke-linejoin="round" paint-order="stroke"` : '');
  return `<text x="${n(x)}" y="${n(y)}" font-size="${n(size)}" fill="${fill}"${attributes}>${escape(content)}</text>`;
}

function rect(x: number, y: number, width: number, height: number, fill: string, note?: string): string {
  const box = `<rect x="${n(x)}" y="${n(y)}" width="${n(width)}" height="${n(height)}" fill="${fill}"`;
  return note === undefined ? `${box}/>` : `${box}><title>${escape(note)}</title></rect>`;
}

/** A tenth of a pixel is enough. */
function n(value: number): string {
  return String(Math.round(value * 10) / 10);
}

function plural(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

function escape(content: string): string {
  return content.replace(/[&<>"]/g, character => `&#${character.charCodeAt(0)};`);
}
