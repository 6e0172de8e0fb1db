import { nodePath, type Paths } from './opt-layout';

/** The versions of Node.js that Lambda has, and the runtime client runs on here. */
export const NODES = [22, 24] as const;
export type NodeMajor = typeof NODES[number];

/** What Lambda's own variables depend on. */
export interface FunctionIdentity {
  readonly node: NodeMajor;
  readonly name: string;
  /** Such as `index.handler`. */
  readonly handler: string;
  readonly memoryMb: number;
  readonly concurrency: Concurrency | undefined;
}

/** Of a function whose environments take several invocations at once (Lambda Managed Instances). */
export interface Concurrency {
  /** How many invocations an environment takes at once. */
  readonly invocations: number;
  /** How many threads share them. Each is a runtime of its own, with a memory of its own. */
  readonly workers: number;
}

/** What Lambda sets in a function's environment, and the function itself cannot: docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html. */
export function lambdaVariables(fn: FunctionIdentity, paths: Paths, runtimeApi: string): Record<string, string> {
  return {
    ...fn.concurrency && concurrencyVariables(fn.concurrency),
    _HANDLER: fn.handler,
    AWS_EXECUTION_ENV: `AWS_Lambda_nodejs${fn.node}.x`,
    AWS_LAMBDA_FUNCTION_MEMORY_SIZE: String(fn.memoryMb),
    AWS_LAMBDA_FUNCTION_NAME: fn.name,
    AWS_LAMBDA_FUNCTION_VERSION: '$LATEST',
    AWS_LAMBDA_INITIALIZATION_TYPE: fn.concurrency ? 'lambda-managed-instances' : 'on-demand',
    AWS_LAMBDA_LOG_GROUP_NAME: `/aws/lambda/${fn.name}`,
    AWS_LAMBDA_LOG_STREAM_NAME: '2026/01/01/[$LATEST]0123456789abcdef0123456789abcdef',
    AWS_LAMBDA_RUNTIME_API: runtimeApi,
    LAMBDA_RUNTIME_DIR: paths.runtime,
    LAMBDA_TASK_ROOT: paths.task,
    LANG: 'en_US.UTF-8',
    NODE_PATH: nodePath(fn.node, paths),
    PATH: '/var/lang/bin:/usr/local/bin:/usr/bin/:/bin:/usr/sbin:/sbin:/opt/bin',
    TZ: ':UTC',
  };
}

/** Node.js's flags on Lambda: the heap follows the function's memory, and up to 22 two features are off that stock Node.js has on. */
export function nodeFlags({ node, memoryMb }: FunctionIdentity): string[] {
  const youngMb = Math.floor(memoryMb / 10);
  const off = node < 24 ? ['--no-experimental-require-module', '--no-experimental-detect-module'] : [];
  return [...off, '--expose-gc', `--max-semi-space-size=${Math.floor(youngMb / 2)}`, `--max-old-space-size=${memoryMb - youngMb}`];
}

/** Each worker waits for its next invocation in a thread of libuv's pool, of which there are four by default; the function's own work needs some as well. */
function concurrencyVariables({ invocations, workers }: Concurrency): Record<string, string> {
  return {
    AWS_LAMBDA_MAX_CONCURRENCY: String(invocations),
    AWS_LAMBDA_NODEJS_WORKER_COUNT: String(workers),
    UV_THREADPOOL_SIZE: String(workers + 4),
  };
}
