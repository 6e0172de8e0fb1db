import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { App } from 'aws-cdk-lib';

const EXAMPLES = join(__dirname, '..', '..', '..', 'examples');

/** The example apps: each folder of `examples/` that has an `app.ts`. */
export const EXAMPLE_APPS: readonly string[] = readdirSync(EXAMPLES, { withFileTypes: true })
  .filter(entry => entry.isDirectory() && readdirSync(join(EXAMPLES, entry.name)).includes('app.ts')).map(({ name }) => name);

const made: App[] = [];

/**
 * `aws-cdk-lib`, which keeps the apps that are made: an example makes its app for itself, as a program does. For `jest.mock('aws-cdk-lib', ...)`.
 */
export function withKeptApps(cdk: typeof import('aws-cdk-lib')): typeof import('aws-cdk-lib') {
  class KeptApp extends cdk.App {
    constructor(...args: ConstructorParameters<typeof cdk.App>) {
      super(...args);
      made.push(this);
    }
  }
  return new Proxy(cdk, { get: (target, name) => name === 'App' ? KeptApp : Reflect.get(target, name) });
}

/** Runs an example's program, which makes one app. A program runs once in a process, so this can be asked once. */
export function exampleApp(name: string): App {
  const before = made.length;
  jest.requireActual(join(EXAMPLES, name, 'app.ts'));
  const [app, ...others] = made.slice(before);
  if (app && others.length === 0) return app;
  throw new Error(`examples/${name}/app.ts should make one app, and made ${made.length - before}: is aws-cdk-lib mocked by withKeptApps?`);
}
