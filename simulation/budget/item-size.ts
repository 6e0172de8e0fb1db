import { type Attributes, isMap } from '../expression';

/*
 * What DynamoDB bills, for the types that are stored here.
 */

const READ_UNIT_BYTES = 4_096;
const WRITE_UNIT_BYTES = 1_024;

/** Of a strongly consistent read. One that finds nothing costs one unit. */
export function readUnits(item: Attributes | undefined): number {
  return unitsOf(item, READ_UNIT_BYTES);
}

/** Of a write, by the larger of the items before and after. A condition that fails costs what the item there is worth. */
export function writeUnits(before: Attributes | undefined, after: Attributes | undefined): number {
  return Math.max(unitsOf(before, WRITE_UNIT_BYTES), unitsOf(after, WRITE_UNIT_BYTES));
}

function unitsOf(item: Attributes | undefined, unitBytes: number): number {
  return item === undefined ? 1 : Math.max(1, Math.ceil(sizeOf(item) / unitBytes));
}

/** Items are never changed in place, and there are few of them. */
const sizes = new WeakMap<Attributes, number>();

function sizeOf(item: Attributes): number {
  let size = sizes.get(item);
  if (size === undefined) {
    size = sizeOfEntries(item);
    sizes.set(item, size);
  }
  return size;
}

function sizeOfEntries(map: Attributes): number {
  return Object.entries(map).reduce((sum, [name, value]) => sum + Buffer.byteLength(name) + sizeOfValue(value), 0);
}

function sizeOfValue(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value);
  if (typeof value === 'number') return Math.ceil(String(Math.abs(value)).length / 2) + 1;
  if (isMap(value)) return 3 + Object.keys(value).length + sizeOfEntries(value);
  throw new Error(`No size is known for a ${typeof value}.`);
}
