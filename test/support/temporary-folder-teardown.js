const { rmSync } = require('node:fs');

/** In watch mode the next run begins as this one did. */
module.exports = async () => {
  if (globalThis.temporaryFolderBefore === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = globalThis.temporaryFolderBefore;
  rmSync(globalThis.temporaryFolder, { recursive: true, force: true, maxRetries: 3 });
};
