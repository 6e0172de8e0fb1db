/*
 * What the stacks of the integration tests and the handlers in them must agree on.
 */

/** Variables of the authorization server. */
export const SERVER_ENV = { TABLE: 'SERVER_TABLE', SECRET: 'SERVER_SECRET' } as const;

/** Variables of those who use the token. Without a secret they hold no credentials, and only read. */
export const CONSUMER_ENV = { SCOPE: 'SCOPE', TOKEN_URL: 'TOKEN_URL', API_URL: 'API_URL', SECRET: 'CLIENT_SECRET_ARN' } as const;

/** Variables of the conductor: functions by name, separated by commas. */
export const CONDUCTOR_ENV = { CONSUMERS: 'CONSUMERS', SERVER: 'SERVER', SCOPE: 'SCOPE' } as const;

/** Variables of who notes failures: the authorization server's table, and how the keys of its items begin. */
export const FAILURES_ENV = { TABLE: 'SERVER_TABLE', PREFIX: 'KEY_PREFIX' } as const;

/** What a refresher failed for. `test`: an event that is of no service. */
export type FailedInvocation = 'schedule' | 'deployment' | 'test';

/** Variables of the probers; their table comes from `attachTo`. */
export const PROBER_ENV = { ROLE: 'ROLE', REFRESHER: 'REFRESHER', SECRET: 'FOREIGN_SECRET' } as const;

/** The server refuses it, so that a refresher of it always fails. */
export const UNAVAILABLE_SCOPE = 'unavailable';
