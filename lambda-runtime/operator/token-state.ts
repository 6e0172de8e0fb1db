import { coolDownLeft, leaseEndsIn } from '../timing';
import { momentOf, printable, type TokenItem } from '../token-item';

/** How a token fares, as an operator may know it: never the token. Moments are milliseconds since the epoch, by the table's clock. */
export interface SharedTokenState {
  readonly tokenId: string;
  /** When it was looked at. */
  readonly at: number;
  /** 1, 2, 3 ... with each token that was fetched; absent where none was, or the item has vanished. */
  readonly generation: number | undefined;
  /** When the request that brought the token was started. */
  readonly issuedAt: number | undefined;
  /** Absent where the provider gives none: then the token is used until the API refuses it. */
  readonly expiresAt: number | undefined;
  /** Who is refreshing, or was when it died; absent where nobody is. */
  readonly lease: {
    /** Of this lease alone: by it `endLease` knows the one that was seen. */
    readonly id: string;
    /** Function name and request id. */
    readonly holder: string;
    /** When it was taken. */
    readonly since: number;
    /** When it ends. */
    readonly until: number;
    /** Is it over, so that the next who needs a token takes it? */
    readonly isOver: boolean;
  } | undefined;
  /** The last refresh, where it failed. */
  readonly failure: {
    /** The provider's, or one of this library's. */
    readonly code: string;
    /** How many failed in a row. */
    readonly count: number;
    /** When it failed. */
    readonly at: number;
    /** Nobody tries again before. */
    readonly retryAt: number;
    /** Of a refresh that nobody needed: it keeps nobody from one that somebody does. */
    readonly isForced: boolean;
  } | undefined;
  /** What the token came from, where a refresher said so: provider and settings. */
  readonly source: string | undefined;
  /** All of it in one line, for people. */
  readonly summary: string;
}

/** What a look brought. */
export interface Look {
  readonly item: TokenItem | undefined;
  /** Of the token, whose item is read without it. */
  readonly expiresAt: number | undefined;
  readonly at: number;
}

/** Pure: what a look brought in, what an operator may know out. */
export function stateOf(tokenId: string, { item = {}, expiresAt, at }: Look): SharedTokenState {
  const { base, lease, failure, meta } = item;
  const facts: Omit<SharedTokenState, 'summary'> = {
    tokenId,
    at,
    generation: base?.generation,
    issuedAt: base?.issuedAt,
    expiresAt: base && expiresAt,
    lease: lease && { id: lease.id, holder: lease.holder, since: lease.since, until: lease.until, isOver: leaseEndsIn(lease, at, 0) <= 0 },
    failure: failure && { code: failure.code, count: failure.count, at: failure.at, retryAt: failure.retryAt, isForced: failure.forced === true },
    source: meta?.source === undefined ? undefined : printable(meta.source),
  };
  const summary = [tokenIn(facts), leaseIn(facts), failure && failureIn(facts, coolDownLeft(failure, at)), facts.source && `It came from ${facts.source}.`];
  return { ...facts, summary: summary.filter(Boolean).join(' ') };
}

type Facts = Omit<SharedTokenState, 'summary'>;

function tokenIn({ at, generation, issuedAt = NaN, expiresAt }: Facts): string {
  if (generation === undefined) return 'No token is stored.';
  const end = expiresAt === undefined ? 'without an expiry' : expiresAt <= at ? `expired ${span(at - expiresAt)} ago` : `expires in ${span(expiresAt - at)}`;
  return `Generation ${generation}, issued ${span(at - issuedAt)} ago, ${end}.`;
}

function leaseIn({ at, lease }: Facts): string {
  if (!lease) return 'Nobody is refreshing it.';
  const holder = lease.holder || 'Somebody';
  return lease.isOver
    ? `${holder} began to refresh it ${span(at - lease.since)} ago and never ended: the next who needs a token takes over.`
    : `${holder} has been refreshing it for ${span(at - lease.since)}, until ${momentOf(lease.until)} at the latest.`;
}

function failureIn({ failure }: Facts, leftMs: number): string {
  const what = `The last refresh${failure?.isForced ? ', which nobody needed,' : ''} failed (${failure?.code}, no. ${failure?.count} in a row)`;
  return leftMs > 0 ? `${what}: the next is tried in ${span(leftMs)} at the earliest.` : `${what}: the next may be tried.`;
}

const UNITS = [['s', 1_000, 90], ['min', 60_000, 90], ['h', 3_600_000, 48], ['days', 86_400_000, Infinity]] as const;

/** A duration in the unit that people would take. */
function span(ms: number): string {
  const known = Math.max(0, ms);
  const [unit, unitMs] = UNITS.find(([, size, limit]) => known / size < limit) ?? UNITS[3];
  return `${Math.round(known / unitMs)} ${unit}`;
}

/** Is it what `stateOf` made of this token, as it is or as JSON kept it? By what writes go by. */
export function isStateOf(tokenId: string, seen: unknown): seen is SharedTokenState {
  const { tokenId: of, at, generation, issuedAt, expiresAt, lease, failure } = Object(seen) as Partial<SharedTokenState>;
  return of === tokenId && isMoment(at)
    && (generation === undefined ? issuedAt === undefined : isMoment(generation) && isMoment(issuedAt))
    && (expiresAt === undefined || isMoment(expiresAt))
    && (lease === undefined || (typeof Object(lease).id === 'string' && isMoment(lease.until)))
    && (failure === undefined || (isMoment(Object(failure).at) && isMoment(failure.count)));
}

function isMoment(value: unknown): value is number {
  return Number.isFinite(value);
}
