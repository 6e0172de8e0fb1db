import { failure, type SourceErrorCode } from './failures';
import { isBadCredentials } from '../bad-credentials';
import { RefreshError } from '../index';

/*
 * What the secrets of Secrets Manager and of Systems Manager have in common; secrets-manager.ts and ssm.ts know the SDK's clients. These are loaded when they are
 * needed: whoever keeps no secrets in AWS needs neither.
 */

/** The text of a secret; undefined where it has none (it is binary). */
export type ReadSecret = (signal: AbortSignal) => Promise<string | undefined>;

/**
 * @param secret as messages name it
 * @param connect makes a client, with the first read: it is kept
 */
export function awsSecret(secret: string, connect: () => Promise<ReadSecret>): ReadSecret {
  let read: ReadSecret | undefined;
  return async signal => {
    try {
      read ??= await connect();
      return await read(signal);
    } catch (error) {
      throw error instanceof RefreshError ? error : translate(error, secret);
    }
  };
}

export function sdkMissing(packageName: string, cause: unknown): RefreshError {
  return failure('AWS_SDK_MISSING', `The credentials are in AWS, and the package ${packageName} that reads them was not found: install it, or leave it out of ` +
    'the bundle, since Lambda\'s Node.js runtimes have it.', cause);
}

/** A secret may be in another region than the function. */
export function regionOf(id: string): { readonly region?: string } {
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
};
const PASSING = ['SECRET_UNAVAILABLE', 'could not be read: see the cause, and whether this function can reach the service.'] as const;
const NO_REGION = ['SECRET_UNAVAILABLE', 'cannot be found without a region: set AWS_REGION, or give the ARN.'] as const;

function translate(error: unknown, secret: string): Error {
  const { name, message } = error as Partial<Error>;
  const [code, what] = message === 'Region is missing' ? NO_REGION
    : isBadCredentials({ name, message }) ? BAD_CREDENTIALS
      : Object.hasOwn(FINAL, String(name)) ? FINAL[String(name)]! : PASSING;
  return failure(code, `The ${secret} ${what}`, error);
}
