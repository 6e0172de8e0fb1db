import type { DataKeys } from './data-keys';
import { type DataKey, encryptedKeyOf, NONCE_BYTES, open, seal } from './envelope';
import { SECRET_ATTRIBUTES, type SecretAttribute } from '../../src/private/contract';
import { tokenError } from '../token-error';

type Attributes = Readonly<Record<string, unknown>>;

/** Between the table and the runtime: what a table holds of tokens is encrypted, what the runtime handles is not. */
export interface TokenCipher {
  /** Before a claim: who could not encrypt the token that the lease is for must not fetch it. */
  prepare(tokenId: string, signal: AbortSignal): Promise<void>;
  /**
   * Encrypts what a write stores of tokens.
   *
   * @param values the values of its expression, each under its attribute's name with a colon
   */
  seal(tokenId: string, values: Attributes, signal: AbortSignal): Promise<Attributes>;
  /** Is it one that the next commit should encrypt? */
  isPlain(refreshToken: unknown): boolean;
  /** Decrypts what a reply holds of tokens. */
  open(tokenId: string, attributes: Attributes, signal: AbortSignal): Promise<Attributes>;
}

/** For a table whose tokens are not encrypted by the runtime. */
export const noCipher: TokenCipher = {
  prepare: async () => undefined,
  seal: async (_, values) => values,
  isPlain: () => false,
  async open(tokenId, attributes) {
    const encrypted = SECRET_ATTRIBUTES.find(attribute => attributes[attribute] instanceof Uint8Array);
    if (encrypted === undefined) return attributes;
    throw tokenError(tokenId, 'DECRYPTION_FAILED', `the stored attribute "${encrypted}" is encrypted, and this function knows no key: attach it again, ` +
      'or add the key to the name of the table, "<table>#<key ARN>".');
  },
};

/** What one process knows of one token: each envelope is opened by KMS once. */
interface Known {
  /** Made before a claim, for its commit. */
  next?: DataKey | undefined;
  readonly last: { [A in SecretAttribute]?: { readonly envelope: Uint8Array; readonly text: string } };
}

/** @param randomBytes fit for cryptography */
export function tokenCipher(table: string, keys: DataKeys, randomBytes: (size: number) => Uint8Array): TokenCipher {
  const known = new Map<string, Known>();
  const of = (tokenId: string): Known => {
    const one = known.get(tokenId) ?? { last: {} };
    known.set(tokenId, one);
    return one;
  };

  return {
    async prepare(tokenId, signal) {
      of(tokenId).next ??= await keys.generate({ table, tokenId }, signal);
    },

    async seal(tokenId, values, signal) {
      const one = of(tokenId);
      const sealed: Record<string, unknown> = { ...values };
      for (const attribute of SECRET_ATTRIBUTES) {
        const text = values[`:${attribute}`];
        if (typeof text !== 'string') continue;
        // A write that is sent again stores the same bytes.
        if (one.last[attribute]?.text !== text) {
          one.next ??= await keys.generate({ table, tokenId }, signal);
          one.last[attribute] = { envelope: seal(attribute, text, one.next, randomBytes(NONCE_BYTES)), text };
        }
        sealed[`:${attribute}`] = one.last[attribute]?.envelope;
      }
      // The next token gets a key of its own.
      if (':accessToken' in values) one.next = undefined;
      return sealed;
    },

    isPlain: refreshToken => typeof refreshToken === 'string',

    async open(tokenId, attributes, signal) {
      const { last } = of(tokenId);
      const opened: Record<string, unknown> = { ...attributes };
      // Of before the encryption was turned on, or of somebody who has no key: it is not used. A refresh token is, since it may be the only credential.
      if (typeof opened.accessToken === 'string') delete opened.accessToken;
      let key: DataKey | undefined;
      for (const attribute of SECRET_ATTRIBUTES) {
        const envelope = attributes[attribute];
        if (!(envelope instanceof Uint8Array)) continue;
        const before = last[attribute];
        if (!before || !isSame(before.envelope, envelope)) {
          const encrypted = encryptedKeyOf(envelope);
          if (!encrypted) throw damaged(tokenId, attribute);
          if (!key || !isSame(key.encrypted, encrypted)) key = await keys.decrypt(encrypted, { table, tokenId }, signal);
          last[attribute] = { envelope, text: openOrThrow(tokenId, attribute, envelope, key) };
        }
        opened[attribute] = last[attribute]?.text;
      }
      return opened;
    },
  };
}

function isSame(one: Uint8Array, other: Uint8Array): boolean {
  return Buffer.compare(one, other) === 0;
}

function openOrThrow(tokenId: string, attribute: SecretAttribute, envelope: Uint8Array, key: DataKey): string {
  try {
    return open(attribute, envelope, key);
  } catch {
    throw damaged(tokenId, attribute); // and not the error of the library, which knows no more
  }
}

function damaged(tokenId: string, attribute: SecretAttribute): Error {
  return tokenError(tokenId, 'DECRYPTION_FAILED', `the stored attribute "${attribute}" is not what was encrypted, so something else wrote this item: ` +
    'find out what, and delete the item to have the token fetched anew.');
}
