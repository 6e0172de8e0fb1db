import { accessTokenIn } from './access-token';
import { clientAuthentication } from './client-authentication';
import { type CredentialSource, invalidField, textField } from './credentials';
import { exchange, type JsonAnswer, noToken } from './exchange';
import { failure, withRefreshToken } from './failures';
import {
  allowInsecureRequests, customFetch, OperationProcessingError, UnsupportedOperationError,
  type AuthorizationServer, type Client, type ClientAuth, type TokenEndpointRequestOptions, type TokenEndpointResponse,
} from './libraries';
import type { CredentialFields } from './options';
import { tokenLife } from './token-life';
import type { TokenEndpointSettings } from '../../src/private/source-settings';
import { RefreshError, type RefreshResult } from '../index';

/** A grant of OAuth: how its request is sent, and how the answer is judged. */
export interface Grant {
  readonly send: (server: AuthorizationServer, client: Client, authentication: ClientAuth, options: TokenEndpointRequestOptions) => Promise<Response>;
  readonly judge: (server: AuthorizationServer, client: Client, response: Response) => Promise<TokenEndpointResponse>;
  /** May the answer hold a refresh token in place of the one that was sent? Then it is passed on, whatever else the answer is worth. */
  readonly rotates?: boolean;
}

/** Who asks, and with what. */
export interface TokenRequest {
  readonly settings: Omit<TokenEndpointSettings, 'credentials'>;
  readonly source: CredentialSource;
  readonly fields: CredentialFields;
  readonly signal: AbortSignal;
}

/**
 * Sends one request to the token endpoint.
 *
 * @throws RefreshError, and nothing else
 */
export async function requestToken({ settings, source, fields, signal }: TokenRequest, { send, judge, rotates }: Grant): Promise<RefreshResult> {
  const url = new URL(settings.tokenUrl);
  // Its URL stands for the server, in assertions, too (RFC 7523, section 3).
  const server = { issuer: settings.tokenUrl, token_endpoint: settings.tokenUrl };
  const client = { client_id: textField(fields, 'clientId', source) };
  const authentication = await clientAuthentication(settings.clientAuthentication ?? 'client_secret_basic', fields, source);
  let answer: JsonAnswer = {};
  try {
    const response = await send(server, client, authentication, {
      signal,
      [allowInsecureRequests]: url.protocol === 'http:',
      [customFetch]: async (_, { method, headers, body }) => {
        answer = await exchange(url, { method, headers: new Headers(headers), body, signal });
        return judgeable(answer, url);
      },
    }).catch((error: unknown) => {
      throw error instanceof UnsupportedOperationError ? invalidField('privateKey', source, 'cannot sign: an RSA key needs 2,048 bits') : error;
    });
    const { access_token: accessToken, token_type, refresh_token } = await judge(server, client, response);
    if (token_type !== 'bearer') throw notBearer();
    const life = tokenLife({ accessToken, expiresIn: answer.expires_in, tokenLifeSeconds: settings.tokenLifeSeconds }, Date.now());
    return { accessToken, ...life, refreshToken: refresh_token };
  } catch (error) {
    const failed = asRefreshError(error);
    throw rotates && typeof answer.refresh_token === 'string' ? withRefreshToken(failed, answer.refresh_token) : failed;
  }
}

/** Parameters that both grants have. */
export function grantParameters({ scopes = [], audience, resource, parameters }: TokenRequest['settings']): URLSearchParams {
  const given = Object.entries({ scope: scopes.join(' ') || undefined, audience, resource, ...parameters });
  return new URLSearchParams(given.filter((entry): entry is [string, string] => entry[1] !== undefined));
}

/**
 * What the library is to judge, and no more of the answer: an ID token would be checked against an issuer that nobody told us, the life of the token follows
 * our own rules, and some servers write the scopes in a way of their own. Null and empty texts are what many servers write for "none".
 */
function judgeable(answer: JsonAnswer, url: URL): Response {
  const access_token = accessTokenIn(answer.access_token);
  if (access_token === undefined) throw noToken(url, answer, 'access_token');
  const read = ['token_type', 'refresh_token'].map(name => [name, answer[name]] as const);
  const said = Object.fromEntries(read.filter(([, value]) => value !== null && value !== ''));
  return new Response(JSON.stringify({ access_token, ...said }), { headers: { 'content-type': 'application/json' } });
}

function notBearer(): RefreshError {
  return failure('TOKEN_TYPE_UNSUPPORTED', 'The token endpoint issued a token that is not a bearer token (token_type), so that an API would not take it alone. ' +
    'Have the client registered for bearer tokens.');
}

/** The libraries' errors carry request and answer; their messages do not, but for names of what is wrong. */
function asRefreshError(error: unknown): RefreshError {
  if (error instanceof RefreshError) return error;
  if (error instanceof UnsupportedOperationError) return notBearer();
  if (error instanceof OperationProcessingError) {
    return failure('ANSWER_INVALID', `The token endpoint's answer is not as RFC 6749 says: ${error.message}. For an endpoint that follows no standard, use httpRequest.`);
  }
  return failure('UNEXPECTED', 'The token request failed in a way that should not occur: see the cause.', error);
}
