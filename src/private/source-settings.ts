/*
 * What a stack tells a refresher's function of its source, as JSON in the variable ENV.SOURCE: the constructs write it, the runtime reads it, and the options
 * of `cdk-shared-token-table/runtime/oauth` are the same without `kind`. Nothing in it is secret. Types alone; the names of OAuth are OAuth's.
 */

/** Where the credentials are: read when a token is fetched, never part of a template. One of the two. */
export interface SecretReference {
  /** ARN (or name) of a Secrets Manager secret. */
  readonly secretArn?: string;
  /** Name or ARN of a Systems Manager parameter, a SecureString. */
  readonly parameterName?: string;
}

/** How a client proves to the token endpoint that it is the one: the registered names of OAuth (RFC 7591, `token_endpoint_auth_method`). */
export type ClientAuthenticationMethod = 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt' | 'none';

/** What all sources have in common. */
export interface CommonSettings {
  /** Where the credentials are. */
  readonly credentials?: SecretReference;
  /** Seconds that a token lives where the answer does not say so. None: only a rejection ends it. */
  readonly tokenLifeSeconds?: number;
}

/** What the grants of an OAuth token endpoint have in common. */
export interface TokenEndpointSettings extends CommonSettings {
  /** https, or http on this very machine. */
  readonly tokenUrl: string;
  /** `client_secret_basic` where it is absent. */
  readonly clientAuthentication?: ClientAuthenticationMethod;
  readonly scopes?: string[];
  readonly audience?: string;
  /** RFC 8707. */
  readonly resource?: string;
  /** Further parameters of the token request. */
  readonly parameters?: { readonly [name: string]: string };
}

/** RFC 6749, section 4.4. */
export interface ClientCredentialsSettings extends TokenEndpointSettings {
  readonly kind: 'client_credentials';
}

/** RFC 6749, section 6. The first refresh token stands in the secret; later ones in the table. */
export interface RefreshTokenSettings extends TokenEndpointSettings {
  readonly kind: 'refresh_token';
}

/** An auth endpoint that follows no standard: one JSON or form request, and an answer whose fields are told. */
export interface HttpRequestSettings extends CommonSettings {
  readonly kind: 'http_request';
  /** https, or http on this very machine. */
  readonly url: string;
  /** `POST` where it is absent. */
  readonly method?: string;
  /** Values may hold `{{field}}`, which is replaced by that field of the secret. */
  readonly headers?: { readonly [name: string]: string };
  /** How `body` is written; `json` where it is absent. */
  readonly format?: 'json' | 'form';
  /** Strings in it, at any depth, may hold `{{field}}`. */
  readonly body?: { readonly [field: string]: unknown };
  /** Where the answer holds the token: a path such as `data.token`; `access_token` where it is absent. */
  readonly accessTokenField?: string;
  /** Where it holds the seconds that the token lives; `expires_in` where it is absent. */
  readonly expiresInField?: string;
  /** Where it holds the moment at which the token expires: ISO 8601, or epoch in seconds or milliseconds. */
  readonly expiresAtField?: string;
}

/** One of the sources that a prebuilt refresher knows. */
export type SourceSettings = ClientCredentialsSettings | RefreshTokenSettings | HttpRequestSettings;
