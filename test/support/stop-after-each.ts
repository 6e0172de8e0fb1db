interface Stoppable { stop(): Promise<void> }

/** Returns a function that notes what a test has started, and stops it when the test is over, passed or failed: a server left running keeps jest from ending. */
export function stopAfterEach(): <T extends Stoppable>(started: T) => T {
  const running: Stoppable[] = [];
  afterEach(async () => {
    await Promise.all(running.splice(0).map(async started => started.stop()));
  });
  return started => {
    running.push(started);
    return started;
  };
}
