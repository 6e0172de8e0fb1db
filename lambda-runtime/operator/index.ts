/*
 * cdk-shared-token-table/runtime/operator: to look at a token and to mend it, without seeing it. For people and tools on call.
 */
export { SharedTokenOperator } from './shared-token-operator';
export type { SharedTokenOperatorOptions } from './shared-token-operator';
export type { SharedTokenState } from './token-state';
