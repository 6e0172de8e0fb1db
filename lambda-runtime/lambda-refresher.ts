import type * as Sdk from '@aws-sdk/client-lambda';
import { SharedTokenError } from './errors';
import { type RefresherPort, RefresherTrouble } from './refresher-port';
import { tokenError } from './token-error';
import { ENV, type RefresherEvent } from '../src/private/contract';

/*
 * The only file that knows the SDK's client for Lambda. Most processes never ask, so it is loaded by the first one who does.
 */

const ARN = /^arn:[^:]+:lambda:([^:]+):/;

const DENIED = new Set(['AccessDeniedException', 'UnrecognizedClientException', 'ExpiredTokenException', 'CredentialsProviderError']);

/** Makes the port to one refresher, given by the name or ARN of its function. */
export function lambdaRefresher(tokenId: string, functionName: string): RefresherPort {

  const failed = (what: string, cause?: unknown) => tokenError(tokenId, 'REFRESHER_FAILED', `the refresher "${functionName}" ${what}`, { cause });

  const sdk = (): typeof Sdk => {
    try {
      // eslint-disable-next-line @typescript-eslint/no-require-imports -- loaded by who asks, and found where Lambda has it: `import()` knows no NODE_PATH
      return require('@aws-sdk/client-lambda') as typeof Sdk;
    } catch (cause) {
      throw failed('cannot be asked: install @aws-sdk/client-lambda beside this package, which Lambda\'s Node.js runtimes bring along.', cause);
    }
  };

  const translate = (error: unknown): Error => {
    if (error instanceof SharedTokenError) return error;
    const { name, message } = error as Error;
    if (DENIED.has(name)) {
      return tokenError(tokenId, 'ACCESS_DENIED', `the refresher "${functionName}" may not be invoked by this function: attach it (refresher.attachTo).`, { cause: new Error(message) });
    }
    if (name === 'ResourceNotFoundException') return failed(`does not exist in this account and region: deploy it, or check ${ENV.REFRESHERS}.`);
    return new RefresherTrouble(false, `${name}: ${message}`);
  };

  return {
    async ask(asked, how, abortSignal) {
      const { LambdaClient, InvokeCommand } = sdk();
      const region = ARN.exec(functionName)?.[1];
      // An attempt of the SDK's own would be one more invocation that nobody counts. One client for each: asks are rare, and a connection that was kept open
      // would be dead after a freeze.
      const client = new LambdaClient({ maxAttempts: 1, ...(region && { region }) });
      const event: RefresherEvent = { tokenId, asked };
      const command = new InvokeCommand({
        FunctionName: functionName,
        InvocationType: how === 'now' ? 'RequestResponse' : 'Event',
        Payload: JSON.stringify(event),
      });
      try {
        const { FunctionError } = await client.send(command, { abortSignal });
        if (FunctionError) throw new RefresherTrouble(true, `failed (${FunctionError}): see its log`);
      } catch (error) {
        throw error instanceof RefresherTrouble ? error : translate(error);
      } finally {
        client.destroy();
      }
    },
  };
}
