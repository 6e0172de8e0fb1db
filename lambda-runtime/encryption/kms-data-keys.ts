import type * as Sdk from '@aws-sdk/client-kms';
import type { DataKeys } from './data-keys';
import { isBadCredentials } from '../bad-credentials';
import type { SharedTokenErrorCode } from '../errors';
import { tokenError } from '../token-error';
import { TableTrouble } from '../token-store';

/*
 * The only file that knows the SDK's client for KMS.
 */

const BAD_CREDENTIALS = ['ACCESS_DENIED', 'does not accept these AWS credentials: they are missing, refused or expired.'] as const;
const UNUSABLE = ['KEY_UNUSABLE', 'cannot be used: it is disabled, about to be deleted, gone, or not for symmetric encryption. Enable it again; a deleted key takes the stored tokens with it.'] as const;
const NOT_OURS = ['DECRYPTION_FAILED', 'did not encrypt what is stored for this token of this table: something else wrote this item, or the table has another key now.'] as const;

/** Answers that no retry cures, with what to do. */
const FINAL: Readonly<Record<string, readonly [SharedTokenErrorCode, string]>> = {
  AccessDeniedException: ['ACCESS_DENIED', 'refuses this function: attach it (attachTo), or grant its role this token id; and see what the policy of the key says.'],
  DisabledException: UNUSABLE,
  KMSInvalidStateException: UNUSABLE,
  NotFoundException: UNUSABLE,
  InvalidKeyUsageException: UNUSABLE,
  InvalidArnException: UNUSABLE,
  UnsupportedOperationException: UNUSABLE,
  ValidationException: UNUSABLE,
  InvalidCiphertextException: NOT_OURS,
  IncorrectKeyException: NOT_OURS,
};

/** @param keyArn of a symmetric key: also what is decrypted must be of this one */
export function kmsDataKeys(keyArn: string): DataKeys {
  // Begun at once: the function is still being loaded, and has time. Trying again is up to who asks, as with the table.
  const clientAndSdk = load().then(sdk => ({ sdk, client: new sdk.KMSClient({ region: keyArn.split(':')[3] as string, maxAttempts: 1 }) }));
  clientAndSdk.catch(() => undefined); // said by the first call

  const translate = (error: unknown, tokenId: string): Error => {
    const { name, message } = error as Error;
    const [code, what] = isBadCredentials(error as Error) ? BAD_CREDENTIALS : (Object.hasOwn(FINAL, name) && FINAL[name]) || [];
    // The SDK hangs request and response on its errors.
    const cause = Object.assign(new Error(message), { name });
    return code ? tokenError(tokenId, code, `the key "${keyArn}" ${what}`, { cause }) : new TableTrouble(false, cause, 'key');
  };

  return {
    async generate(context, abortSignal) {
      const { sdk, client } = await ready(clientAndSdk, context.tokenId);
      try {
        const { Plaintext: plain, CiphertextBlob: encrypted } = await client.send(
          new sdk.GenerateDataKeyCommand({ KeyId: keyArn, KeySpec: 'AES_256', EncryptionContext: { ...context } }), { abortSignal },
        );
        if (!plain || !encrypted) throw new Error('KMS answered without a key');
        return { plain, encrypted };
      } catch (error) {
        throw translate(error, context.tokenId);
      }
    },
    async decrypt(encrypted, context, abortSignal) {
      const { sdk, client } = await ready(clientAndSdk, context.tokenId);
      try {
        const { Plaintext: plain } = await client.send(
          new sdk.DecryptCommand({ KeyId: keyArn, CiphertextBlob: encrypted, EncryptionContext: { ...context } }), { abortSignal },
        );
        if (!plain) throw new Error('KMS answered without a key');
        return { plain, encrypted };
      } catch (error) {
        throw translate(error, context.tokenId);
      }
    },
  };
}

async function ready<T>(client: Promise<T>, tokenId: string): Promise<T> {
  try {
    return await client;
  } catch (cause) {
    throw tokenError(tokenId, 'KEY_UNUSABLE', 'its key cannot be asked: install @aws-sdk/client-kms, which Lambda\'s Node.js runtimes bring along.', { cause });
  }
}

async function load(): Promise<typeof Sdk> {
  // eslint-disable-next-line @typescript-eslint/no-require-imports, @typescript-eslint/return-await -- loaded by who needs it (scripts/bundle.ts says why so)
  return await (require('@aws-sdk/client-kms') as typeof Sdk | Promise<typeof Sdk>);
}
