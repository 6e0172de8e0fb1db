import { setTimeout as sleep } from 'node:timers/promises';
import type { RefreshRequest, RefreshResult } from '../../lambda-runtime/public-types';

/** What a provider answers, and how. */
export interface ProviderOptions {
  readonly latencyMs?: number;
  /** Seconds; none: tokens end by rejection only. */
  readonly expiresIn?: number;
  /** Replaces the ordinary answer of the nth call, counted from 1. */
  readonly answer?: (call: number, request: RefreshRequest) => Promise<RefreshResult> | RefreshResult | undefined;
}

/** Issues `token-1`, `token-2` ... and counts how often it was asked, and how many requests it had at once. */
export class Provider {
  calls = 0;
  mostAtOnce = 0;
  private atOnce = 0;

  constructor(private readonly options: ProviderOptions = {}) {}

  readonly refresh = async (request: RefreshRequest): Promise<RefreshResult> => {
    const call = ++this.calls;
    this.mostAtOnce = Math.max(this.mostAtOnce, ++this.atOnce);
    try {
      const { latencyMs = 20, expiresIn = 3600, answer } = this.options;
      await sleep(latencyMs);
      return await answer?.(call, request) ?? { accessToken: `token-${call}`, expiresIn };
    } finally {
      this.atOnce--;
    }
  };
}
