/*
 * cdk-shared-token-table/runtime/oauth: where tokens come from. Each factory returns a `refresh` for a SharedToken.
 */
export { clientCredentials } from './client-credentials';
export type { SourceErrorCode } from './failures';
export { httpRequest } from './http-request';
export type {
  ClientCredentialsOptions, CredentialFields, Credentials, CredentialsFunction, HttpRequestOptions, RefreshTokenOptions, StoredCredentials,
} from './options';
export { refreshFrom } from './refresh-from';
export { refreshToken } from './refresh-token';
export type { SourceSettings } from '../../src/private/source-settings';
