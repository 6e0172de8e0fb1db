import type { SimulatedTime } from './simulated-process';
import type { RefreshRequest, RefreshResult } from '../../lambda-runtime/public-types';

/** How a request to the provider ends, after so long. */
export type Way = readonly [ms: number, answer: RefreshResult | Error];

/** A provider whose nth request takes so long, and ends so. The last way is that of all further requests. */
export function simulatedProvider(time: SimulatedTime, ...ways: readonly [Way, ...Way[]]) {
  const asked: { at: number; request: RefreshRequest }[] = [];
  const refresh = async (request: RefreshRequest): Promise<RefreshResult> => {
    const [ms, answer] = ways[Math.min(asked.length, ways.length - 1)] as Way;
    asked.push({ at: time.passed, request });
    await time.sleep(ms);
    if (answer instanceof Error) throw answer;
    return answer;
  };
  return { refresh, asked, moments: () => asked.map(({ at }) => at) };
}

/** An answer of it. */
export function fresh(name: string, more: Partial<RefreshResult> = {}): RefreshResult {
  return { accessToken: name, expiresIn: 3_600, ...more };
}
