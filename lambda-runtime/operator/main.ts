import { runCommand } from './command';
import type * as Operator from './index';

/*
 * The file that npm links as `shared-token`.
 */

// What the AWS CLI reads, and the SDK for JavaScript does not.
const { AWS_REGION, AWS_DEFAULT_REGION } = process.env;
if (!AWS_REGION && AWS_DEFAULT_REGION) process.env.AWS_REGION = AWS_DEFAULT_REGION;

// Whoever reads may have read enough: what was done is done all the same.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
}

void runCommand(process.argv.slice(2), {
  environment: process.env,
  out: text => process.stdout.write(text),
  err: text => process.stderr.write(text),
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- only when it is needed: where the SDK is missing, that is said in words
  load: async () => require('./index') as typeof Operator,
}).then(status => { process.exitCode = status; });
