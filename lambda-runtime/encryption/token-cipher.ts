import type { DataKeys } from './data-keys';
import { type DataKey, encryptedKeyOf, NONCE_BYTES, open, seal } from './envelope';
import { SECRET_ATTRIBUTES, type SecretAttribute } from '../../src/private/contract';
import { tokenError } from '../token-error';

type Attributes = Readonly<Record<string, unknown>>;

/** Between the table and the runtime: what a table holds of tokens is encrypted, what the runtime handles is not. */
export interface TokenCipher {
  /** Before a claim: who could not encrypt the token that the lease is for must not fetch it. Asked again for the same lease, it has what is needed. */
  prepare(tokenId: string, leaseId: string, signal: AbortSignal): Promise<void>;
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

/** An envelope, and what is in it. */
interface Opened {
  readonly attribute: SecretAttribute;
  readonly envelope: Uint8Array;
  readonly text: string;
}

/** What one process knows of one token. */
interface Known {
  /** The data key of the newest lease that was to be claimed: for whatever its refresh stores. */
  key?: { readonly leaseId: string; readonly dataKey: DataKey };
  /** The newest first, whether sealed or opened here: each is opened by KMS once, and a write that is sent again stores the same bytes. */
  opened: readonly Opened[];
}

/** The stored ones, those of a commit, and of a late one. */
const MOST_REMEMBERED = 8;

/** @param randomBytes fit for cryptography */
export function tokenCipher(table: string, keys: DataKeys, randomBytes: (size: number) => Uint8Array): TokenCipher {
  const known = new Map<string, Known>();
  const of = (tokenId: string): Known => {
    const one = known.get(tokenId) ?? { opened: [] };
    known.set(tokenId, one);
    return one;
  };
  const remember = (one: Known, opened: Opened): Uint8Array => {
    one.opened = [opened, ...one.opened].slice(0, MOST_REMEMBERED);
    return opened.envelope;
  };

  return {
    async prepare(tokenId, leaseId, signal) {
      const one = of(tokenId);
      if (one.key?.leaseId !== leaseId) one.key = { leaseId, dataKey: await keys.generate({ table, tokenId }, signal) };
    },

    async seal(tokenId, values, signal) {
      const one = of(tokenId);
      const sealed: Record<string, unknown> = { ...values };
      let made: DataKey | undefined;
      for (const attribute of SECRET_ATTRIBUTES) {
        const text = values[`:${attribute}`];
        if (typeof text !== 'string') continue;
        const before = one.opened.find(other => other.attribute === attribute && other.text === text);
        const key = () => one.key?.dataKey ?? made;
        if (!before && !key()) made = await keys.generate({ table, tokenId }, signal); // a token of a process that claimed nothing since it has the key
        sealed[`:${attribute}`] = before?.envelope
          ?? remember(one, { attribute, envelope: seal(attribute, text, key() as DataKey, randomBytes(NONCE_BYTES)), text });
      }
      return sealed;
    },

    isPlain: refreshToken => typeof refreshToken === 'string',

    async open(tokenId, attributes, signal) {
      const one = of(tokenId);
      const opened: Record<string, unknown> = { ...attributes };
      // Of before the encryption was turned on, or of somebody who has no key: it is not used. A refresh token is, since it may be the only credential.
      if (typeof opened.accessToken === 'string') delete opened.accessToken;
      let key: DataKey | undefined;
      for (const attribute of SECRET_ATTRIBUTES) {
        const envelope = attributes[attribute];
        if (!(envelope instanceof Uint8Array)) continue;
        const before = one.opened.find(other => other.attribute === attribute && isSame(other.envelope, envelope));
        opened[attribute] = before?.text;
        if (before) continue;
        const encrypted = encryptedKeyOf(envelope);
        if (!encrypted) throw damaged(tokenId, attribute);
        if (!key || !isSame(key.encrypted, encrypted)) key = await keys.decrypt(encrypted, { table, tokenId }, signal);
        const text = openOrThrow(tokenId, attribute, envelope, key);
        remember(one, { attribute, envelope, text });
        opened[attribute] = text;
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
