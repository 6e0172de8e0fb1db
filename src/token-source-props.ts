import { Duration } from 'aws-cdk-lib';
import * as secretsmanager from 'aws-cdk-lib/aws-secretsmanager';
import * as ssm from 'aws-cdk-lib/aws-ssm';

/** How a client proves to an OAuth token endpoint who it is. */
export enum ClientAuthentication {
  /** By its id and secret in the `Authorization` header, which each server that knows client secrets has to take. */
  CLIENT_SECRET_BASIC = 'client_secret_basic',

  /** By its id and secret in the body, for servers that take them nowhere else. */
  CLIENT_SECRET_POST = 'client_secret_post',

  /** By a JWT that it signs with its private key (RFC 7523), for servers that know its public key. */
  PRIVATE_KEY_JWT = 'private_key_jwt',

  /** Not at all, for public clients. */
  NONE = 'none',
}

/** How a request's body is written. */
export enum BodyFormat {
  /** `application/json` */
  JSON = 'json',

  /** `application/x-www-form-urlencoded` */
  FORM = 'form',
}

/** What all sources have in common. */
export interface TokenSourceProps {
  /**
   * The secret with the credentials: the text of a JSON object, whose fields depend on the source. The refresher reads it when it asks for a token, so that its
   * value is in no template, and a new value needs no deployment.
   *
   * The refresher may read exactly this secret, and decrypt with its customer managed key if that is known here. Give this or `credentialsParameter`.
   *
   * @default - none
   */
  readonly credentials?: secretsmanager.ISecret;

  /**
   * The same as a Systems Manager parameter: a SecureString, which CloudFormation cannot make (`StringParameter.fromSecureStringParameterAttributes`).
   *
   * Its default key, `aws/ssm`, needs no permission; tell a customer managed one as `encryptionKey` when you import the parameter.
   *
   * @default - none
   */
  readonly credentialsParameter?: ssm.IStringParameter;

  /**
   * How long a token lives, where the provider's answer does not say so. At least a second.
   *
   * @default - what the answer says; a token whose life is unknown is used until it is rejected
   */
  readonly tokenLife?: Duration;
}

/** What the grants of an OAuth 2.0 token endpoint have in common. */
export interface TokenEndpointSourceProps extends TokenSourceProps {
  /** The token endpoint: an `https` URL without credentials, or one of `http` on the function's own machine. */
  readonly tokenUrl: string;

  /**
   * How the client proves who it is.
   *
   * @default ClientAuthentication.CLIENT_SECRET_BASIC
   */
  readonly clientAuthentication?: ClientAuthentication;

  /**
   * The scopes to ask for, each an item of its own.
   *
   * @default - none: the server decides
   */
  readonly scopes?: string[];

  /**
   * The API that the token is for, as some servers want to know it (`audience`).
   *
   * @default - none
   */
  readonly audience?: string;

  /**
   * The API that the token is for, as RFC 8707 has it (`resource`).
   *
   * @default - none
   */
  readonly resource?: string;

  /**
   * Further parameters of the token request. They stand in the template, so none of them can be a credential.
   *
   * @default - none
   */
  readonly parameters?: { [name: string]: string };
}

/** A source by the grant `client_credentials` (RFC 6749, section 4.4). */
export interface ClientCredentialsSourceProps extends TokenEndpointSourceProps {}

/** A source by the grant `refresh_token` (RFC 6749, section 6). */
export interface RefreshTokenSourceProps extends TokenEndpointSourceProps {}

/** A source that follows no standard. */
export interface HttpRequestSourceProps extends TokenSourceProps {
  /** Where to ask: an `https` URL without credentials, or one of `http` on the function's own machine. */
  readonly url: string;

  /**
   * The method: GET, PATCH, POST or PUT.
   *
   * @default 'POST'
   */
  readonly method?: string;

  /**
   * The headers. A value may hold `{{field}}`, which stands for that field of the credentials.
   *
   * @default - what the body needs
   */
  readonly headers?: { [name: string]: string };

  /**
   * How the body is written.
   *
   * @default BodyFormat.JSON
   */
  readonly bodyFormat?: BodyFormat;

  /**
   * The body. Text in it, at any depth, may hold `{{field}}`, which stands for that field of the credentials. A form has text, numbers and booleans only.
   *
   * @default - no body
   */
  readonly body?: { [field: string]: unknown };

  /**
   * Where the answer, a JSON object, holds the token: a field, or a path such as `data.token`.
   *
   * @default 'access_token'
   */
  readonly accessTokenField?: string;

  /**
   * Where the answer holds how long the token lives, in seconds.
   *
   * @default 'expires_in'
   */
  readonly expiresInField?: string;

  /**
   * Where the answer holds the moment at which the token expires: ISO 8601, or the epoch in seconds or milliseconds.
   *
   * @default - nowhere
   */
  readonly expiresAtField?: string;
}
