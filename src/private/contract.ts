/*
 * What a stack and a function must agree on, written once: the constructs render these names into templates and policies,
 * the runtime uses the same file. It imports nothing, so that jsii can compile it and esbuild can bundle it.
 */

/** Package, and the module specifier under which a function finds the runtime: from npm and from the layer alike. */
export const PACKAGE_NAME = 'cdk-shared-token-table';
export const RUNTIME_MODULE = `${PACKAGE_NAME}/runtime`;
/** Where a function finds the sources of tokens, and what makes a function a refresher. */
export const OAUTH_MODULE = `${RUNTIME_MODULE}/oauth`;
export const REFRESHER_MODULE = `${RUNTIME_MODULE}/refresher`;

/** Environment variables of a consumer and of a refresher. A public contract: names are only ever added. */
export const ENV = {
  /** Table name, or its ARN where the table is, or may be, in another account or region; behind it `#` and the ARN of the key, where tokens are encrypted. */
  TABLE: 'SHARED_TOKEN_TABLE',
  /** The function's own timeout in milliseconds: the deadline of calls that are made without a Lambda context. */
  FUNCTION_TIMEOUT_MS: 'SHARED_TOKEN_FUNCTION_TIMEOUT_MS',
  /** JSON map from token id to the function that refreshes it. */
  REFRESHERS: 'SHARED_TOKEN_REFRESHERS',
  /** Of a refresher: the one token that it refreshes. */
  TOKEN_ID: 'SHARED_TOKEN_ID',
  /** Of the prebuilt refresher: where its tokens come from, as JSON (source-settings.ts). */
  SOURCE: 'SHARED_TOKEN_SOURCE',
  /** Of the prebuilt refresher: the limit of one auth request in milliseconds, where it is not the default. */
  AUTH_LIMIT_MS: 'SHARED_TOKEN_AUTH_LIMIT_MS',
} as const;

/** Between a table and the key that encrypts its tokens: in one variable, so that nobody who knows the table can forget the key and store a token in plain. */
export const KEY_SEPARATOR = '#';

/** Attributes of a token's item; docs/protocol.md says who writes which, and when. */
export const ATTRIBUTE = {
  TOKEN_ID: 'tokenId',
  ACCESS_TOKEN: 'accessToken',
  GENERATION: 'generation',
  ISSUED_AT: 'issuedAt',
  EXPIRES_AT: 'expiresAt',
  REFRESH_TOKEN: 'refreshToken',
  LEASE: 'lease',
  REFRESH_MS: 'refreshMs',
  FAILURE: 'failure',
  META: 'meta',
  EXPIRE_AFTER: 'expireAfter',
} as const;

/** One of them: the runtime's tables of attributes are checked against it. */
export type AttributeName = typeof ATTRIBUTE[keyof typeof ATTRIBUTE];

/** What is encrypted where a table has a key for that. */
export const SECRET_ATTRIBUTES = [ATTRIBUTE.ACCESS_TOKEN, ATTRIBUTE.REFRESH_TOKEN] as const;

export type SecretAttribute = typeof SECRET_ATTRIBUTES[number];

/** What KMS is told that a data key is for, and so what grants are for. */
export const ENCRYPTION_CONTEXT = { TABLE: 'table', TOKEN_ID: 'tokenId' } as const;

/**
 * What a reader may see, and what every read asks for. Frozen: the policies of deployed readers list exactly these names, so whatever a later version
 * adds goes into `meta`. `refreshToken` is not among them.
 */
export const READABLE_ATTRIBUTES: readonly string[] = [
  ATTRIBUTE.TOKEN_ID,
  ATTRIBUTE.ACCESS_TOKEN,
  ATTRIBUTE.GENERATION,
  ATTRIBUTE.ISSUED_AT,
  ATTRIBUTE.EXPIRES_AT,
  ATTRIBUTE.LEASE,
  ATTRIBUTE.REFRESH_MS,
  ATTRIBUTE.FAILURE,
  ATTRIBUTE.META,
  ATTRIBUTE.EXPIRE_AFTER,
];

/** What an operator may see: never a token. Frozen as the list above. */
export const OPERATOR_READABLE_ATTRIBUTES: readonly string[] = READABLE_ATTRIBUTES.filter(name => name !== ATTRIBUTE.ACCESS_TOKEN);

/** What an operator's writes name, in their conditions too: lease and failure are removed, the expiry is set. */
export const OPERATOR_WRITTEN_ATTRIBUTES: readonly string[] = [
  ATTRIBUTE.TOKEN_ID,
  ATTRIBUTE.LEASE,
  ATTRIBUTE.FAILURE,
  ATTRIBUTE.EXPIRES_AT,
  ATTRIBUTE.GENERATION,
  ATTRIBUTE.ISSUED_AT,
];

/** The calls that the runtime makes, and so the only actions that grants list. */
export const ACTION = {
  READ: 'dynamodb:GetItem',
  WRITE: 'dynamodb:UpdateItem',
  ASK: 'lambda:InvokeFunction',
  /** Where tokens are encrypted. */
  DECRYPT: 'kms:Decrypt',
  ENCRYPT: 'kms:GenerateDataKey',
} as const;

/** DynamoDB's limit for a partition key, in bytes of UTF-8. */
export const TOKEN_ID_MAX_BYTES = 2048;

/** Lambda's limit for all environment variables together, in bytes of UTF-8. */
export const ENVIRONMENT_MAX_BYTES = 4096;

/** Timeout of a Lambda function that sets none, in milliseconds. */
export const DEFAULT_FUNCTION_TIMEOUT_MS = 3_000;

/** Limit of one auth request where none is configured, in milliseconds; less where the call's deadline leaves less. */
export const DEFAULT_AUTH_LIMIT_MS = 10_000;

/**
 * The alias of a refresher's function that its schedule invokes. Readers may invoke the function without a qualifier only, so that none of them can pass for the
 * schedule, which alone has a token replaced that works.
 */
export const SCHEDULE_ALIAS = 'scheduled';

/**
 * What invokes a refresher, as JSON. Whatever does not come through the schedule's alias (the invocation at deployment has no event at all) asks for a refresh if one
 * is due.
 */
export interface RefresherEvent {
  /** Must be the token that the refresher refreshes, where it is given. */
  readonly tokenId?: string;
  /** Of the schedule: its own time, ISO 8601. A token issued since makes the refresh needless. */
  readonly since?: string;
  /** Of a reader that has no usable token. */
  readonly asked?: RefreshAsk;
}

/** What a reader says of the token that it has: never the token. All absent: it has none, or one that is about to expire. */
export interface RefreshAsk {
  /** The generation of the token that the API refused. */
  readonly generation?: number;
  /** Of that token: the first 12 hexadecimal digits of the SHA-256 of its UTF-8. */
  readonly fingerprint?: string;
}
