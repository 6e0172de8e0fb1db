import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as ts from 'typescript';
import { REPOSITORY } from '../support/command';

/*
 * Every TypeScript snippet of README and docs compiles against the sources, within the fixture that its info string names: ```ts fixture=stack
 */
interface Snippet {
  readonly at: string;
  readonly fixture: string | undefined;
  readonly code: string;
}

function snippetsOf(file: string): Snippet[] {
  const text = readFileSync(join(REPOSITORY, file), 'utf8');
  return [...text.matchAll(/^```ts ?(.*)\n([\s\S]*?)^```/gm)].map(match => ({
    at: `${file}:${text.slice(0, match.index).split('\n').length}`,
    fixture: /fixture=(\w+)/.exec(match[1] ?? '')?.[1],
    code: match[2] ?? '',
  }));
}

function inFixture({ fixture, code }: Snippet): string {
  if (fixture === undefined) return code;
  const frame = readFileSync(join(__dirname, 'fixtures', `${fixture}.ts`), 'utf8');
  const isImport = (line: string) => line.startsWith('import ');
  const lines = code.split('\n');
  return frame
    .replace('/// imports', () => lines.filter(isImport).join('\n'))
    .replace('/// here', () => lines.filter(line => !isImport(line)).join('\n'));
}

const documents = ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'SECURITY.md', ...readdirSync(join(REPOSITORY, 'docs')).filter(name => name.endsWith('.md')).map(name => `docs/${name}`)];
const snippets = documents.flatMap(snippetsOf);

test('there are snippets for the stack, a refresher, the handler, a user\'s own test and people on call', () => {
  expect(new Set(snippets.map(({ fixture }) => fixture))).toEqual(new Set(['stack', 'refresher', 'handler', 'embedded', 'operator']));
});

test('every snippet compiles', () => {
  const sources = new Map(snippets.map((snippet, index) => [join(REPOSITORY, `snippet-${index}.ts`), { snippet, text: inFixture(snippet) }]));
  const options: ts.CompilerOptions = {
    module: ts.ModuleKind.Node16,
    moduleResolution: ts.ModuleResolutionKind.Node16,
    target: ts.ScriptTarget.ES2022,
    lib: ['lib.es2022.d.ts'],
    types: ['node'],
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    esModuleInterop: true,
    paths: {
      'cdk-shared-token-table': [join(REPOSITORY, 'src/index.ts')],
      'cdk-shared-token-table/runtime': [join(REPOSITORY, 'lambda-runtime/index.ts')],
      'cdk-shared-token-table/runtime/oauth': [join(REPOSITORY, 'lambda-runtime/oauth/index.ts')],
      'cdk-shared-token-table/runtime/refresher': [join(REPOSITORY, 'lambda-runtime/refresher/index.ts')],
      'cdk-shared-token-table/runtime/operator': [join(REPOSITORY, 'lambda-runtime/operator/index.ts')],
      'cdk-shared-token-table/testing': [join(REPOSITORY, 'testing-kit/index.ts')],
    },
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
  const problems = [...sources].flatMap(([name, { snippet }]) => {
    const file = program.getSourceFile(name);
    const diagnostics = [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)];
    return diagnostics.map(({ messageText }) => `${snippet.at}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`);
  });
  expect(problems).toEqual([]);
});
