import { setTimeout as sleep } from 'node:timers/promises';

/** Nothing that is waited for takes as long; a machine with other things to do might. */
const PATIENCE_MS = 60_000;

/** Resolves when it is so; looks again and again. */
export async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (const endsAt = Date.now() + PATIENCE_MS; Date.now() < endsAt; await sleep(10)) {
    if (await isSo()) return;
  }
  throw new Error(`Not within ${PATIENCE_MS / 1_000} s: ${what}`);
}
