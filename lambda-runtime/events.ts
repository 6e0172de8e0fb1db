import type { Host } from './host';
import type { SharedTokenEvent } from './public-types';

/** Tells an event about one token; id and time are added here. */
export type Tell = (type: SharedTokenEvent['type'], details?: Omit<SharedTokenEvent, 'type' | 'tokenId' | 'at'>) => void;

/** An observer that throws must not change what happens. */
export function teller(host: Host, tokenId: string, onEvent: ((event: SharedTokenEvent) => void) | undefined): Tell {
  return (type, details) => {
    try {
      onEvent?.({ type, tokenId, at: host.now(), ...details });
    } catch {
      // The observer's own trouble.
    }
  };
}
