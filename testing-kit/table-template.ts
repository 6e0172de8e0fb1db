import { readFileSync } from 'node:fs';
import { TestingKitError } from './errors';
import { isJsonObject, jsonObjects, type JsonObject } from './json';
import { ATTRIBUTE } from '../src/private/contract';

const TABLE = 'AWS::DynamoDB::Table';
/** What CDK's TableV2 becomes, with or without replicas. */
const GLOBAL_TABLE = 'AWS::DynamoDB::GlobalTable';

/** A table as a template declares it, with the calls that make it in DynamoDB. */
export interface TableDefinition {
  readonly logicalId: string;
  /** The name that the template fixes; absent where CloudFormation would make one up. */
  readonly tableName: string | undefined;
  /** The input of CreateTable, but for the name. */
  readonly input: JsonObject;
  readonly timeToLiveAttribute: string | undefined;
  readonly continuousBackups: boolean;
}

/** A synthesized CloudFormation template, or the path of its file (`cdk.out/MyStack.template.json`). */
export type TemplateSource = string | object;

/**
 * Finds a table in a template.
 *
 * @param logicalId which table; without it the one whose partition key is `tokenId`
 * @throws TestingKitError `TEMPLATE_UNREADABLE`, `TABLE_NOT_IN_TEMPLATE`, `TABLE_AMBIGUOUS`, `TABLE_UNSUPPORTED`
 */
export function tableInTemplate(source: TemplateSource, logicalId?: string): TableDefinition {
  const tables = tablesIn(readTemplate(source));
  const chosen = logicalId === undefined ? onlyTokenTable(tables) : tables.find(table => table.logicalId === logicalId);
  if (!chosen) {
    throw new TestingKitError('TABLE_NOT_IN_TEMPLATE', `The template has no DynamoDB table with the logical id '${logicalId}'. ${listed(tables)}`);
  }
  return define(chosen);
}

interface TableResource {
  readonly logicalId: string;
  readonly isGlobal: boolean;
  readonly properties: JsonObject;
}

function readTemplate(source: TemplateSource): JsonObject {
  const described = typeof source === 'string' ? `The template ${source}` : 'The template';
  let template: unknown = source;
  if (typeof source === 'string') {
    try {
      template = JSON.parse(readFileSync(source, 'utf8'));
    } catch (cause) {
      throw new TestingKitError('TEMPLATE_UNREADABLE', `${described} cannot be read as a JSON file. Expected what 'cdk synth' writes to cdk.out`, cause);
    }
  }
  if (!isJsonObject(template) || !isJsonObject(template.Resources)) {
    throw new TestingKitError('TEMPLATE_UNREADABLE', `${described} has no Resources. Expected a synthesized CloudFormation template`);
  }
  return template.Resources;
}

function tablesIn(resources: JsonObject): readonly TableResource[] {
  return Object.entries(resources).flatMap(([logicalId, resource]) => {
    if (!isJsonObject(resource) || (resource.Type !== TABLE && resource.Type !== GLOBAL_TABLE)) return [];
    const properties = isJsonObject(resource.Properties) ? resource.Properties : {};
    return [{ logicalId, isGlobal: resource.Type === GLOBAL_TABLE, properties }];
  });
}

function onlyTokenTable(tables: readonly TableResource[]): TableResource {
  const tokenTables = tables.filter(({ properties }) => {
    const keys = jsonObjects(properties.KeySchema);
    return keys.length === 1 && keys[0]?.AttributeName === ATTRIBUTE.TOKEN_ID;
  });
  const [first, second] = tokenTables;
  if (!first) {
    throw new TestingKitError('TABLE_NOT_IN_TEMPLATE',
      `The template has no DynamoDB table whose only key is '${ATTRIBUTE.TOKEN_ID}'. ${listed(tables)} Pass 'logicalId' to take another`);
  }
  if (second) {
    throw new TestingKitError('TABLE_AMBIGUOUS', `The template has several token tables. ${listed(tokenTables)} Pass 'logicalId' to say which one`);
  }
  return first;
}

function define({ logicalId, isGlobal, properties }: TableResource): TableDefinition {
  const { TableName: tableName, BillingMode: billingMode } = properties;
  const provisioned = billingMode !== 'PAY_PER_REQUEST'; // CloudFormation's default is PROVISIONED
  const throughput = (holder: JsonObject) => provisioned ? { ProvisionedThroughput: provisionedThroughput(holder, isGlobal) } : {};
  const indexes = jsonObjects(properties.GlobalSecondaryIndexes).map(index => ({
    IndexName: index.IndexName, KeySchema: index.KeySchema, Projection: index.Projection, ...throughput(index),
  }));
  const input = {
    AttributeDefinitions: properties.AttributeDefinitions,
    KeySchema: properties.KeySchema,
    BillingMode: provisioned ? 'PROVISIONED' : 'PAY_PER_REQUEST',
    ...throughput(properties),
    ...(indexes.length > 0 ? { GlobalSecondaryIndexes: indexes } : {}),
    ...(properties.LocalSecondaryIndexes === undefined ? {} : { LocalSecondaryIndexes: properties.LocalSecondaryIndexes }),
  };
  const intrinsic = pathOfIntrinsic(input);
  if (intrinsic) throw unsupported(logicalId, intrinsic);

  return {
    logicalId,
    tableName: typeof tableName === 'string' ? tableName : undefined,
    input,
    timeToLiveAttribute: timeToLiveAttribute(logicalId, properties.TimeToLiveSpecification),
    continuousBackups: [properties, ...jsonObjects(properties.Replicas)].some(({ PointInTimeRecoverySpecification: backups }) =>
      isJsonObject(backups) && backups.PointInTimeRecoveryEnabled === true),
  };
}

/** A global table keeps its write capacity beside its read capacity, of which each replica (the first is the table itself) has its own. */
function provisionedThroughput(holder: JsonObject, isGlobal: boolean): JsonObject {
  if (!isGlobal && isJsonObject(holder.ProvisionedThroughput)) return holder.ProvisionedThroughput;
  const reads = jsonObjects(holder.Replicas)[0]?.ReadProvisionedThroughputSettings;
  const writes = holder.WriteProvisionedThroughputSettings;
  return {
    ReadCapacityUnits: capacity(reads, 'ReadCapacityUnits', 'ReadCapacityAutoScalingSettings'),
    WriteCapacityUnits: capacity(writes, 'WriteCapacityUnits', 'WriteCapacityAutoScalingSettings'),
  };
}

/** The fixed capacity, or where auto scaling begins. It changes nothing here: the embedded table does not throttle. */
function capacity(settings: unknown, fixed: string, scaled: string): number {
  if (!isJsonObject(settings)) return 1;
  if (typeof settings[fixed] === 'number') return settings[fixed];
  const scaling = settings[scaled];
  return isJsonObject(scaling) && typeof scaling.MinCapacity === 'number' ? scaling.MinCapacity : 1;
}

function timeToLiveAttribute(logicalId: string, specification: unknown): string | undefined {
  if (!isJsonObject(specification) || specification.Enabled === false) return undefined;
  if (typeof specification.AttributeName !== 'string') throw unsupported(logicalId, 'TimeToLiveSpecification.AttributeName');
  return specification.AttributeName;
}

/** Where in `value` a value stands that is known only at deployment (`Ref`, `Fn::...`). */
function pathOfIntrinsic(value: unknown, path = ''): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [key, child] of Object.entries(value)) {
    if (key === 'Ref' || key.startsWith('Fn::')) return path;
    const found = pathOfIntrinsic(child, path === '' ? key : `${path}.${key}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

function unsupported(logicalId: string, property: string): TestingKitError {
  return new TestingKitError('TABLE_UNSUPPORTED', `Table '${logicalId}': ${property} is known only at deployment. Expected a plain value`);
}

function listed(tables: readonly TableResource[]): string {
  return tables.length === 0 ? 'It has no tables at all.' : `It has: ${tables.map(table => table.logicalId).join(', ')}.`;
}
