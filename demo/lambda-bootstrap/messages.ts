/** What the demo tells a function environment: one invocation. */
export interface InvokeMessage {
  readonly requestId: string;
  readonly event: unknown;
  /** With the qualifier, where the function was invoked by one. */
  readonly functionArn: string;
  readonly timeoutMs: number;
}

/** What a function environment tells the demo. */
export type BootstrapMessage =
  /** The handler is loaded: the environment takes invocations. */
  | { readonly type: 'ready' }
  | { readonly type: 'returned'; readonly requestId: string; readonly value: unknown }
  | { readonly type: 'threw'; readonly requestId: string; readonly errorType: string; readonly errorMessage: string };
