import { awsSecret, type ReadSecret, regionOf, sdkMissing } from './aws-secrets';

/*
 * The only file that knows the SDK's client for Secrets Manager.
 */

/** @param SecretId name or ARN */
export function secretsManagerSecret(SecretId: string): ReadSecret {
  return awsSecret(`secret "${SecretId}"`, () => {
    const { SecretsManagerClient, GetSecretValueCommand } = sdk();
    const client = new SecretsManagerClient(regionOf(SecretId));
    return async abortSignal => (await client.send(new GetSecretValueCommand({ SecretId }), { abortSignal })).SecretString;
  });
}

/** Written out, so that bundlers see the name; in a `try` they do not insist on it. `require` finds what Lambda has, while `import()` knows no NODE_PATH. */
function sdk(): typeof import('@aws-sdk/client-secrets-manager') {
  try {
    // eslint-disable-next-line @typescript-eslint/no-require-imports
    return require('@aws-sdk/client-secrets-manager') as ReturnType<typeof sdk>;
  } catch {
    throw sdkMissing('@aws-sdk/client-secrets-manager');
  }
}
