const { rmSync } = require('node:fs');

module.exports = async () => rmSync(globalThis.temporaryFolder, { recursive: true, force: true, maxRetries: 3 });
