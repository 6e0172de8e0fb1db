import { readdirSync } from 'node:fs';

/*
 * Mutation testing of the runtime core: `npm run mutate`, see docs/mutation.md.
 */

/** Left out: the file that knows the SDK's client for DynamoDB, types alone, and faces without a rule of their own. */
const NOT_CORE = ['dynamodb-token-store', 'public-types', 'token-store', 'errors', 'token-error', 'shared-token', 'index'];

/** These take the time that a deadline takes, on the embedded table: with MUTATE_REAL_TIME=1 a mutant that survives all else meets them, too. */
const REAL_TIME = ['renewal', 'forced-refresh', 'failures', 'providers', 'lease', 'shared-token', 'hard-cases'];
/** Quick, but slower than the others. */
const LAST = ['protocol-vectors', 'decide'];
const fileOf = name => `test/runtime/${name}.test.ts`;
const quick = readdirSync('test/runtime').filter(name => name.endsWith('.test.ts')).map(name => name.slice(0, -'.test.ts'.length))
  .filter(name => ![...REAL_TIME, ...LAST].includes(name));
/** In this order, until one fails: the parts alone and in simulated time, the vectors, the simulator's schedules, all of it in real time. */
const tests = [...[...quick, ...LAST].map(fileOf), 'test/mutation/schedules.mutation.ts', ...(process.env.MUTATE_REAL_TIME ? REAL_TIME.map(fileOf) : [])];

/** @type {import('@stryker-mutator/api/core').PartialStrykerOptions} */
export default {
  mutate: ['lambda-runtime/*.ts', ...NOT_CORE.map(name => `!lambda-runtime/${name}.ts`)],
  plugins: ['./test/mutation/in-process-runner.mjs'],
  testRunner: 'in-process',
  inProcess: {
    files: tests,
    testLimitMs: process.env.MUTATE_REAL_TIME ? 20_000 : 10_000,
  },
  coverageAnalysis: 'perTest',
  concurrency: 2,
  timeoutMS: 5_000,
  timeoutFactor: 2,
  incremental: true,
  incrementalFile: 'mutation-output/incremental.json',
  tempDirName: 'mutation-output/sandbox',
  reporters: ['clear-text', 'json', 'progress-append-only'],
  clearTextReporter: { allowColor: false, allowEmojis: false, logTests: false, reportTests: false },
  jsonReporter: { fileName: 'mutation-output/mutation.json' },
  thresholds: { high: 95, low: 90, break: 90 },
  allowConsoleColors: false,
  disableTypeChecks: false, // the tests are compiled file by file, without types
  // All that no test here needs. '/runtime' is the bundle, not the tests of that name.
  ignorePatterns: [
    '.git', 'assets', 'bench', 'cdk.out', 'coverage', 'demo', 'demo-output', 'dist', 'examples', 'lib', 'mutation-output', 'runtime', 'soak', 'test-reports', 'testing',
  ].map(folder => `/${folder}`),
};
