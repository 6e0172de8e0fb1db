export { SharedTokenTable } from './shared-token-table';
export type { SharedTokenTableAttributes, SharedTokenTableProps } from './shared-token-table';
export type { AttachOptions, ISharedTokenTable } from './shared-token-table-base';
export { TokenAccess } from './token-access';
