const { mkdtempSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');

/** What a run of jest writes to the system's folder for temporary files (CDK's assemblies above all, thousands of them) goes to one of its own, which ends with it. */
module.exports = async () => {
  globalThis.temporaryFolderBefore = process.env.TMPDIR;
  globalThis.temporaryFolder = mkdtempSync(join(tmpdir(), 'shared-token-table-tests-'));
  process.env.TMPDIR = globalThis.temporaryFolder; // inherited by the workers, and by all that they start
};
