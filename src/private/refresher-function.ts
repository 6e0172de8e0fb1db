import * as lambda from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import { consumerOf, DefinedFunction } from './consumer';
import { SharedTokenTableError } from './errors';

/** Under a function of the user's: all that belongs to it as a refresher. */
const HOME_ID = 'SharedTokenRefresher';

/** The user's function that is to be a refresher, or why it cannot be. */
export function refresherFunctionOf(scope: Construct, handler: lambda.IFunction | undefined): DefinedFunction {
  if (handler?.permissionsNode === undefined) {
    throw new SharedTokenTableError(scope, {
      what: 'A function of yours is a refresher once it is passed.',
      got: handler ? typeof handler : 'nothing',
      expected: 'a function that this app defines',
      todo: 'Pass it: `TokenSource.fromFunction(fn)`.',
    });
  }
  const consumer = consumerOf(scope, handler);
  if (consumer.kind === 'imported') {
    throw new SharedTokenTableError(scope, {
      what: 'A refresher gets environment variables, by which it knows its token and its table.',
      got: `the imported function ${handler.node.path}, which can be given none`,
      expected: 'a function that this app defines',
      todo: 'Add the refresher in the app that defines the function (`SharedTokenTable.fromTableName`).',
    });
  }
  if ('aliasName' in handler || 'lambda' in handler) {
    throw new SharedTokenTableError(scope, {
      what: 'A refresher is invoked as the function itself, and gets an alias of its own for its schedule.',
      got: `${handler.node.path}, an alias or a version`,
      expected: `the function, ${consumer.function.node.path}`,
      todo: 'Pass the function.',
    });
  }
  if (consumer.function.node.tryFindChild(HOME_ID)) {
    throw new SharedTokenTableError(scope, {
      what: 'A function refreshes one token.',
      got: `${consumer.function.node.path}, which is a refresher already`,
      expected: 'a function that is none yet',
      todo: 'Define a function for each token; they can have the same code.',
    });
  }
  return consumer;
}

/** In the function's own stack, which may be another than the table's: it needs the table, so nothing of the table's stack may need it. */
export function homeOf({ function: fn }: DefinedFunction): Construct {
  return new Construct(fn, HOME_ID);
}
