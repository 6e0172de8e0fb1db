import type * as Sdk from '@aws-sdk/client-secrets-manager';
import { awsSecret, type ReadSecret, regionOf, sdkMissing } from './aws-secrets';

/*
 * The only file that knows the SDK's client for Secrets Manager.
 */

/** @param SecretId name or ARN */
export function secretsManagerSecret(SecretId: string): ReadSecret {
  return awsSecret(`secret "${SecretId}"`, async () => {
    const { SecretsManagerClient, GetSecretValueCommand } = await sdk();
    const client = new SecretsManagerClient(regionOf(SecretId));
    return async abortSignal => (await client.send(new GetSecretValueCommand({ SecretId }), { abortSignal })).SecretString;
  });
}

/** Written out, so that bundlers see the name; in a `try` they do not insist on it. */
async function sdk(): Promise<typeof Sdk> {
  try {
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- loaded late (scripts/bundle.ts says why so)
    return await (require('@aws-sdk/client-secrets-manager') as typeof Sdk | Promise<typeof Sdk>);
  } catch (cause) {
    throw sdkMissing('@aws-sdk/client-secrets-manager', cause);
  }
}
