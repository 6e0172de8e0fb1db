/**
 * All ways through a program that makes choices: run after run takes the next one, depth first. The program must make the same choices as before until it
 * comes to the one that is taken otherwise.
 */
export class ChoiceTree {
  private path: { chosen: number; readonly options: number }[] = [];
  private depth = 0;

  /** One of so many, counted from 0. */
  choose(options: number): number {
    const known = this.path[this.depth++];
    if (known === undefined) {
      this.path.push({ chosen: 0, options });
      return 0;
    }
    if (known.options !== options) throw new Error('The program chooses among other options than the last time: it is not deterministic');
    return known.chosen;
  }

  /** Goes back to the last choice that is not exhausted. False: there is none, all ways have been taken. */
  next(): boolean {
    this.depth = 0;
    while (this.path.length > 0) {
      const last = this.path[this.path.length - 1] as { chosen: number; options: number };
      if (++last.chosen < last.options) return true;
      this.path.pop();
    }
    return false;
  }

  /** Begins the present way again. */
  rewind(): void {
    this.depth = 0;
  }

  /** The present way, for people. */
  toString(): string {
    return this.path.map(({ chosen }) => chosen).join('.');
  }
}
