import { Annotations, Stack } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { ImportedFunction } from './consumer';
import { ENV, RUNTIME_MODULE } from './contract';
import { SharedTokenTableError, warningId } from './errors';
import { Reference } from './reference';
import { NamedRefresher, RefresherMap } from './refresher-map';
import { tableVariable } from './variables';

const ID = 'SharedTokenAttachment';

/** What somebody else has to set on an imported function: told once, when all of it is known, however often the function is attached. */
export class ImportedAttachment extends Construct {
  public static of({ function: imported }: ImportedFunction): ImportedAttachment {
    const existing = imported.node.tryFindChild(ID);
    return existing ? existing as ImportedAttachment : new ImportedAttachment(imported);
  }

  private readonly tables = new Map<string, Reference>();
  private hasRefreshers = false;

  private constructor(private readonly imported: ImportedFunction['function']) {
    // An interface in the other languages of jsii, a construct all the same.
    super(imported as unknown as Construct, ID);
    this.node.addValidation({ validate: () => this.warn() });
  }

  /** Names a table in a variable, which has room for one. */
  public uses(table: Reference, variable: string): void {
    const known = this.tables.get(variable);
    if (known && this.show(known.from(this.imported.env)) !== this.show(table.from(this.imported.env))) {
      throw new SharedTokenTableError(this.imported, {
        ...tableVariable(variable, table).taken,
        got: this.show(table.from(this.imported.env)),
        expected: this.show(known.from(this.imported.env)),
      });
    }
    this.tables.set(variable, known ?? table);
  }

  public asks(refresher: NamedRefresher): void {
    RefresherMap.of(this.imported).add(refresher);
    this.hasRefreshers = true;
  }

  private warn(): string[] {
    const { env } = this.imported;
    const variables = [...this.tables].map(([variable, table]) => `${variable} to ${this.show(table.from(env))}`);
    if (this.hasRefreshers) variables.push(`${ENV.REFRESHERS} to ${this.show(RefresherMap.of(this.imported).toJson(env))}`);
    Annotations.of(this.imported).addWarningV2(warningId('importedFunction'), [
      'Only permissions can be given to an imported function.',
      `Whoever defines it must set the environment variable${variables.length > 1 ? 's' : ''} ${variables.join(' and ')}`,
      `and make ${RUNTIME_MODULE} available, by the npm package or a layer.`,
    ].join(' '));
    return [];
  }

  private show(value: string): string {
    return JSON.stringify(Stack.of(this).resolve(value));
  }
}
