import { PLACEHOLDER } from '../../src/private/source-rules';

/**
 * A copy in which each `{{field}}` in a text, at any depth, is replaced by what `valueOf` says. Names of members are left as they are, and so is what looks
 * like a placeholder in a value that was filled in.
 */
export function fillIn<T>(template: T, valueOf: (field: string) => string): T {
  if (typeof template === 'string') return template.replace(PLACEHOLDER, (_, field: string) => valueOf(field)) as T;
  if (Array.isArray(template)) return template.map((part: unknown) => fillIn(part, valueOf)) as T;
  if (typeof template !== 'object' || template === null) return template;
  return Object.fromEntries(Object.entries(template).map(([name, part]: [string, unknown]) => [name, fillIn(part, valueOf)])) as T;
}

/** The fields that a template names. */
export function placeholdersIn(template: unknown): string[] {
  const fields: string[] = [];
  fillIn(template, field => {
    fields.push(field);
    return '';
  });
  return fields;
}
