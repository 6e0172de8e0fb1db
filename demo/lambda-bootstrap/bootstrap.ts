/*
 * What Lambda's Node.js runtime does, in short: it loads the handler from the task folder, then runs one invocation after the other. It is the main file
 * of every function environment of the demo. Invocations come over the process's IPC channel where Lambda has an HTTP one.
 */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { BootstrapMessage, InvokeMessage } from './messages';

interface Context {
  readonly awsRequestId: string;
  readonly functionName: string | undefined;
  readonly invokedFunctionArn: string;
  getRemainingTimeInMillis(): number;
}

type Handler = (event: unknown, context: Context) => Promise<unknown>;

/** Loads `index.handler` the way Lambda does: `index.js` in the task folder, its export `handler`. Modules come from NODE_PATH too, where the layers are. */
function loadHandler(taskRoot: string, name: string): Handler {
  const dot = name.lastIndexOf('.');
  const file = join(taskRoot, `${name.slice(0, dot)}.js`);
  const exported: unknown = (createRequire(file)(file) as Record<string, unknown>)[name.slice(dot + 1)];
  if (typeof exported !== 'function') throw new Error(`The handler ${name} is no function.`);
  return exported as Handler;
}

function tell(message: BootstrapMessage): void {
  process.send?.(message);
}

function contextOf({ requestId, functionArn, timeoutMs }: InvokeMessage): Context {
  const deadline = Date.now() + timeoutMs;
  return {
    awsRequestId: requestId,
    functionName: process.env.AWS_LAMBDA_FUNCTION_NAME,
    invokedFunctionArn: functionArn,
    getRemainingTimeInMillis: () => deadline - Date.now(),
  };
}

async function run(handler: Handler, invocation: InvokeMessage): Promise<void> {
  const { requestId } = invocation;
  try {
    tell({ type: 'returned', requestId, value: await handler(invocation.event, contextOf(invocation)) });
  } catch (thrown) {
    const error = thrown instanceof Error ? thrown : new Error(String(thrown));
    console.error(`${requestId}\tERROR\tInvoke Error \t${logTextOf(error)}`);
    tell({ type: 'threw', requestId, errorType: error.name, errorMessage: error.message });
  }
}

/** Lambda's runtime logs all that hangs on an error, at any depth. */
function logTextOf(error: Error): string {
  return JSON.stringify(error, (_, value: unknown) => value instanceof Error
    ? { errorType: value.name, errorMessage: value.message, ...value, stack: value.stack?.split('\n') }
    : value);
}

const handler = loadHandler(process.env.LAMBDA_TASK_ROOT ?? '', process.env._HANDLER ?? '');
process.on('message', (invocation: InvokeMessage) => void run(handler, invocation));
// The demo is gone, however it ended: nobody will invoke this environment again.
process.on('disconnect', () => process.exit());
tell({ type: 'ready' });
