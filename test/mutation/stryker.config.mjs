/*
 * Mutation testing of the runtime core: `npm run mutate`, see docs/mutation.md.
 */

/** Left out: the only file that knows the SDK, types alone, and faces without a rule of their own. */
const NOT_CORE = ['dynamodb-token-store', 'public-types', 'token-store', 'errors', 'token-error', 'shared-token', 'index'];

/** In this order, until one fails: the parts alone, the runtime under the simulator's schedules, all of it in real time on the embedded table. */
const PARTS = [
  'timing', 'token-memory', 'rejection', 'refresh-failure', 'refresh-result', 'token-item', 'config', 'dynamodb-requests', 'host',
  'token-table', 'lease-holder', 'refresh-flight', 'forced-refresh-moments', 'protocol-vectors', 'decide',
];
const REAL_TIME = ['leaks', 'renewal', 'forced-refresh', 'failures', 'lease', 'shared-token', 'hard-cases'];
const fileOf = name => `test/runtime/${name}.test.ts`;

/** @type {import('@stryker-mutator/api/core').PartialStrykerOptions} */
export default {
  mutate: ['lambda-runtime/*.ts', ...NOT_CORE.map(name => `!lambda-runtime/${name}.ts`)],
  plugins: ['./test/mutation/in-process-runner.mjs'],
  testRunner: 'in-process',
  inProcess: {
    files: [...PARTS.map(fileOf), 'test/mutation/schedules.mutation.ts', ...(process.env.MUTATE_REAL_TIME ? REAL_TIME.map(fileOf) : [])],
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
