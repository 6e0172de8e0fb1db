import type { Kind } from './consumers-stack';
import { ConsumersWorld } from './consumers-world';
import type { Scenario } from './scenario';

/** As a token of the provider's begins, wherever it stands. */
const TOKEN = /eyJ[\w-]{20,}/;
/** A step of the protocol as the consumers log it, in text or in JSON. */
const STEP = /sharedToken\W+type\W+committed/;

/** The consumers of a file of tests. */
export interface FileOfTests {
  /** A token of its own for a test, until that is over. */
  readonly scenario: () => Promise<Scenario>;
  /** Declares the file's last test. */
  readonly testThatNothingLeaked: () => void;
}

/** Starts the world when the file's tests begin, and ends all of it when they are over, passed or failed. */
export function worldOf(kinds: readonly Kind[]): FileOfTests {
  let world: ConsumersWorld | undefined;
  const started = (): ConsumersWorld => {
    if (!world) throw new Error('The world is not there yet.');
    return world;
  };
  beforeAll(async () => { world = await ConsumersWorld.start(kinds); });
  afterEach(async () => world?.endScenario());
  afterAll(async () => world?.stop());
  return {
    scenario: async () => started().scenario(),
    testThatNothingLeaked: () => test('nothing that any function logged holds a token or a credential', async () => {
      const logs = started().logs();
      expect(STEP.test(logs)).toBe(true); // they did log
      expect((await started().item('token-1')).accessToken).toMatch(TOKEN);
      expect([TOKEN.test(logs), started().secrets().filter(secret => logs.includes(secret))]).toEqual([false, []]);
    }),
  };
}
