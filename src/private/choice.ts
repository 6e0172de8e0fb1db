import { IConstruct } from 'constructs';
import { SharedTokenTableError } from './errors';

/** An enumeration whose values are text. */
interface Choices {
  readonly [name: string]: string;
}

/** TypeScript sees to this; plain JavaScript does not. */
export function checkChoice(scope: IConstruct, type: string, choices: Choices, value: string, what: string): void {
  if (Object.values(choices).includes(value)) return;
  throw new SharedTokenTableError(scope, {
    what,
    got: `'${value}'`,
    expected: Object.entries(choices).map(([name, text]) => `${type}.${name} ('${text}')`).join(' or '),
    todo: `Pass a value of \`${type}\`.`,
  });
}
