export { RefreshError, SharedTokenError } from './errors';
export type { RefreshErrorOptions, SharedTokenErrorCode, SharedTokenErrorDetails } from './errors';
export type {
  CallOptions, ForcedRefreshOptions, InvocationContext, Refresh, RefreshRequest, RefreshResult, SharedTokenEvent, SharedTokenOptions, UseOptions,
} from './public-types';
export { SharedToken } from './shared-token';
