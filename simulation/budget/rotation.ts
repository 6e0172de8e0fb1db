/** One row of the table: how many wait for what. */
export interface Setting {
  readonly instances: number;
  /** The mean of what an auth request takes. */
  readonly providerMs: number;
  /** Its coefficient of variation. */
  readonly providerCv: number;
  readonly tokenKb: number;
}

/** What one rotation of the token came to. */
export interface Rotation {
  readonly authCalls: number;
  /** Of a refresher that readers ask; 0 where they refresh themselves. */
  readonly invocations: number;
  /** All that were sent to the table, throttled ones included. */
  readonly requests: number;
  readonly readUnits: number;
  readonly writeUnits: number;
  /** For each instance that got the new token: when it had it, counted from the provider's latency after the beginning. See docs/protocol.md, "What it costs". */
  readonly overMs: readonly number[];
  /** Calls that ended with an error. */
  readonly failed: number;
}

/** An algorithm that shares a token by a table. */
export interface Contender {
  readonly name: string;
  /** One rotation. The same seed gives the same one. */
  rotate(setting: Setting, draw: Draw): Promise<Rotation>;
}

/** Which one of several rotations this is. */
export interface Draw {
  readonly seed: number;
  /** Where in its distribution the provider's latency lies, above 0 and below 1. */
  readonly quantile: number;
}

/** Instances come within this of each other: the first API call with the dead token, and the last. */
export const ARRIVALS_MS = 20;
