import { join } from 'node:path';
import { Duration, Stack, type App } from 'aws-cdk-lib';
import { Code, Function as LambdaFunction, Runtime, type IFunction } from 'aws-cdk-lib/aws-lambda';
import { LogLevel, NodejsFunction, OutputFormat, type BundlingOptions } from 'aws-cdk-lib/aws-lambda-nodejs';
import { NODES, type NodeMajor } from '../../../local-aws/lambda/environment-variables';
import { SharedTokenTable } from '../../../src';
import { REPOSITORY } from '../../support/command';

const RUNTIMES: Readonly<Record<NodeMajor, Runtime>> = { 22: Runtime.NODEJS_22_X, 24: Runtime.NODEJS_24_X };

/** Long enough that no invocation of a test ends by it, unless the test says so. */
const TIMEOUT = Duration.seconds(60);
export const MEMORY_MB = 256;

const CONSUMERS = join(__dirname, '..', 'consumers');
const ENTRY = join(CONSUMERS, 'es-module', 'index.mjs');

/** How a function comes by the runtime. */
export const KINDS = ['CommonJS', 'ES module', 'bundle beside the layer', 'ES module bundle with Lambda\'s SDK', 'bundle with all in it'] as const;
export type Kind = typeof KINDS[number];

/** One function of each kind, for each version of Node.js, attached to one table. */
export class ConsumersStack extends Stack {
  readonly tokens = new SharedTokenTable(this, 'Tokens');
  private readonly functions = new Map<string, IFunction>();

  constructor(app: App, id: string, kinds: readonly Kind[]) {
    super(app, id);
    for (const node of NODES) for (const kind of kinds) this.functions.set(`${kind} ${node}`, this.consumer(kind, node));
  }

  functionOf(kind: Kind, node: NodeMajor): IFunction {
    const fn = this.functions.get(`${kind} ${node}`);
    if (!fn) throw new Error(`There is no consumer of the kind ${kind} in this stack.`);
    return fn;
  }

  private consumer(kind: Kind, node: NodeMajor): IFunction {
    const fn = this.define(kind, node);
    this.tokens.attachTo(fn);
    return fn;
  }

  private define(kind: Kind, node: NodeMajor): LambdaFunction {
    switch (kind) {
      case 'CommonJS': return this.plain(`CommonJs${node}`, node, 'commonjs/index.handler');
      case 'ES module': return this.plain(`EsModule${node}`, node, 'es-module/index.handler');
      case 'bundle beside the layer': return this.bundled(`Beside${node}`, node, {
        format: OutputFormat.ESM, externalModules: ['@aws-sdk/*', ...SharedTokenTable.RUNTIME_MODULES],
      });
      case 'ES module bundle with Lambda\'s SDK': return this.bundled(`LambdasSdk${node}`, node, { format: OutputFormat.ESM, externalModules: ['@aws-sdk/*'] });
      case 'bundle with all in it': return this.bundled(`Whole${node}`, node, { externalModules: [] });
    }
  }

  private plain(id: string, node: NodeMajor, handler: string): LambdaFunction {
    return new LambdaFunction(this, id, {
      runtime: RUNTIMES[node],
      handler,
      code: Code.fromAsset(CONSUMERS),
      timeout: TIMEOUT,
      memorySize: MEMORY_MB,
    });
  }

  private bundled(id: string, node: NodeMajor, bundling: BundlingOptions): LambdaFunction {
    return new NodejsFunction(this, id, {
      runtime: RUNTIMES[node],
      entry: ENTRY,
      bundling: { ...bundling, logLevel: LogLevel.WARNING },
      timeout: TIMEOUT,
      memorySize: MEMORY_MB,
      projectRoot: REPOSITORY,
      depsLockFilePath: join(REPOSITORY, 'package-lock.json'),
    });
  }
}
