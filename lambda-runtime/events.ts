import type { Host } from './host';
import type { SharedTokenEvent } from './public-types';

/** Tells an event about one token; id and time are added here. */
export type Tell = (type: SharedTokenEvent['type'], details?: Omit<SharedTokenEvent, 'type' | 'tokenId' | 'at'>) => void;

/** An observer that throws must not change what happens. */
export function teller(host: Host, tokenId: string, onEvent: ((event: SharedTokenEvent) => void) | undefined): Tell {
  return (type, details) => {
    try {
      // An observer may be asynchronous, and fail later.
      const outcome: unknown = onEvent?.({ type, tokenId, at: host.now(), ...details });
      if (outcome instanceof Promise) outcome.catch(() => undefined);
    } catch {
      // The observer's own trouble.
    }
  };
}
