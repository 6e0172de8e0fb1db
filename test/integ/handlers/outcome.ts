import type { Outcome } from './probes';
import type { SharedTokenError } from '../../../lambda-runtime';

/** How AWS says that a policy is in the way. */
const DENIALS = ['AccessDeniedException', 'AccessDenied', 'KMSAccessDeniedException'];

/** Makes a call, and tells how it ended. Never rejects. */
export async function outcomeOf(call: () => Promise<unknown>): Promise<Outcome> {
  try {
    await call();
    return 'allowed';
  } catch (error) {
    return judge(error as Error);
  }
}

function judge(error: Error): Outcome {
  if (DENIALS.includes(error.name) || (error as SharedTokenError).code === 'ACCESS_DENIED') return 'denied';
  if (error.name === 'ConditionalCheckFailedException') return 'Item' in error && error.Item ? 'old item' : 'no old item';
  return `failed: ${error.name}: ${error.message.slice(0, 80)}`;
}
