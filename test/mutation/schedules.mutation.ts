import { runSeeds } from '../../simulation/campaign';
import { explore, SMALLEST_WORLDS } from '../../simulation/exhaustive';
import { withLightAbort } from '../../simulation/light-abort';
import { realRuntime } from '../../simulation/runtime';
import type { Subject } from '../../simulation/world';

/*
 * The promises of the protocol under random schedules: few enough for each mutant to meet them. `test/simulation` tries more.
 */

const CHUNK = 40;
const CHUNKS = 8;
/** An instance of these schedules asks its host some hundred times. One that goes round in circles shall fail now, not by Stryker's timeout. */
const MOST_QUESTIONS = 50_000;

/** The runtime on hosts that notice an endless loop. */
const subject: Subject = {
  runtime: realRuntime,
  wrapHost: host => {
    let questions = 0;
    const counted = <T extends unknown[], R>(answer: (...given: T) => R) => (...given: T): R => {
      if (++questions > MOST_QUESTIONS) throw new Error('This instance goes round in circles');
      return answer(...given);
    };
    return { ...host, now: counted(() => host.now()), monotonic: counted(() => host.monotonic()) };
  },
};

// jest goes on with the tests of a file after one has failed; a mutant is dead then.
let hasFailed = false;
beforeEach(() => {
  if (hasFailed) throw new Error('One that failed is enough');
  hasFailed = true;
});

test.each(Array.from({ length: CHUNKS }, (_, chunk) => chunk * CHUNK + 1))(`no promise is broken in ${CHUNK} runs from seed %d on`, async firstSeed => {
  expect((await runSeeds({ firstSeed, runs: CHUNK, subject, until: () => true })).failed).toEqual([]);
  hasFailed = false;
});

test.each(SMALLEST_WORLDS.slice(0, 1))('every schedule of the smallest world keeps every promise: %j', async world => {
  expect((await withLightAbort(async () => explore(world, subject))).violation).toBeUndefined();
  hasFailed = false;
});
