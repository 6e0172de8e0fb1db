/*
 * What the simulator takes from the runtime, and where the loading of a broken copy begins.
 */
export {
  claimRequest, clearFailureRequest, commitRequest, endLeaseRequest, expireRequest, readRequest, releaseRequest, renewRequest,
} from '../lambda-runtime/dynamodb-requests';
export { RefreshError, SharedTokenError } from '../lambda-runtime/errors';
export { RefresherTrouble } from '../lambda-runtime/refresher-port';
export { TokenClient } from '../lambda-runtime/token-client';
export { parseItem } from '../lambda-runtime/token-item';
export { TokenProcess } from '../lambda-runtime/token-process';
export { TableTrouble } from '../lambda-runtime/token-store';
