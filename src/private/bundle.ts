import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { IConstruct } from 'constructs';
import { PACKAGE_NAME } from './contract';
import { SharedTokenTableError } from './errors';

/** The same place seen from `src/private` and from `lib/private`, in this repository and in an installed package. */
const ASSETS = resolve(__dirname, '..', '..', 'assets');

/** Where the bundles of this package are. */
export const BUNDLE = {
  LAYER: join(ASSETS, 'layer'),
  REFRESHER: join(ASSETS, 'refresher'),
} as const;

/** Refuses a folder that was not bundled, before an empty asset is made of it. */
export function checkBundle(scope: IConstruct, folder: string, file: string, what: string): void {
  const path = join(folder, file);
  if (existsSync(path)) return;
  throw new SharedTokenTableError(scope, {
    what: `${what} is missing from this package.`,
    got: `no file ${path}`,
    expected: 'the bundle that is published with it',
    todo: `Install ${PACKAGE_NAME} again. In a clone of its repository, run "npm run bundle".`,
  });
}
