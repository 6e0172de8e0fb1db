import type { ClientCredentialsSettings, HttpRequestSettings, RefreshTokenSettings } from '../../src/private/source-settings';

/**
 * Fields of a secret. OAuth's may be spelled with underscores, too (`client_id`); a request of your own may use any others.
 */
export interface CredentialFields {
  readonly clientId?: string | undefined;
  /** For `client_secret_basic` and `client_secret_post`. */
  readonly clientSecret?: string | undefined;
  /** For `private_key_jwt`: a private key as PEM text (PKCS#8, not encrypted) or as a JWK. */
  readonly privateKey?: string | object | undefined;
  /**
   * Tells the provider which of the client's keys signed.
   *
   * @default - the `kid` of the JWK, if there is one
   */
  readonly keyId?: string | undefined;
  /**
   * How the private key signs: `RS256`, `PS256`, `ES256` ...
   *
   * @default - the `alg` of the JWK, or what fits the key: RS256, ES256, ES384, ES512 or EdDSA
   */
  readonly algorithm?: string | undefined;
  /** The first refresh token, of a person's log-in. */
  readonly refreshToken?: string | undefined;
  readonly [field: string]: unknown;
}

/** A secret that holds the fields as the text of a JSON object: in Secrets Manager or in Systems Manager, one of the two. */
export type StoredCredentials =
  /** ARN or name of a secret. The ARN's region counts, else `AWS_REGION`. */
  | { readonly secretArn: string | undefined }
  /** Name or ARN of a parameter, a SecureString. */
  | { readonly parameterName: string | undefined };

/** Gives the fields for one refresh. It is called with each, and once more where the provider refuses what it gave. */
export type CredentialsFunction = (request: { readonly signal: AbortSignal }) => CredentialFields | Promise<CredentialFields>;

/**
 * Where the credentials are, or the credentials themselves.
 *
 * A stored secret is kept in memory for five minutes, and read again at once where the provider refuses it: a rotated secret works with no deployment.
 */
export type Credentials = StoredCredentials | CredentialsFunction | CredentialFields;

/** The same settings, with credentials that need not be stored. */
type WithCredentials<Settings> = Omit<Settings, 'kind' | 'credentials'> & { readonly credentials: Credentials };

/** Options of `clientCredentials`. */
export interface ClientCredentialsOptions extends WithCredentials<ClientCredentialsSettings> {}

/** Options of `refreshToken`. */
export interface RefreshTokenOptions extends WithCredentials<RefreshTokenSettings> {}

/** Options of `httpRequest`. */
export interface HttpRequestOptions extends Omit<HttpRequestSettings, 'kind' | 'credentials'> {
  /**
   * Where the fields are that the placeholders name.
   *
   * @default - the request has no placeholders
   */
  readonly credentials?: Credentials | undefined;
}
