/*
 * The protocol is theirs: grants and client authentication of OAuth, keys and claims of JWTs. Both exist as ES modules alone, which TypeScript refuses to
 * import from CommonJS; here that is no matter, since esbuild bundles them, and no more of them than is named here.
 */

export {
  allowInsecureRequests,
  clientCredentialsGrantRequest,
  ClientSecretPost,
  customFetch,
  modifyAssertion,
  None,
  OperationProcessingError,
  PrivateKeyJwt,
  processClientCredentialsResponse,
  processRefreshTokenResponse,
  refreshTokenGrantRequest,
  UnsupportedOperationError,
  type AuthorizationServer,
  type Client,
  type ClientAuth,
  type TokenEndpointRequestOptions,
  type TokenEndpointResponse,
// @ts-expect-error TS1479
} from 'oauth4webapi';
// @ts-expect-error TS1479
export { decodeJwt, importJWK, importPKCS8, type CryptoKey, type JWK } from 'jose';
