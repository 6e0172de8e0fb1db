import type { Fault, FaultDecision } from '../testing-kit';

const THROTTLED = { kind: 'error', type: 'ProvisionedThroughputExceededException' } as const;

/** How often each fault is met, per mille of all requests. */
const RATES: readonly (readonly [perMille: number, fault: () => Fault])[] = [
  [20, () => ({ kind: 'dropAfter' })],
  [10, () => ({ kind: 'dropBefore' })],
  [10, () => ({ kind: 'failAfter' })],
  [10, () => ({ kind: 'truncate' })],
  [30, () => THROTTLED],
  [20, () => ({ kind: 'delayAfter', ms: Math.random() * 400 })],
  [20, () => ({ kind: 'delayBefore', ms: Math.random() * 400 })],
  [3, () => ({ kind: 'stall' })],
];

/** Something goes wrong with every eighth request to the table. */
export const randomFaults: FaultDecision = () => {
  let chance = Math.random() * 1000;
  for (const [perMille, fault] of RATES) {
    chance -= perMille;
    if (chance < 0) return fault();
  }
  return undefined;
};
