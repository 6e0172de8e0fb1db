import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/** What a worker tells of one call. */
export interface CallReport {
  readonly tokenId: string;
  readonly status?: number;
  readonly generation?: number;
  readonly code?: string;
  readonly message?: string;
}

const SKEWS_MS = [0, 0, 3_000, -3_000, 90_000, -90_000, 3_600_000, -86_400_000];

/** The processes of the soak. One that is killed is replaced, as Lambda does. */
export class Workers {
  killed = 0;
  frozen = 0;
  private readonly running = new Map<number, ChildProcess>();
  private started = 0;
  private stopping = false;

  constructor(private readonly environment: Readonly<Record<string, string>>, private readonly onReport: (pid: number, report: CallReport) => void) {}

  start(): void {
    const skew = SKEWS_MS[this.started++ % SKEWS_MS.length];
    const worker = fork(join(__dirname, 'worker.cjs'), {
      env: { PATH: process.env.PATH, ...this.environment, SOAK_CLOCK_SKEW_MS: String(skew), NODE_NO_WARNINGS: '1' },
      execArgv: [],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    const { pid } = worker;
    if (pid === undefined) throw new Error('A worker could not be started');
    this.running.set(pid, worker);
    worker.on('message', report => this.onReport(pid, report as CallReport));
    worker.on('exit', () => {
      this.running.delete(pid);
      if (!this.stopping) this.start();
    });
  }

  pids(): number[] {
    return [...this.running.keys()];
  }

  kill(pid: number): void {
    if (this.running.get(pid)?.kill('SIGKILL')) this.killed++;
  }

  /** Freezes a process, as Lambda does between invocations, and thaws it. */
  freeze(pid: number, ms: number): void {
    const worker = this.running.get(pid);
    if (!worker?.kill('SIGSTOP')) return;
    this.frozen++;
    setTimeout(() => worker.kill('SIGCONT'), ms);
  }

  /** Lets all calls end, then the processes. */
  async stop(): Promise<void> {
    this.stopping = true;
    const workers = [...this.running.values()];
    for (const worker of workers) worker.kill('SIGCONT');
    await Promise.all(workers.map(async worker => {
      const over = once(worker, 'exit');
      if (worker.connected) worker.send('stop');
      const patience = setTimeout(() => worker.kill('SIGKILL'), 30_000);
      await over;
      clearTimeout(patience);
    }));
  }
}
