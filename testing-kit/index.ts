export { TestingKitError, type TestingKitErrorCode } from './errors';
export {
  EmbeddedDynamoDb, type EmbeddedClientConfig, type EmbeddedDynamoDbOptions, type EmbeddedTable, type TableFromTemplateOptions,
} from './embedded-dynamodb';
export { startEmbeddedTable, type StartEmbeddedTableOptions, type StartedEmbeddedTable } from './embedded-table';
export type { JsonObject } from './json';
export type { TemplateSource } from './table-template';
export type { DynamoDbExchange, DynamoDbRequest } from './wire';
export { FaultProxy, type Fault, type FaultDecision, type FaultKind, type ProxiedRequest } from './fault-proxy';
