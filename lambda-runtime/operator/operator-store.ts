import type { OperatorRequest } from '../dynamodb-requests';

/** The port to the table for operators: every operation is one request, and none brings a token. */
export interface OperatorStore {
  /** Strongly consistent, of what an operator may see. */
  look(tokenId: string, signal: AbortSignal): Promise<Readonly<Record<string, unknown>> | undefined>;
  /** @returns false where the item is not as it was seen, and so was left as it is */
  mend(tokenId: string, requestOf: (table: string, tokenId: string) => OperatorRequest, signal: AbortSignal): Promise<boolean>;
}
