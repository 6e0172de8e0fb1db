import type { DataKey } from './envelope';

/** What a data key is for: KMS decrypts it for nobody who names another table or token, and a policy can name them. */
export interface EncryptionContext {
  /** The name of the table. */
  readonly table: string;
  readonly tokenId: string;
}

/**
 * The port to the key.
 *
 * Both throw SharedTokenError ACCESS_DENIED, KEY_UNUSABLE or DECRYPTION_FAILED, which trying again does not cure; else a TableTrouble.
 */
export interface DataKeys {
  generate(context: EncryptionContext, signal: AbortSignal): Promise<DataKey>;
  decrypt(encrypted: Uint8Array, context: EncryptionContext, signal: AbortSignal): Promise<DataKey>;
}
