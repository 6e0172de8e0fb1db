const everyday = require('../../jest.config.json');

/**
 * The settings of jest for a suite that needs more than `npm ci`, and so has a command of its own: the everyday ones, for the tests of one folder.
 *
 * @param {string} folder below `test/`
 */
module.exports = folder => ({
  ...everyday,
  rootDir: '../..',
  testMatch: [`<rootDir>/test/${folder}/**/*.test.ts`],
  testPathIgnorePatterns: ['/node_modules/'],
  testTimeout: 300_000,
  reporters: ['default', ['jest-junit', { outputDirectory: 'test-reports', outputName: `${folder}.xml` }]],
});
