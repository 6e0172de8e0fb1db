export { FirstToken } from './first-token';
export { SharedTokenTable } from './shared-token-table';
export type { SharedTokenTableAttributes, SharedTokenTableProps } from './shared-token-table';
export type { AttachOptions, ISharedTokenTable } from './shared-token-table-base';
export { TokenAccess } from './token-access';
export { TokenRefresher } from './token-refresher';
export type { RefresherAttachOptions, TokenRefresherProps } from './token-refresher-props';
export { TokenSource } from './token-source';
export { BodyFormat, ClientAuthentication } from './token-source-props';
export type {
  ClientCredentialsSourceProps, HttpRequestSourceProps, RefreshTokenSourceProps, TokenEndpointSourceProps, TokenSourceProps,
} from './token-source-props';
