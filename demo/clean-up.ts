/** What has to be undone, newest first, however a run ends. */
export class CleanUp {
  private readonly steps: (() => void | Promise<void>)[] = [];
  private done: Promise<void> | undefined;

  add(step: () => void | Promise<void>): void {
    this.steps.push(step);
  }

  /** Notes that what was started has to be stopped, and returns it. */
  stopLater<T extends { stop(): Promise<void> }>(started: T): T {
    this.add(async () => started.stop());
    return started;
  }

  /** Does it once; whoever asks again waits for the same. */
  async run(): Promise<void> {
    this.done ??= (async () => {
      for (const step of this.steps.reverse()) await Promise.resolve().then(step).catch(() => undefined);
    })();
    return this.done;
  }
}
