import { IConstruct } from 'constructs';
import { SharedTokenTableError } from './errors';

/** An enumeration whose values are text. */
interface Choices {
  readonly [name: string]: string;
}

/** TypeScript sees to this; in plain JavaScript an option that is written wrong would count as absent, and a grant be for everything. */
export function checkKnown(scope: IConstruct, what: string, options: object, known: readonly string[]): void {
  const unknown = Object.keys(options).find(name => !known.includes(name));
  if (unknown === undefined) return;
  throw new SharedTokenTableError(scope, {
    what: `There is no such option of ${what}.`,
    got: `'${unknown}'`,
    expected: known.join(', '),
    todo: 'Correct its name, or leave it out.',
  });
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
