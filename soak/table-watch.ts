import type { DynamoDbExchange } from '../testing-kit';

type Attributes = Readonly<Record<string, { readonly S?: string; readonly N?: string } | undefined>>;

/** Watches every write that the table accepted. */
export class TableWatch {
  readonly problems: string[] = [];
  writes = 0;
  private readonly last = new Map<string, { readonly generation: number; readonly issue: number }>();

  hasCommitted(tokenId: string): boolean {
    return this.last.has(tokenId);
  }

  readonly see = ({ operation, body, reply, error }: DynamoDbExchange): void => {
    if (operation !== 'UpdateItem' || error !== undefined) return;
    this.writes++;
    const tokenId = String((body as { Key?: { tokenId?: { S?: string } } }).Key?.tokenId?.S);
    const { generation, accessToken } = (reply as { Attributes?: Attributes }).Attributes ?? {};
    if (generation?.N === undefined || accessToken?.S === undefined) return;
    const now = { generation: Number(generation.N), issue: Number(/(\d+)$/.exec(accessToken.S)?.[1]) };
    const before = this.last.get(tokenId);
    if (before && now.generation < before.generation) this.problems.push(`${tokenId}: generation fell from ${before.generation} to ${now.generation}`);
    if (before && now.generation > before.generation + 1) this.problems.push(`${tokenId}: generation jumped from ${before.generation} to ${now.generation}`);
    if (before && now.issue < before.issue) this.problems.push(`${tokenId}: token ${before.issue} was overwritten by the older ${now.issue}`);
    this.last.set(tokenId, now);
  };
}
