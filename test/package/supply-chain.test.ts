import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { outputOf, REPOSITORY } from '../support/command';

/*
 * What a user's build and functions get by installing this package: these files, no scripts, no other packages, and of other people's code only what may be passed on.
 */
interface Manifest {
  readonly name?: string;
  readonly scripts?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

interface Locked {
  readonly version?: string;
  readonly license?: string;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly dev?: boolean;
  readonly inBundle?: boolean;
  readonly hasInstallScript?: boolean;
}

const text = (path: string) => readFileSync(join(REPOSITORY, path), 'utf8');
const manifestAt = (path: string) => JSON.parse(text(path)) as Manifest & Readonly<Record<string, unknown>>;

let sources: readonly string[];
let published: readonly string[];
let locks: ReadonlyMap<string, Readonly<Record<string, Locked>>>;

beforeAll(async () => {
  sources = (await outputOf('git', ['ls-files', '--cached', '--others', '--exclude-standard', '-z'], { cwd: REPOSITORY })).split('\0').filter(path => path !== '');
  const [packed] = JSON.parse(await outputOf('npm', ['pack', '--json', '--dry-run', '--ignore-scripts'], { cwd: REPOSITORY })) as [{ files: { path: string }[] }];
  published = packed.files.map(({ path }) => path);
  locks = new Map(sources.filter(path => /(^|\/)package-lock\.json$/.test(path))
    .map(path => [path, (JSON.parse(text(path)) as { packages: Record<string, Locked> }).packages]));
});

const LAYER = 'assets/layer/nodejs/node_modules/cdk-shared-token-table';
const LICENCES = 'THIRD-PARTY-LICENSES.txt';
const forNpm = (folder: string, ...more: readonly string[]) => ['index.js', 'index.mjs', 'index.d.ts', 'index.d.mts', ...more].map(file => `${folder}/${file}`);
const forLambda = (folder: string, ...more: readonly string[]) => ['index.js', 'index.mjs', ...more].map(file => `${LAYER}/${folder}/${file}`);

const WRITTEN_OUT = [
  'package.json', 'README.md', 'API.md', 'CHANGELOG.md', 'LICENSE', 'SECURITY.md',
  ...forNpm('runtime', 'module.mjs'),
  ...forNpm('runtime/oauth', 'module.mjs', LICENCES),
  ...forNpm('runtime/operator', 'module.mjs', 'shared-token.js'),
  ...forNpm('runtime/refresher', 'module.mjs'),
  ...forNpm('testing'),
  ...forLambda('runtime'),
  ...forLambda('runtime/oauth', LICENCES),
  ...forLambda('runtime/refresher'),
  `${LAYER}/package.json`,
  'assets/refresher/index.js', `assets/refresher/${LICENCES}`,
];

/** What else there may be: each is made from a source, which must be there. */
const sourceOf = (path: string): string | undefined => {
  const compiled = /^lib\/(.+)(\.d\.ts|\.js)$/.exec(path);
  if (compiled) return `src/${compiled[1]}.ts`;
  const declared = /^(?:runtime|testing)\/types\/(.+)\.d\.ts$/.exec(path);
  if (declared) return `${declared[1]}.ts`;
  return path === '.jsii' ? 'src/index.ts' : undefined;
};

test('every published file is one of those that are written here, or made from a source that is here', () => {
  const others = published.filter(path => !WRITTEN_OUT.includes(path));
  expect(others.filter(path => !sources.includes(sourceOf(path) ?? ''))).toEqual([]); // extra: if in lib/, what is left of a source that is gone
  expect(WRITTEN_OUT.filter(path => !published.includes(path))).toEqual([]);
  // tarball.test.ts compiles lib/ where it is missing, and loads all of it; of the types, those that an entry point begins with.
  const entryPoints = ['', '/oauth', '/operator', '/refresher'].map(folder => `runtime/types/lambda-runtime${folder}`);
  expect([...entryPoints, 'testing/types/testing-kit'].filter(folder => !published.includes(`${folder}/index.d.ts`))).toEqual([]);
});

test('no published file is larger than it should be: what is bundled by mistake is noticed', () => {
  const bytesOf = (path: string) => readFileSync(join(REPOSITORY, path)).length;
  const bundles = published.filter(path => /\.m?js$/.test(path) && !path.startsWith('lib/'));
  expect(bundles.length).toBeGreaterThan(15);
  expect(bundles.filter(path => bytesOf(path) > 150_000)).toEqual([]);
});

test('what is published runs nothing when it is installed', () => {
  const run = ['preinstall', 'install', 'postinstall', 'prepublish', 'preprepare', 'prepare', 'postprepare', 'prepack', 'postpack', 'dependencies'];
  const manifests = published.filter(path => /(^|\/)package\.json$/.test(path));
  expect(manifests).toEqual([`${LAYER}/package.json`, 'package.json']);
  for (const path of manifests) expect([path, Object.keys(manifestAt(path).scripts ?? {}).filter(name => run.includes(name))]).toEqual([path, []]);
  expect(published.filter(path => /binding\.gyp$|\.node$/.test(path))).toEqual([]); // npm would build the one, and functions load the other
});

test('what is published brings no other package along: the peers are the app\'s own', () => {
  const bringing = ['dependencies', 'optionalDependencies', 'bundledDependencies', 'bundleDependencies'];
  for (const path of ['package.json', `${LAYER}/package.json`]) {
    const manifest = manifestAt(path);
    expect([path, bringing.filter(field => manifest[field] !== undefined && Object.keys(manifest[field] as object).length > 0)]).toEqual([path, []]);
  }
  expect(Object.keys(manifestAt('package.json').peerDependencies ?? {}).sort()).toEqual(['aws-cdk-lib', 'constructs']);
});

test('every package of a lock file is held to its content, and comes from wherever npm is configured to look', () => {
  expect([...locks.keys()].sort()).toContain('package-lock.json');
  for (const [path, packages] of locks) {
    expect([path, Object.entries(packages).filter(([, { resolved }]) => resolved !== undefined)]).toEqual([path, []]);
    const inPackages = Object.entries(packages).filter(([folder]) => folder !== '');
    expect(inPackages.length).toBeGreaterThan(0);
    const isHeld = (folder: string, { integrity, inBundle }: Locked): boolean => {
      if (integrity !== undefined) return integrity.startsWith('sha512-');
      // In the tarball of the package around it, which is held.
      const around = folder.slice(0, folder.lastIndexOf('/node_modules/'));
      return inBundle === true && around !== folder && packages[around] !== undefined && isHeld(around, packages[around]);
    };
    expect([path, inPackages.filter(([folder, entry]) => !isHeld(folder, entry)).map(([folder]) => folder)]).toEqual([path, []]);
  }
});

test('scripts of other packages that may run when this repository is installed are named', () => {
  const scripted = Object.entries(locks.get('package-lock.json')!).filter(([, { hasInstallScript }]) => hasInstallScript).map(([folder]) => folder);
  expect(scripted).toEqual(['node_modules/@parcel/watcher', 'node_modules/classic-level', 'node_modules/esbuild']);
});

/** Of those whose code is passed on: what Apache-2.0 may be combined with, its notice kept. */
const COMPATIBLE = ['MIT', 'ISC', 'BSD-2-Clause', 'BSD-3-Clause', '0BSD', 'Apache-2.0', 'Unlicense', 'CC0-1.0', 'BlueOak-1.0.0'];

test('other people\'s code in a bundle has its licence beside it, one that may be passed on, and is the code of the lock file', () => {
  const locked = locks.get('package-lock.json')!;
  const files = published.filter(path => path.endsWith(LICENCES));
  expect(files.length).toBe(3);
  for (const path of files) {
    const packages = [...text(path).matchAll(/^(@?[\w./-]+) (\d+\.\d+\.\d+\S*) \((.+)\)$/gm)].map(([, name = '', version, license = '']) => ({ name, version, license }));
    expect(packages.map(({ name }) => name)).toEqual(['jose', 'oauth4webapi']); // another one is added on purpose
    for (const { name, version, license } of packages) {
      expect(COMPATIBLE).toContain(license);
      expect(locked[`node_modules/${name}`]).toMatchObject({ version, license });
    }
  }
  // Both say who they are: in a header of theirs, and in the names of their errors.
  const holding = published.filter(path => /\.m?js$/.test(path) && !path.startsWith('lib/') && /oauth4webapi\/v|ERR_JWT|ERR_JOSE/.test(text(path)));
  expect(holding.length).toBeGreaterThanOrEqual(4);
  expect(holding.filter(path => !existsSync(join(REPOSITORY, dirname(path), LICENCES)))).toEqual([]);
});

test('packages whose licence asks more of who passes them on are for development alone, and in nothing that is published', () => {
  const copyleft = Object.entries(locks.get('package-lock.json')!).filter(([, { license = '' }]) => /GPL|MPL|EPL|SSPL|BUSL/.test(license) && !/\bOR\b/.test(license));
  expect(copyleft.map(([folder, { dev }]) => [folder, dev]).sort()).toEqual([
    ['node_modules/@cloud-copilot/iam-policy', true], ['node_modules/@cloud-copilot/iam-simulate', true], ['node_modules/@cloud-copilot/iam-utils', true],
  ]);
  // package.json names what development needs, and nobody installs that with it.
  const texts = published.filter(path => path !== 'package.json' && path !== 'SECURITY.md').map(path => ({ path, content: text(path) }));
  expect(texts.filter(({ content }) => /cloud-copilot|\bA?GPL\b|GNU (AFFERO )?GENERAL/i.test(content)).map(({ path }) => path)).toEqual([]);
});
