import type { WriteStream } from 'node:tty';

/** Colours, where the stream is a terminal that shows them and NO_COLOR is not set. */
export interface Paint {
  readonly good: (text: string) => string;
  readonly bad: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly bold: (text: string) => string;
}

type Output = NodeJS.WritableStream & Partial<Pick<WriteStream, 'isTTY' | 'hasColors' | 'columns'>>;

export function paintFor(output: Output): Paint {
  const colourful = output.isTTY === true && output.hasColors?.() === true;
  const paint = (code: number) => (text: string) => colourful ? `\u001b[${code}m${text}\u001b[0m` : text;
  return { good: paint(32), bad: paint(31), dim: paint(2), bold: paint(1) };
}

/** Tells a person what goes on. On the error output, so that the result alone is on the standard output. */
export class Progress {
  private readonly startedAt = Date.now();
  private readonly paint: Paint;
  private unfinishedLine = false;

  constructor(private readonly output: Output = process.stderr) {
    this.paint = paintFor(output);
  }

  /** Something happened. */
  say(text: string): void {
    this.clearLine();
    this.output.write(`${this.paint.dim(this.clock())} ${text}\n`);
  }

  /** Something goes on: one line that is written over and over, on a terminal only. */
  update(text: string): void {
    if (!this.output.isTTY) return;
    this.clearLine();
    this.output.write(this.paint.dim(`${this.clock()} ${text} ...`.slice(0, (this.output.columns ?? 80) - 1)));
    this.unfinishedLine = true;
  }

  /** Leaves the terminal clean. */
  end(): void {
    this.clearLine();
  }

  private clock(): string {
    return `${((Date.now() - this.startedAt) / 1_000).toFixed(1).padStart(5)} s`;
  }

  private clearLine(): void {
    if (this.unfinishedLine) this.output.write('\r\u001b[K');
    this.unfinishedLine = false;
  }
}
