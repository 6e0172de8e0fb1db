/*
 * The part of DynamoDB's expression language that the protocol uses: conditions, and updates by SET and REMOVE. Anything else is an error, so that a
 * request which the simulated table does not understand cannot pass unnoticed.
 */

export type Attributes = Readonly<Record<string, unknown>>;

/** What an expression is evaluated against. */
export interface Scope {
  readonly item: Attributes;
  readonly names: Readonly<Record<string, string>>;
  readonly values: Readonly<Record<string, unknown>>;
}

/** DynamoDB refuses the request as malformed. */
export class ValidationException extends Error {
  override readonly name = 'ValidationException';
}

export type Path = readonly string[];
type Operand = (scope: Scope) => unknown;
export type Condition = (scope: Scope) => boolean;

/** An update, taken apart. */
export interface Update {
  readonly sets: readonly { readonly path: Path; readonly value: Operand }[];
  readonly removes: readonly Path[];
}

/** A parsed expression, and every `#name` and `:value` in it: DynamoDB refuses a request that defines others. */
export interface Parsed<T> {
  readonly parsed: T;
  readonly uses: ReadonlySet<string>;
}

export function parseCondition(text: string): Parsed<Condition> {
  const parser = new Parser(text);
  const parsed = parser.or();
  parser.end();
  return { parsed, uses: parser.uses };
}

export function parseUpdate(text: string): Parsed<Update> {
  const parser = new Parser(text);
  const parsed = parser.update();
  parser.end();
  return { parsed, uses: parser.uses };
}

/** The value at a path; undefined where there is none. */
export function valueAt(path: Path, { item, names }: Pick<Scope, 'item' | 'names'>): unknown {
  let value: unknown = item;
  for (const segment of path) {
    if (!isMap(value)) return undefined;
    value = value[nameOf(segment, names)];
  }
  return value;
}

export function nameOf(segment: string, names: Scope['names']): string {
  if (!segment.startsWith('#')) return segment;
  const name = names[segment];
  if (name === undefined) throw new ValidationException(`An expression attribute name used in the document path is not defined: ${segment}`);
  return name;
}

export function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

class Parser {
  readonly uses = new Set<string>();
  private readonly tokens: readonly string[];
  private place = 0;

  constructor(text: string) {
    this.tokens = text.match(/[#:]?\w+|<>|<=|>=|\S/g) ?? [];
  }

  or(): Condition {
    let left = this.and();
    while (this.take('OR')) {
      const [one, other] = [left, this.and()];
      left = scope => one(scope) || other(scope);
    }
    return left;
  }

  update(): Update {
    const sets: { path: Path; value: Operand }[] = [];
    const removes: Path[] = [];
    while (this.place < this.tokens.length) {
      if (this.take('SET')) {
        do {
          const path = this.path();
          this.expect('=');
          sets.push({ path, value: this.sum() });
        } while (this.take(','));
      } else {
        this.expect('REMOVE');
        do removes.push(this.path()); while (this.take(','));
      }
    }
    return { sets, removes };
  }

  end(): void {
    if (this.place < this.tokens.length) throw this.unexpected();
  }

  private and(): Condition {
    let left = this.term();
    while (this.take('AND')) {
      const [one, other] = [left, this.term()];
      left = scope => one(scope) && other(scope);
    }
    return left;
  }

  private term(): Condition {
    if (this.take('(')) {
      const inner = this.or();
      this.expect(')');
      return inner;
    }
    if (this.take('attribute_not_exists')) {
      const path = this.argument();
      return scope => valueAt(path, scope) === undefined;
    }
    if (this.take('attribute_exists')) {
      const path = this.argument();
      return scope => valueAt(path, scope) !== undefined;
    }
    const left = this.operand();
    const comparator = this.tokens[this.place++] ?? '';
    const compare = COMPARATORS.get(comparator);
    if (compare === undefined) throw this.unexpected('a comparator');
    const right = this.operand();
    return scope => isComparable(left(scope), right(scope)) && compare(left(scope) as number, right(scope) as number);
  }

  private argument(): Path {
    this.expect('(');
    const path = this.path();
    this.expect(')');
    return path;
  }

  private sum(): Operand {
    const left = this.operand();
    if (!this.take('+')) return left;
    const right = this.operand();
    return scope => numeric(left(scope)) + numeric(right(scope));
  }

  private operand(): Operand {
    const token = this.tokens[this.place];
    if (token?.startsWith(':')) {
      this.place++;
      this.uses.add(token);
      return ({ values }) => {
        const value = values[token];
        if (value === undefined) throw new ValidationException(`An expression attribute value used in expression is not defined: ${token}`);
        return value;
      };
    }
    if (this.take('if_not_exists')) {
      this.expect('(');
      const path = this.path();
      this.expect(',');
      const otherwise = this.operand();
      this.expect(')');
      return scope => valueAt(path, scope) ?? otherwise(scope);
    }
    const path = this.path();
    return scope => valueAt(path, scope);
  }

  private path(): Path {
    const path: string[] = [];
    do {
      const segment = this.tokens[this.place++];
      if (segment === undefined || !/^#?\w+$/.test(segment)) throw this.unexpected();
      if (segment.startsWith('#')) this.uses.add(segment);
      path.push(segment);
    } while (this.take('.'));
    return path;
  }

  private take(token: string): boolean {
    if (this.tokens[this.place] !== token) return false;
    this.place++;
    return true;
  }

  private expect(token: string): void {
    if (!this.take(token)) throw this.unexpected(token);
  }

  private unexpected(wanted = 'something else'): ValidationException {
    return new ValidationException(`Invalid expression: ${this.tokens.slice(0, this.place + 1).join(' ')} <- ${wanted} expected`);
  }
}

const COMPARATORS: ReadonlyMap<string, (left: number | string, right: number | string) => boolean> = new Map([
  ['=', (left, right) => left === right],
  ['<>', (left, right) => left !== right],
  ['<', (left, right) => left < right],
  ['<=', (left, right) => left <= right],
  ['>', (left, right) => left > right],
  ['>=', (left, right) => left >= right],
]);

/** Without a value on both sides, and of the same type, no comparison holds. */
function isComparable(left: unknown, right: unknown): boolean {
  if (left === undefined || right === undefined) return false;
  if (isMap(left) || isMap(right)) throw new ValidationException('The protocol compares no maps');
  return typeof left === typeof right;
}

function numeric(value: unknown): number {
  if (typeof value !== 'number') throw new ValidationException('An operand in the update expression has an incorrect data type');
  return value;
}
