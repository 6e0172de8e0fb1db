import { failure, type SourceErrorCode } from './failures';
import type { SecretReference } from '../../src/private/source-settings';

/*
 * The only file here that knows the AWS SDK. Its clients are loaded when they are needed: whoever keeps no secrets in AWS needs neither.
 */

/** The text of a secret; undefined where it has none (it is binary). */
export type ReadSecret = (signal: AbortSignal) => Promise<string | undefined>;

interface Sdk {
  readonly SecretsManager: typeof import('@aws-sdk/client-secrets-manager');
  readonly SystemsManager: typeof import('@aws-sdk/client-ssm');
}

/* Written out, so that bundlers see the names; in a `try` they do not insist on them. `require` finds what Lambda has, while `import()` knows no NODE_PATH. */
/* eslint-disable @typescript-eslint/no-require-imports */
const LOAD = {
  SecretsManager: ['@aws-sdk/client-secrets-manager', () => {
    try { return require('@aws-sdk/client-secrets-manager') as Sdk['SecretsManager']; } catch { return undefined; }
  }],
  SystemsManager: ['@aws-sdk/client-ssm', () => {
    try { return require('@aws-sdk/client-ssm') as Sdk['SystemsManager']; } catch { return undefined; }
  }],
} as const;
/* eslint-enable @typescript-eslint/no-require-imports */

/** @throws RefreshError AWS_SDK_MISSING */
function load<Name extends keyof Sdk>(name: Name): Sdk[Name] {
  const [packageName, get] = LOAD[name];
  const sdk = get() as Sdk[Name] | undefined;
  if (sdk) return sdk;
  throw failure('AWS_SDK_MISSING', `The credentials are in AWS, and the package ${packageName} that reads them was not found: install it, or leave it out of ` +
    'the bundle, since Lambda\'s Node.js runtimes have it.');
}

/** How to read what a reference names. A client is made with the first read, and kept. */
export function awsSecret({ secretArn, parameterName }: SecretReference): ReadSecret {
  let read: ReadSecret | undefined;
  const readerOf = () => parameterName === undefined ? secretReader(secretArn!) : parameterReader(parameterName);
  return async signal => {
    read ??= readerOf();
    try {
      return await read(signal);
    } catch (error) {
      throw translate(error, parameterName === undefined ? `secret "${secretArn}"` : `parameter "${parameterName}"`);
    }
  };
}

function secretReader(SecretId: string): ReadSecret {
  const { SecretsManagerClient, GetSecretValueCommand } = load('SecretsManager');
  const client = new SecretsManagerClient(regionOf(SecretId));
  return async abortSignal => (await client.send(new GetSecretValueCommand({ SecretId }), { abortSignal })).SecretString;
}

function parameterReader(Name: string): ReadSecret {
  const { SSMClient, GetParameterCommand } = load('SystemsManager');
  const client = new SSMClient(regionOf(Name));
  return async abortSignal => (await client.send(new GetParameterCommand({ Name, WithDecryption: true }), { abortSignal })).Parameter?.Value;
}

/** A secret may be in another region than the function. */
function regionOf(id: string): { readonly region?: string } {
  const region = /^arn:[^:]+:[^:]+:([^:]+):/.exec(id)?.[1];
  return region ? { region } : {};
}

const ABSENT = ['SECRET_NOT_FOUND', 'does not exist in this account and region: create it, or correct the name.'] as const;
const KEY_DENIED = ['SECRET_ACCESS_DENIED', 'cannot be decrypted: grant this function\'s role kms:Decrypt with its key, and see that the key is enabled.'] as const;
const BAD_CREDENTIALS = ['SECRET_ACCESS_DENIED', 'cannot be read: these AWS credentials are missing, refused or expired.'] as const;

/** Answers that no retry cures, with what to do. */
const FINAL: Readonly<Record<string, readonly [SourceErrorCode, string]>> = {
  ResourceNotFoundException: ABSENT,
  ParameterNotFound: ABSENT,
  ParameterVersionNotFound: ABSENT,
  ValidationException: ABSENT,
  InvalidParameterException: ABSENT,
  InvalidRequestException: ['SECRET_NOT_FOUND', 'has no value, or is about to be deleted: restore it, or put a value.'],
  AccessDeniedException: ['SECRET_ACCESS_DENIED', 'may not be read: grant this function\'s role the secret and the key that encrypts it.'],
  DecryptionFailure: KEY_DENIED,
  InvalidKeyId: KEY_DENIED,
  UnrecognizedClientException: BAD_CREDENTIALS,
  InvalidSignatureException: BAD_CREDENTIALS,
  ExpiredTokenException: BAD_CREDENTIALS,
  CredentialsProviderError: BAD_CREDENTIALS,
};
const PASSING = ['SECRET_UNAVAILABLE', 'could not be read: see the cause, and whether this function can reach the service.'] as const;
const NO_REGION = ['SECRET_UNAVAILABLE', 'cannot be found without a region: set AWS_REGION, or give the ARN.'] as const;

function translate(error: unknown, secret: string): Error {
  const { name, message } = error as Partial<Error>;
  const [code, what] = message === 'Region is missing' ? NO_REGION : Object.hasOwn(FINAL, String(name)) ? FINAL[String(name)]! : PASSING;
  return failure(code, `The ${secret} ${what}`, error);
}
