/* eslint-disable no-bitwise -- such generators are made of nothing else */

/** Integer pseudo-random numbers: the same seed gives the same run on every machine. */
export class Random {
  private state: number;

  /** Several numbers make one seed, so that each part of a run has a stream of its own and adding a part leaves the others as they were. */
  constructor(...seeds: readonly number[]) {
    let state = 0x9e3779b9;
    for (const seed of seeds) state = mix(state ^ mix(seed | 0)) + 0x9e3779b9 | 0;
    this.state = state;
  }

  /** At least 0, below 1. */
  next(): number {
    this.state = this.state + 0x6d2b79f5 | 0;
    let mixed = Math.imul(this.state ^ this.state >>> 15, 1 | this.state);
    mixed = mixed + Math.imul(mixed ^ mixed >>> 7, 61 | mixed) ^ mixed;
    return ((mixed ^ mixed >>> 14) >>> 0) / 4_294_967_296;
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** A whole number, both ends included. */
  between(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  pick<T>(choices: readonly [T, ...T[]]): T {
    return choices[Math.floor(this.next() * choices.length)] as T;
  }

  /** An exponentially distributed whole number: network delays are mostly short and now and then long. */
  around(mean: number): number {
    return Math.round(-Math.log(1 - this.next()) * mean);
  }
}

function mix(value: number): number {
  let mixed = Math.imul(value ^ value >>> 16, 0x21f0aaad);
  mixed = Math.imul(mixed ^ mixed >>> 15, 0x735a2d97);
  return mixed ^ mixed >>> 15;
}
