import { App, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { SharedTokenTable } from '../../src';
import { startEmbeddedTable, type JsonObject, type StartedEmbeddedTable, type StartEmbeddedTableOptions } from '../../testing-kit';

/** The template of a stack with a token table and nothing else. */
export function tokenTableTemplate(): JsonObject {
  const stack = new Stack(new App(), 'Stack');
  new SharedTokenTable(stack, 'Tokens');
  return Template.fromStack(stack).toJSON();
}

/** An embedded table, made from the synthesized template. Stop it when the test is over. */
export async function startTokenTable(options: Omit<StartEmbeddedTableOptions, 'template'> = {}): Promise<StartedEmbeddedTable> {
  return startEmbeddedTable({ template: tokenTableTemplate(), ...options });
}
