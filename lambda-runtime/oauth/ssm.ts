import type * as Sdk from '@aws-sdk/client-ssm';
import { awsSecret, type ReadSecret, regionOf, sdkMissing } from './aws-secrets';

/*
 * The only file that knows the SDK's client for Systems Manager.
 */

/** @param Name name or ARN */
export function ssmParameter(Name: string): ReadSecret {
  return awsSecret(`parameter "${Name}"`, async () => {
    const { SSMClient, GetParameterCommand } = await sdk();
    const client = new SSMClient(regionOf(Name));
    return async abortSignal => (await client.send(new GetParameterCommand({ Name, WithDecryption: true }), { abortSignal })).Parameter?.Value;
  });
}

/** As in secrets-manager.ts. */
async function sdk(): Promise<typeof Sdk> {
  try {
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- loaded late (scripts/bundle.ts says why so)
    return await (require('@aws-sdk/client-ssm') as typeof Sdk | Promise<typeof Sdk>);
  } catch (cause) {
    throw sdkMissing('@aws-sdk/client-ssm', cause);
  }
}
