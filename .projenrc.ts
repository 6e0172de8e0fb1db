import { awscdk, javascript, typescript } from 'projen';

/** TypeScript that jsii does not compile: each folder is one part of the product or of its proof. */
const SHIPPED_OUTSIDE_JSII = ['lambda-runtime', 'testing-kit'];
const NOT_SHIPPED = ['bench', 'examples', 'demo', 'local-aws', 'scripts', 'simulation', 'soak', 'toolchain'];
/** Below `test/`: suites that need more than `npm ci`, each with its own command (`toolchain/` installs what they need). */
const SUITES_OF_THEIR_OWN = ['lambda', 'deployment'];
/** ES modules alone, while jest loads CommonJS. */
const ESM_PACKAGES = '(jose|oauth4webapi|oauth2-mock-server|is-plain-obj)';

const project = new awscdk.AwsCdkConstructLibrary({
  name: 'cdk-shared-token-table',
  description: 'One third-party API token, shared by every Lambda function that needs it: exactly one refresh per rotation, nobody left waiting.',
  keywords: ['aws', 'cdk', 'awscdk', 'aws-cdk', 'lambda', 'dynamodb', 'oauth', 'oauth2', 'access-token', 'token-refresh', 'lambda-layer'],
  author: 'cdk-shared-token-table contributors',
  authorAddress: 'https://github.com/cdk-shared-token-table',
  authorOrganization: true,
  repositoryUrl: 'https://github.com/cdk-shared-token-table/cdk-shared-token-table.git',
  license: 'Apache-2.0',
  stability: 'experimental',
  defaultReleaseBranch: 'main',
  majorVersion: 0,

  // The oldest CDK that knows Runtime.NODEJS_24_X and synthesizes TableV2 without deprecation warnings.
  cdkVersion: '2.232.0',
  constructsVersion: '10.5.1',
  jsiiVersion: '~6.0.0',
  minNodeVersion: '20.16.0',
  workflowNodeVersion: '22',
  packageManager: javascript.NodePackageManager.NPM,
  // commit-and-tag-version 13 asks for a newer Node than the oldest we support.
  bumpPackage: 'commit-and-tag-version@^12',

  publishToPypi: { distName: 'cdk-shared-token-table', module: 'cdk_shared_token_table' },
  publishToMaven: {
    javaPackage: 'io.github.cdksharedtokentable',
    mavenGroupId: 'io.github.cdk-shared-token-table',
    mavenArtifactId: 'cdk-shared-token-table',
  },
  publishToNuget: { dotNetNamespace: 'CdkSharedTokenTable', packageId: 'CdkSharedTokenTable' },
  publishToGo: { moduleName: 'github.com/cdk-shared-token-table/cdk-shared-token-table-go', packageName: 'sharedtokentable' },

  projenrcTs: true,
  projenrcTsOptions: { runner: typescript.TypeScriptRunner.tsx() },
  sampleCode: false,
  depsUpgrade: false,
  pullRequestTemplate: false,
  githubOptions: { mergify: false },

  devDeps: [
    '@aws-cdk/integ-runner@2.197.10', // the newest; it reads assemblies up to those of the CDK of its time
    '@aws-cdk/integ-tests-alpha@2.214.0-alpha.0', // the newest that takes CDK 2.232.0
    '@aws-sdk/client-dynamodb@^3.900.0',
    '@aws-sdk/client-kms@^3.900.0',
    '@aws-sdk/client-lambda@^3.900.0',
    '@aws-sdk/client-secrets-manager@^3.900.0',
    '@aws-sdk/client-ssm@^3.900.0',
    '@aws-sdk/lib-dynamodb@^3.900.0',
    '@aws-sdk/util-dynamodb@^3.900.0',
    '@cloud-copilot/iam-simulate@0.1.173', // AGPL: evaluates policies in tests, and is never published
    '@stryker-mutator/api@9.6.1',
    '@stryker-mutator/core@9.6.1', // 10 needs Node 22; with a test runner of our own, test/mutation
    '@types/node@^22',
    'cdk-nag@2.38.2', // 3 needs CDK 2.257
    'dynalite@4.0.0', // testing-kit/dynalite-engine.ts patches its internals, hence the exact version
    'esbuild@^0.28.2',
    'fast-check@^4',
    'jose@^6', // in the bundles: keys and claims of JWTs; and the demo's API verifies tokens with it
    'oauth4webapi@^3.8.8', // in the bundles: the grants of OAuth
    'oauth2-mock-server@^8.2.3', // 9 needs Node 22
    'tsx@^4',
  ],

  tsconfigDev: {
    include: [...SHIPPED_OUTSIDE_JSII, ...NOT_SHIPPED].map(folder => `../${folder}/**/*.ts`),
  },
  eslintOptions: {
    dirs: ['src', ...SHIPPED_OUTSIDE_JSII],
    devdirs: ['test', ...NOT_SHIPPED],
    commandOptions: { fix: false }, // a test run changes no file
  },
  jestOptions: {
    jestVersion: '^30',
    // projen's default updates snapshots even in CI, so they could never fail.
    updateSnapshot: javascript.UpdateSnapshot.NEVER,
    configFilePath: 'jest.config.json',
    jestConfig: {
      testTimeout: 60_000,
      globalSetup: '<rootDir>/test/support/temporary-folder-setup.js',
      globalTeardown: '<rootDir>/test/support/temporary-folder-teardown.js',
      maxWorkers: '100%', // by default jest leaves one core idle: of two, that is half of the machine
      modulePathIgnorePatterns: ['<rootDir>/mutation-output/', '<rootDir>/.cache/'], // copies of this repository while `npm run mutate` runs; the toolchain
      testPathIgnorePatterns: ['/node_modules/', ...SUITES_OF_THEIR_OWN.map(folder => `<rootDir>/test/${folder}/`)],
      collectCoverage: false, // `npx projen test --coverage` where it is wanted
      transform: { [`/node_modules/${ESM_PACKAGES}/.+\\.m?js$`]: new javascript.Transform('<rootDir>/test/support/esm-package-transform.mjs') },
      transformIgnorePatterns: [`/node_modules/(?!${ESM_PACKAGES}/)`],
      collectCoverageFrom: ['src/**/*.ts', 'lambda-runtime/**/*.ts', 'testing-kit/**/*.ts'],
    },
  },

  gitignore: ['/runtime/', '/testing/', '/assets/', '/demo-output/', '/mutation-output/', 'cdk.out/'],
});

// What only this repository needs: the sources of the runtime and of the testing kit are published as bundles with types.
for (const workshop of [
  '/.cache/', '/.ci/', '/.npmrc', '/ARCHITECTURE.md', '/CONTRIBUTING.md', '/bench/', '/demo/', '/demo-output/', '/docs/', '/examples/', '/lambda-runtime/', '/local-aws/', '/mutation-output/', '/scripts/',
  '/simulation/', '/soak/', '/testing-kit/', '/toolchain/', 'cdk.out/',
]) project.addPackageIgnore(workshop);

// --- package.json: one package, six entry points, one command -----------------------------------------------------------------------------
project.package.addField('type', 'commonjs');
project.package.addField('allowScripts', { esbuild: true });
const entryPoint = (folder: string) => ({
  ...(folder.startsWith('runtime') && { module: `./${folder}/module.mjs` }), // for bundlers; Node.js knows no such condition
  import: { types: `./${folder}/index.d.mts`, default: `./${folder}/index.mjs` },
  require: { types: `./${folder}/index.d.ts`, default: `./${folder}/index.js` },
});
project.package.addField('exports', {
  '.': { types: './lib/index.d.ts', default: './lib/index.js' },
  './runtime': entryPoint('runtime'),
  './runtime/oauth': entryPoint('runtime/oauth'),
  './runtime/refresher': entryPoint('runtime/refresher'),
  './runtime/operator': entryPoint('runtime/operator'),
  './testing': entryPoint('testing'),
  './package.json': './package.json',
  './.jsii': './.jsii',
});

project.package.addBin({ 'shared-token': 'runtime/operator/shared-token.js' });

// --- what runs in a function, and what tests run against --------------------------------------------------------------------------------
for (const folder of SHIPPED_OUTSIDE_JSII) {
  new javascript.TypescriptConfig(project, {
    fileName: `${folder}/tsconfig.json`,
    include: ['**/*.ts'],
    compilerOptions: {
      target: 'ES2022',
      lib: ['es2022'],
      module: 'node16',
      types: ['node'],
      strict: true,
      noImplicitOverride: true,
      noUncheckedIndexedAccess: true,
      noUnusedLocals: true,
      noUnusedParameters: true,
      exactOptionalPropertyTypes: true,
      skipLibCheck: true,
      declaration: true,
      emitDeclarationOnly: true,
      rootDir: '..',
      outDir: folder === 'lambda-runtime' ? '../runtime/types' : '../testing/types',
    },
  });
}
for (const folder of NOT_SHIPPED) {
  new javascript.TypescriptConfig(project, {
    fileName: `${folder}/tsconfig.json`,
    extends: javascript.TypescriptConfigExtends.fromPaths(['../test/tsconfig.json']),
    include: ['**/*.ts'],
    compilerOptions: {},
  });
}
// The files that know the SDK, one for each service, what is bundled, and the kit that needs dynalite: jsii forbids undeclared kinds of dependency.
project.eslint?.allowDevDeps('lambda-runtime/dynamodb-token-store.ts');
project.eslint?.allowDevDeps('lambda-runtime/lambda-refresher.ts');
project.eslint?.allowDevDeps('lambda-runtime/encryption/kms-data-keys.ts');
project.eslint?.allowDevDeps('lambda-runtime/oauth/secrets-manager.ts');
project.eslint?.allowDevDeps('lambda-runtime/oauth/ssm.ts');
project.eslint?.allowDevDeps('lambda-runtime/oauth/libraries.ts');
project.eslint?.allowDevDeps('testing-kit/**');

const bundle = project.addTask('bundle', {
  description: 'Bundle the runtime (npm entry point and layer) and the testing kit',
  steps: [{ exec: 'tsx scripts/bundle.ts' }, { exec: 'tsc -p lambda-runtime' }, { exec: 'tsc -p testing-kit' }],
});
project.preCompileTask.spawn(bundle);
project.testTask.prependExec('tsc --noEmit -p test/tsconfig.json');
project.testTask.prependSpawn(bundle);

project.addTask('compile-and-package', {
  description: 'The full build without the tests: what .ci/run does before them',
  steps: [{ spawn: 'pre-compile' }, { spawn: 'compile' }, { spawn: 'post-compile' }, { spawn: 'package:js' }],
});

function suiteOfItsOwn(folder: string, ...tools: string[]): string {
  return `node --import tsx toolchain/main.ts ${tools.join(' ')} && npm run --silent bundle && jest -c test/${folder}/jest.config.js`;
}
// A plain script: `npm run --silent demo -- --json` prints the JSON alone, with no task runner in between.
// No wrapper process either: it would end the demo before it has cleaned up after Ctrl-C.
project.package.setScript('demo', 'node --import tsx demo/main.ts');
project.package.setScript('simulate', 'node --import tsx simulation/main.ts');
project.package.setScript('mutate', 'stryker run test/mutation/stryker.config.mjs');
project.package.setScript('toolchain', 'node --import tsx toolchain/main.ts');
project.package.setScript('test:lambda', suiteOfItsOwn('lambda', 'node-22', 'node-24', 'lambda-runtime-client'));
project.package.setScript('test:node', 'node --import tsx scripts/test-on-node.ts');
project.package.setScript('test:cdk', 'node --import tsx scripts/test-on-newest-cdk.ts');
project.package.setScript('test:deploy', suiteOfItsOwn('deployment', 'node-22', 'local-cloud', 'cdk-toolkit'));
project.package.setScript('bench', 'npm run --silent bundle && node --import tsx bench/main.ts');
const INTEG_RUNNER = 'npm run --silent bundle && integ-runner --config test/integ/integ.config.json';
project.package.setScript('integ', INTEG_RUNNER);
project.package.setScript('integ:update', `${INTEG_RUNNER} --force --dry-run`);
project.package.setScript('integ:deploy', `${INTEG_RUNNER} --force`);
project.package.setScript('soak', 'npm run --silent bundle && node --import tsx soak/main.ts');

// A lock file that names no registry: npm takes each package from the registry it is configured for.
project.npmrc.addConfig('omit-lockfile-registry-resolved', 'true');

// The publisher knows its own default registry; the project names none (test/package/repository.test.ts).
project.github?.tryFindWorkflow('release')?.file?.addDeletionOverride('jobs.release_npm.steps.9.env.NPM_REGISTRY');

project.synth();
