import type * as Sdk from '@aws-sdk/client-lambda';
import { isBadCredentials } from './bad-credentials';
import type { SharedTokenErrorCode } from './errors';
import { type RefresherPort, RefresherTrouble } from './refresher-port';
import { tokenError } from './token-error';
import { ENV, type RefresherEvent } from '../src/private/contract';

/*
 * The only file that knows the SDK's client for Lambda. Most processes never ask, so it is loaded by the first one who does.
 */

const ARN = /^arn:[^:]+:lambda:([^:]+):/;

const BAD_CREDENTIALS = ['ACCESS_DENIED', 'cannot be invoked: these AWS credentials are missing, refused or expired.'] as const;

const BAD_NAME = ['REFRESHER_FAILED', `does not exist in this account and region: deploy it, or check its name or ARN (the option "refresher", or ${ENV.REFRESHERS}).`] as const;

/** Answers that asking again does not cure, with what to do. */
const FINAL: Readonly<Record<string, readonly [SharedTokenErrorCode, string]>> = {
  AccessDeniedException: ['ACCESS_DENIED', 'may not be invoked by this function: attach it (refresher.attachTo).'],
  ResourceNotFoundException: BAD_NAME,
  InvalidParameterValueException: BAD_NAME,
  ValidationException: BAD_NAME,
};
const NO_REGION = ['REFRESHER_FAILED', 'cannot be found without a region: set AWS_REGION, or give its ARN.'] as const;

/** Makes the port to one refresher, given by the name or ARN of its function. */
export function lambdaRefresher(tokenId: string, functionName: string): RefresherPort {

  const failed = ([code, what]: readonly [SharedTokenErrorCode, string], cause?: unknown) => tokenError(tokenId, code, `the refresher "${functionName}" ${what}`, { cause });

  const sdk = async (): Promise<typeof Sdk> => {
    try {
      // eslint-disable-next-line @typescript-eslint/no-require-imports -- loaded by who asks (scripts/bundle.ts says why so)
      return await (require('@aws-sdk/client-lambda') as typeof Sdk | Promise<typeof Sdk>);
    } catch (cause) {
      throw failed(['REFRESHER_FAILED', 'cannot be asked: install @aws-sdk/client-lambda, which Lambda\'s Node.js runtimes bring along.'], cause);
    }
  };

  const translate = (error: unknown): Error => {
    const { name, message } = error as Error;
    const final = message === 'Region is missing' ? NO_REGION
      : isBadCredentials(error as Error) ? BAD_CREDENTIALS
        : Object.hasOwn(FINAL, name) ? FINAL[name] : undefined;
    return final ? failed(final, new Error(message)) : new RefresherTrouble('not asked', `${name}: ${message}`);
  };

  return {
    prepare() {
      sdk().catch(() => {}); // said by who asks
    },
    async ask(asked, how, abortSignal) {
      const { LambdaClient, InvokeCommand } = await sdk();
      const region = ARN.exec(functionName)?.[1];
      const event: RefresherEvent = { tokenId, asked };
      let client: Sdk.LambdaClient | undefined;
      try { // which begins here: of a package that failed to load, some bundlers give an empty one the next time
        // An attempt of the SDK's own would be one more invocation that nobody counts. One client for each: asks are rare, and a connection that was kept open
        // would be dead after a freeze.
        client = new LambdaClient({ maxAttempts: 1, ...(region && { region }) });
        const command = new InvokeCommand({
          FunctionName: functionName,
          InvocationType: how === 'now' ? 'RequestResponse' : 'Event',
          Payload: JSON.stringify(event),
        });
        const { FunctionError } = await client.send(command, { abortSignal });
        if (FunctionError) throw new RefresherTrouble('failed', `failed (${FunctionError}): see its log`);
      } catch (error) {
        throw error instanceof RefresherTrouble ? error : translate(error);
      } finally {
        client?.destroy();
      }
    },
  };
}
