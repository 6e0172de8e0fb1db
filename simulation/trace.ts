/** What happened in a run, line by line. */
export class Trace {
  readonly lines: string[] = [];
  private readonly names = new Map<string, string>();

  constructor(private readonly start: number, private readonly now: () => number) {}

  note(who: string, what: string): void {
    this.lines.push(`${String(this.now() - this.start).padStart(8)} ms  ${who.padEnd(9)} ${what}`);
  }

  /** A moment of the protocol's time, counted from the start like all else in a trace. */
  moment(at: number | undefined): string {
    return at === undefined ? '-' : String(at - this.start);
  }

  /** A short name for a lease or token: the same for the same. */
  short(name: string | undefined): string {
    if (name === undefined) return '-';
    let short = this.names.get(name);
    if (short === undefined) {
      short = name.replace(/^.*[^\w]/, '');
      this.names.set(name, short);
    }
    return short;
  }
}
