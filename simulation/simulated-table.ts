import {
  type Attributes, type Condition, isMap, nameOf, type Parsed, parseCondition, parseUpdate, type Path, type Scope, type Update, ValidationException,
} from './expression';
import type { GetRequest, UpdateRequest } from '../lambda-runtime/dynamodb-requests';

/** A write of the runtime, or of an operator. */
type AnyUpdate = Omit<UpdateRequest, 'ReturnValues' | 'ReturnValuesOnConditionCheckFailure'>;

/** What an update came to: the new item, or the old one where the condition failed. */
export interface UpdateReply {
  readonly applied: boolean;
  readonly item: Attributes | undefined;
}

const projections = new Map<string, readonly string[]>();

interface ParsedRequest {
  readonly update: Parsed<Update>;
  readonly condition: Parsed<Condition>;
  readonly uses: ReadonlySet<string>;
}
const parsedRequests = new Map<string, ParsedRequest>();

/**
 * A DynamoDB table in memory, as far as this protocol goes: the very requests that the runtime builds, conditions included. Items are never changed in
 * place, so whoever holds one holds what it was.
 */
export class SimulatedTable {
  private readonly items = new Map<string, Attributes>();
  private looked: { readonly item: Attributes; readonly expression: string; readonly projected: Attributes } | undefined;

  item(tokenId: string): Attributes | undefined {
    return this.items.get(tokenId);
  }

  put(item: Attributes & { readonly tokenId: string }): void {
    this.items.set(item.tokenId, item);
  }

  delete(tokenId: string): void {
    this.items.delete(tokenId);
  }

  get({ Key, ProjectionExpression, ExpressionAttributeNames }: GetRequest): Attributes | undefined {
    const item = this.items.get(keyOf(Key));
    if (item === undefined) return undefined;
    // The protocol has one projection, and waiters look at the same item again and again.
    if (this.looked?.item === item && this.looked.expression === ProjectionExpression) return this.looked.projected;
    const projected: Record<string, unknown> = {};
    for (const name of projectionOf(ProjectionExpression, ExpressionAttributeNames)) {
      const value = item[name];
      if (value !== undefined) projected[name] = value;
    }
    this.looked = { item, expression: ProjectionExpression, projected };
    return projected;
  }

  /** @throws ValidationException where DynamoDB would */
  update(request: AnyUpdate): UpdateReply {
    const { update, condition } = parsedOf(request);
    const key = keyOf(request.Key);
    const old = this.items.get(key);
    const scope = { item: old ?? {}, names: request.ExpressionAttributeNames, values: request.ExpressionAttributeValues };
    if (!condition.parsed(scope)) return { applied: false, item: old };
    const item = applied(update.parsed, { ...scope, item: old ?? request.Key });
    this.items.set(key, item);
    return { applied: true, item };
  }
}

function keyOf(key: Readonly<Record<string, string>>): string {
  const { tokenId } = key;
  if (tokenId === undefined) throw new ValidationException('The provided key element does not match the schema');
  return tokenId;
}

function projectionOf(text: string, names: Scope['names']): readonly string[] {
  let projection = projections.get(text);
  if (projection === undefined) {
    projection = text.split(', ').map(segment => nameOf(segment, names));
    projections.set(text, projection);
  }
  return projection;
}

function parsedOf(request: AnyUpdate): ParsedRequest {
  const text = `${request.UpdateExpression}|${request.ConditionExpression}`;
  let parsed = parsedRequests.get(text);
  if (parsed === undefined) {
    const update = parseUpdate(request.UpdateExpression);
    const condition = parseCondition(request.ConditionExpression);
    checkPaths(update.parsed, request.ExpressionAttributeNames);
    parsed = { update, condition, uses: new Set([...update.uses, ...condition.uses]) };
    parsedRequests.set(text, parsed);
  }
  checkUses(parsed.uses, request);
  return parsed;
}

/** Every name and value that is defined must be used, and the other way round. */
function checkUses(uses: ReadonlySet<string>, { ExpressionAttributeNames: names, ExpressionAttributeValues: values }: AnyUpdate): void {
  let defined = 0;
  for (const all of [names, values]) {
    for (const name in all) {
      if (!uses.has(name)) throw new ValidationException(`Value provided in ExpressionAttributeNames or ExpressionAttributeValues unused: ${name}`);
      defined++;
    }
  }
  if (defined !== uses.size) throw new ValidationException('An expression uses a name or value that is not defined');
}

/** No two actions may touch paths of which one is the beginning of the other. */
function checkPaths({ sets, removes }: Update, names: Scope['names']): void {
  const paths = [...sets.map(({ path }) => path), ...removes].map(path => `${path.map(segment => nameOf(segment, names)).join('.')}.`);
  for (const [index, path] of paths.entries()) {
    if (path === 'tokenId.') throw new ValidationException('Cannot update attribute tokenId. This attribute is part of the key');
    if (paths.some((other, at) => at !== index && other.startsWith(path))) throw new ValidationException('Two document paths overlap with each other');
  }
}

function applied({ sets, removes }: Update, scope: Scope): Attributes {
  const item = { ...scope.item };
  // Values are taken from the item as it was, whatever the order of the actions.
  for (const { path, value } of sets) change(item, path, scope.names, value(scope));
  for (const path of removes) change(item, path, scope.names, undefined);
  return item;
}

function change(item: Record<string, unknown>, path: Path, names: Scope['names'], value: unknown): void {
  let map = item;
  for (const segment of path.slice(0, -1)) {
    const name = nameOf(segment, names);
    const inner = map[name];
    if (!isMap(inner)) throw new ValidationException('The document path provided in the update expression is invalid for update');
    const copy = { ...inner };
    map[name] = copy;
    map = copy;
  }
  const last = nameOf(path.at(-1) as string, names);
  if (value === undefined) delete map[last];
  else map[last] = value;
}
