import { unmarshall } from '@aws-sdk/util-dynamodb';
import type { DynamoDbExchange } from '../testing-kit';

/** Writes that are remembered for each token. */
const HISTORY = 12;

interface ToldItem {
  readonly lease?: { readonly id: string; readonly since: number };
  readonly failure?: Failure;
}

interface Failure {
  readonly code: string;
  readonly count: number;
  readonly retryAt: number;
}

type Attributes = Readonly<Record<string, { readonly S?: string; readonly N?: string } | undefined>>;

/** Watches every write that the table accepted. */
export class TableWatch {
  readonly problems: string[] = [];
  writes = 0;
  /** Of each token: what its lease and failure were after the last writes. */
  private readonly histories = new Map<string, string[]>();
  /** Of each token: the leases that began since one was ended by its holder. */
  private readonly leases = new Map<string, Set<string>>();
  private readonly last = new Map<string, { readonly generation: number; readonly issue: number }>();

  history(tokenId: string): string {
    return this.histories.get(tokenId)?.join(' | ') ?? '';
  }

  hasCommitted(tokenId: string): boolean {
    return this.last.has(tokenId);
  }

  /** How many holders in a row were killed or frozen, or the last of them is at work. */
  leasesWithoutEnd(tokenId: string): number {
    return this.leases.get(tokenId)?.size ?? 0;
  }

  readonly see = ({ operation, body, reply, error }: DynamoDbExchange): void => {
    if (operation !== 'UpdateItem' || error !== undefined) return;
    this.writes++;
    const tokenId = String((body as { Key?: { tokenId?: { S?: string } } }).Key?.tokenId?.S);
    const attributes = (reply as { Attributes?: Attributes }).Attributes ?? {};
    const { generation, accessToken } = attributes;
    const { lease, failure } = unmarshall(attributes as Parameters<typeof unmarshall>[0]) as ToldItem;
    const told = `${Date.now()} gen ${generation?.N} lease ${lease ? `${lease.id.slice(0, 4)} since ${lease.since}` : '-'}, ` +
      `failure ${failure ? `${failure.code} ${failure.count} until ${failure.retryAt}` : '-'}`;
    this.histories.set(tokenId, [...this.histories.get(tokenId) ?? [], told].slice(-HISTORY));
    this.leases.set(tokenId, lease ? new Set([...this.leases.get(tokenId) ?? [], lease.id]) : new Set());
    if (generation?.N === undefined || accessToken?.S === undefined) return;
    const now = { generation: Number(generation.N), issue: Number(/(\d+)$/.exec(accessToken.S)?.[1]) };
    const before = this.last.get(tokenId);
    if (before && now.generation < before.generation) this.problems.push(`${tokenId}: generation fell from ${before.generation} to ${now.generation}`);
    if (before && now.generation > before.generation + 1) this.problems.push(`${tokenId}: generation jumped from ${before.generation} to ${now.generation}`);
    if (before && now.issue < before.issue) this.problems.push(`${tokenId}: token ${before.issue} was overwritten by the older ${now.issue}`);
    this.last.set(tokenId, now);
  };
}
