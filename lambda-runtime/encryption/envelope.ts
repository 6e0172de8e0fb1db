import { createCipheriv, createDecipheriv } from 'node:crypto';
import type { SecretAttribute } from '../../src/private/contract';

/*
 * An encrypted attribute, as bytes: version (1 byte, 1), length of the encrypted data key (2 bytes, big-endian), the encrypted data key, nonce (12), ciphertext,
 * tag (16). AES-256-GCM; the additional data is the name of the attribute, so that one cannot pass for the other.
 *
 * By node:crypto: the format is these few lines, each data key is of one lease, and AWS's Encryption SDK costs a cold start more than the rest of the runtime
 * (docs/encryption.md).
 */

/** A data key, and the same encrypted by KMS. */
export interface DataKey {
  readonly plain: Uint8Array;
  readonly encrypted: Uint8Array;
}

export const NONCE_BYTES = 12;

const VERSION = 1;
const HEADER_BYTES = 3;
const TAG_BYTES = 16;
const CIPHER = 'aes-256-gcm';

/** @param nonce new for each call: twice the same one under one key would give both texts away */
export function seal(attribute: SecretAttribute, text: string, { plain, encrypted }: DataKey, nonce: Uint8Array): Uint8Array {
  const cipher = createCipheriv(CIPHER, plain, nonce, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(attribute));
  const ciphertext = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return Buffer.concat([headerOf(encrypted), encrypted, nonce, ciphertext, cipher.getAuthTag()]);
}

function headerOf({ length }: Uint8Array): Uint8Array {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt8(VERSION);
  header.writeUInt16BE(length, 1);
  return header;
}

/** The encrypted data key of an envelope; undefined where the bytes are none. */
export function encryptedKeyOf(envelope: Uint8Array): Uint8Array | undefined {
  const bytes = Buffer.from(envelope);
  if (bytes.length < HEADER_BYTES || bytes.readUInt8() !== VERSION) return undefined;
  const end = HEADER_BYTES + bytes.readUInt16BE(1);
  return end === HEADER_BYTES || bytes.length < end + NONCE_BYTES + TAG_BYTES ? undefined : bytes.subarray(HEADER_BYTES, end);
}

/** @throws Error where the bytes are not what was sealed as this attribute with this key */
export function open(attribute: SecretAttribute, envelope: Uint8Array, { plain, encrypted }: DataKey): string {
  const [bytes, start] = [Buffer.from(envelope), HEADER_BYTES + encrypted.length];
  const decipher = createDecipheriv(CIPHER, plain, bytes.subarray(start, start + NONCE_BYTES), { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(attribute)).setAuthTag(bytes.subarray(-TAG_BYTES));
  return Buffer.concat([decipher.update(bytes.subarray(start + NONCE_BYTES, -TAG_BYTES)), decipher.final()]).toString('utf8');
}
