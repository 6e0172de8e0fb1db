import { Duration, Token } from 'aws-cdk-lib';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { IConstruct } from 'constructs';
import { BoundSource } from './private/bound-source';
import { checkChoice, checkFields, checkKnown, checkMade } from './private/choice';
import { Credentials, credentialsOf } from './private/credentials';
import { SharedTokenTableError } from './private/errors';
import {
  checkHeaders, checkParameters, checkPath, checkScopes, checkTemplates, checkText, checkTexts, checkUrl, holdsPlaceholders, holdsUnresolved,
} from './private/source-checks';
import { isTokenLife, METHODS } from './private/source-rules';
import { CommonSettings, SourceSettings, TokenEndpointSettings } from './private/source-settings';
import {
  BodyFormat, ClientAuthentication, ClientCredentialsSourceProps, HttpRequestSourceProps, RefreshTokenSourceProps, TokenEndpointSourceProps,
  TokenSourceProps,
} from './token-source-props';

/**
 * Where a refresher gets its tokens.
 *
 * Three kinds need no code: the refresher is a function that comes with this library, and reads the credentials from a secret at run time. The fourth is a function
 * of yours.
 *
 * @example
 * declare const tokens: SharedTokenTable;
 * declare const credentials: secretsmanager.Secret;
 *
 * tokens.addRefresher('Crm', {
 *   tokenId: 'crm',
 *   source: TokenSource.clientCredentials({
 *     tokenUrl: 'https://auth.example.com/oauth/token',
 *     credentials,
 *     scopes: ['orders.read'],
 *   }),
 * });
 */
export abstract class TokenSource {
  /**
   * A token of the application itself: the grant `client_credentials` of OAuth 2.0.
   *
   * Fields of the credentials: `clientId`, and `clientSecret` or `privateKey` (PEM text or a JWK), as `clientAuthentication` needs it.
   *
   * @param props which endpoint, with what
   */
  public static clientCredentials(props: ClientCredentialsSourceProps): TokenSource {
    return new SettingsTokenSource(scope => {
      const credentials = credentialsIn(scope, props, ENDPOINT_PROPS);
      requireCredentials(scope, credentials, '`clientId`, and `clientSecret` or `privateKey`');
      return { settings: { kind: 'client_credentials', ...endpointSettings(scope, props, credentials) }, credentials };
    });
  }

  /**
   * A token of an account that a person has given access to: the grant `refresh_token` of OAuth 2.0.
   *
   * Fields of the credentials: `refreshToken`, the first one, beside `clientId` and `clientSecret` or `privateKey`. If the provider replaces refresh tokens, the
   * later ones are kept in the table.
   *
   * @param props which endpoint, with what
   */
  public static refreshToken(props: RefreshTokenSourceProps): TokenSource {
    return new SettingsTokenSource(scope => {
      const credentials = credentialsIn(scope, props, ENDPOINT_PROPS);
      requireCredentials(scope, credentials, '`refreshToken` and `clientId`, and `clientSecret` or `privateKey`');
      return { settings: { kind: 'refresh_token', ...endpointSettings(scope, props, credentials) }, credentials };
    });
  }

  /**
   * A token of an endpoint that follows no standard: one request, written with fields of the credentials.
   *
   * @example
   * declare const tokens: SharedTokenTable;
   * declare const credentials: secretsmanager.Secret;
   *
   * tokens.addRefresher('Shop', {
   *   tokenId: 'shop',
   *   source: TokenSource.httpRequest({
   *     url: 'https://shop.example.com/api/login',
   *     body: { user: '{{user}}', password: '{{password}}' },
   *     credentials,
   *     accessTokenField: 'data.token',
   *   }),
   * });
   *
   * @param props the request, and how to read the answer
   */
  public static httpRequest(props: HttpRequestSourceProps): TokenSource {
    return new SettingsTokenSource(scope => {
      const credentials = credentialsIn(scope, props, REQUEST_PROPS);
      return { settings: requestSettings(scope, props, credentials), credentials };
    });
  }

  /**
   * A function of yours that is the refresher: its handler is made by `refresherHandler` of `cdk-shared-token-table/runtime/refresher`.
   *
   * For providers that need code. The function gets layer, environment, permissions for its one token, schedule and failure queue; all else about it, such as its
   * timeout, VPC and credentials, is yours. It refreshes one token, and this app defines it: what is imported can be given no environment.
   *
   * @example
   * declare const tokens: SharedTokenTable;
   * declare const erpRefresher: lambda.Function;
   *
   * tokens.addRefresher('Erp', { tokenId: 'erp', source: TokenSource.fromFunction(erpRefresher) });
   *
   * @param handler the function itself, not an alias or a version of it
   */
  public static fromFunction(handler: lambda.IFunction): TokenSource {
    return new FunctionTokenSource(handler);
  }

  protected constructor() {}

  /**
   * Checks the source, and tells what a refresher needs of it.
   *
   * @internal
   */
  public abstract _bind(scope: IConstruct): BoundSource;
}

interface Settings {
  readonly settings: SourceSettings;
  readonly credentials?: Credentials;
}

class SettingsTokenSource extends TokenSource {
  constructor(private readonly read: (scope: IConstruct) => Settings) {
    super();
  }

  public _bind(scope: IConstruct): BoundSource {
    return { kind: 'settings', ...this.read(scope) };
  }
}

class FunctionTokenSource extends TokenSource {
  constructor(private readonly handler: lambda.IFunction) {
    super();
  }

  public _bind(): BoundSource {
    return { kind: 'function', function: this.handler };
  }
}

const COMMON_PROPS = ['credentials', 'credentialsParameter', 'tokenLife'] as const satisfies (keyof TokenSourceProps)[];
const ENDPOINT_PROPS = [
  ...COMMON_PROPS, 'tokenUrl', 'clientAuthentication', 'scopes', 'audience', 'resource', 'parameters',
] as const satisfies (keyof TokenEndpointSourceProps)[];
const REQUEST_PROPS = [
  ...COMMON_PROPS, 'url', 'method', 'headers', 'bodyFormat', 'body', 'accessTokenField', 'expiresInField', 'expiresAtField',
] as const satisfies (keyof HttpRequestSourceProps)[];

/** Where a source has its credentials, of options that were looked at. */
function credentialsIn(scope: IConstruct, props: TokenSourceProps, known: readonly string[]): Credentials | undefined {
  checkKnown(scope, 'this source', props, known);
  return credentialsOf(scope, props);
}

function endpointSettings(scope: IConstruct, props: TokenEndpointSourceProps, credentials: Credentials | undefined): TokenEndpointSettings {
  const { tokenUrl, clientAuthentication, scopes, audience, resource, parameters } = props;
  checkUrl(scope, 'tokenUrl', tokenUrl);
  if (clientAuthentication !== undefined) {
    checkChoice(scope, 'ClientAuthentication', ClientAuthentication, clientAuthentication, 'There is no such way to authenticate a client.');
  }
  checkScopes(scope, scopes);
  checkText(scope, 'audience', audience);
  checkText(scope, 'resource', resource);
  checkTexts(scope, 'parameters', parameters);
  checkParameters(scope, parameters ?? {});
  return { tokenUrl, clientAuthentication, scopes, audience, resource, parameters, ...commonSettings(scope, props, credentials) };
}

function requestSettings(scope: IConstruct, props: HttpRequestSourceProps, credentials: Credentials | undefined): SourceSettings {
  const { url, method, headers, bodyFormat, body, accessTokenField, expiresInField, expiresAtField } = props;
  checkUrl(scope, 'url', url);
  if (method !== undefined && !METHODS.includes(method)) {
    throw new SharedTokenTableError(scope, {
      what: 'There is no such method to ask for a token.', got: `'${method}'`, expected: METHODS.join(', '), todo: 'Correct `method`.',
    });
  }
  if (method === 'GET' && body !== undefined) {
    throw new SharedTokenTableError(scope, {
      what: 'A GET request has no body.', got: 'a `body`', expected: 'headers alone', todo: 'Remove the body, or choose another `method`.',
    });
  }
  if (bodyFormat !== undefined) checkChoice(scope, 'BodyFormat', BodyFormat, bodyFormat, 'There is no such format of a body.');
  if (bodyFormat === BodyFormat.FORM) checkForm(scope, body ?? {});
  if (body !== undefined) checkFields(scope, 'the fields of `body`', body, ["user: '{{user}}'"]);
  checkTexts(scope, 'headers', headers);
  checkHeaders(scope, headers ?? {});
  checkTemplates(scope, 'headers', headers);
  checkTemplates(scope, 'body', body);
  checkUse(scope, { headers, body }, credentials);
  for (const [option, path] of Object.entries({ accessTokenField, expiresInField, expiresAtField })) checkPath(scope, option, path);
  return {
    kind: 'http_request',
    url,
    method,
    headers,
    format: bodyFormat,
    body,
    accessTokenField,
    expiresInField,
    expiresAtField,
    ...commonSettings(scope, props, credentials),
  };
}

function checkForm(scope: IConstruct, body: { readonly [field: string]: unknown }): void {
  const nested = Object.entries(body).find(([, value]) => typeof value === 'object' && !Token.isUnresolved(value));
  if (!nested) return;
  throw new SharedTokenTableError(scope, {
    what: 'A form has no fields within fields.',
    got: `'${nested[0]}', which is ${JSON.stringify(nested[1])}`,
    expected: 'text, numbers and booleans',
    todo: 'Write the field as text, or use `BodyFormat.JSON`.',
  });
}

/** A request can use the credentials in its templates only. */
function checkUse(scope: IConstruct, templates: { readonly [part: string]: unknown }, credentials: Credentials | undefined): void {
  if (holdsPlaceholders(templates)) return requireCredentials(scope, credentials, 'the fields that the request names');
  if (!credentials || holdsUnresolved(templates)) return;
  throw new SharedTokenTableError(scope, {
    what: 'A request uses the credentials by their fields.',
    got: 'credentials, and none of their fields in `headers` or `body`',
    expected: "'{{field}}' where the value of a field belongs",
    todo: "Write, say, `body: { password: '{{password}}' }`, or leave the credentials out.",
  });
}

function commonSettings(scope: IConstruct, { tokenLife }: TokenSourceProps, credentials: Credentials | undefined): CommonSettings {
  return { credentials: credentials?.reference, tokenLifeSeconds: tokenLife === undefined ? undefined : lifeSeconds(scope, tokenLife) };
}

function lifeSeconds(scope: IConstruct, tokenLife: Duration): number {
  checkMade(scope, { tokenLife });
  if (tokenLife.isUnresolved()) return tokenLife.toSeconds();
  const seconds = tokenLife.toSeconds({ integral: false });
  if (isTokenLife(seconds)) return seconds;
  throw new SharedTokenTableError(scope, {
    what: '`tokenLife` is how long a token can be used.',
    got: tokenLife.toString(),
    expected: 'a second to a hundred years',
    todo: 'Correct it; of a token that only a rejection ends, leave it out.',
  });
}

function requireCredentials(scope: IConstruct, credentials: Credentials | undefined, what: string): void {
  if (credentials) return;
  throw new SharedTokenTableError(scope, {
    what: `This source needs credentials: ${what}.`,
    got: 'neither `credentials` nor `credentialsParameter`',
    expected: 'one of the two',
    todo: 'Put the credentials into a secret, a JSON object, and pass it as `credentials`.',
  });
}
