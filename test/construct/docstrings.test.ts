import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as ts from 'typescript';

/*
 * Every `@example` of the public API compiles against the sources, within a stack. What users have to import anyway is imported for them.
 */
const REPOSITORY = join(__dirname, '..', '..');

const IMPORTS = [
  "import { Duration, Stack } from 'aws-cdk-lib';",
  ...['ecs', 'iam', 'lambda', 'scheduler', 'secretsmanager'].map(name => `import * as ${name} from 'aws-cdk-lib/aws-${name}';`),
  "import { NodejsFunction } from 'aws-cdk-lib/aws-lambda-nodejs';",
  "import { SharedTokenTable, TokenAccess, TokenRefresher, TokenSource } from './src';",
];

interface Example {
  readonly at: string;
  readonly text: string;
}

function examplesOf(file: string): Example[] {
  const text = readFileSync(join(REPOSITORY, file), 'utf8');
  return [...text.matchAll(/^ *\* @example\n((?: *\*(?!\/)(?! @).*\n)+)/gm)].map(match => ({
    at: `${file}:${text.slice(0, match.index).split('\n').length}`,
    text: match[1].replace(/^ *\* ?/gm, ''),
  }));
}

/** Declarations stand outside the stack, statements in a method of it. */
function inStack({ text }: Example): string {
  const lines = text.split('\n');
  const isDeclaration = (line: string) => line.startsWith('declare ');
  return [
    ...IMPORTS,
    ...lines.filter(isDeclaration),
    'export class Example extends Stack { example(): void {',
    ...lines.filter(line => !isDeclaration(line)),
    '} }',
  ].join('\n');
}

const examples = readdirSync(join(REPOSITORY, 'src')).filter(name => name.endsWith('.ts')).flatMap(name => examplesOf(`src/${name}`));

test('classes have examples, and so do the methods that attach, add and grant', () => {
  const count = (file: string) => examples.filter(({ at }) => at.startsWith(`src/${file}.ts:`)).length;
  expect(['shared-token-table', 'shared-token-table-base', 'token-refresher', 'token-source'].map(count)).toEqual([2, 5, 4, 3]);
});

test('every example compiles', () => {
  const sources = new Map(examples.map((example, index) => [join(REPOSITORY, `example-${index}.ts`), { example, text: inStack(example) }]));
  const options: ts.CompilerOptions = {
    module: ts.ModuleKind.Node16,
    moduleResolution: ts.ModuleResolutionKind.Node16,
    target: ts.ScriptTarget.ES2022,
    lib: ['lib.es2022.d.ts'],
    types: ['node'],
    strict: true,
    noEmit: true,
    skipLibCheck: true,
  };
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists, readFile } = host;
  host.fileExists = name => sources.has(name) || fileExists(name);
  host.readFile = name => sources.get(name)?.text ?? readFile(name);
  host.getSourceFile = (name, version, ...rest) => {
    const source = sources.get(name);
    return source === undefined ? getSourceFile(name, version, ...rest) : ts.createSourceFile(name, source.text, version);
  };
  const program = ts.createProgram([...sources.keys()], options, host);
  const problems = [...sources].flatMap(([name, { example }]) => {
    const file = program.getSourceFile(name);
    return [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)]
      .map(({ messageText }) => `${example.at}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`);
  });
  expect(problems).toEqual([]);
});
