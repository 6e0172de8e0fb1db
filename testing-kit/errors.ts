/** Stable codes of {@link TestingKitError}. Codes are only ever added. */
export type TestingKitErrorCode =
  /** `dynalite`, the embedded engine, is not installed. It is a dev dependency of yours, so that nobody else downloads it. */
  | 'DYNALITE_MISSING'
  /** The installed `dynalite` is of another major version, or lacks what the embedded table builds on. */
  | 'DYNALITE_UNSUPPORTED'
  /** The template file cannot be read, or is no CloudFormation template in JSON. */
  | 'TEMPLATE_UNREADABLE'
  /** The template holds no such table. */
  | 'TABLE_NOT_IN_TEMPLATE'
  /** The template holds several token tables, and no `logicalId` says which one is meant. */
  | 'TABLE_AMBIGUOUS'
  /** A property of the table, needed to create it, is known only at deployment or has an unexpected shape. */
  | 'TABLE_UNSUPPORTED'
  /** The engine refused to create the table; the cause says why. */
  | 'TABLE_REFUSED'
  /** The port is taken, may not be used, or cannot exist. */
  | 'PORT_UNAVAILABLE'
  /** The fault proxy's target is no plain HTTP endpoint. */
  | 'TARGET_UNSUPPORTED';

/** The only kind of error that the testing kit throws by itself. Tell cases apart by `code`, never by `message`. */
export class TestingKitError extends Error {
  override readonly name = 'TestingKitError';

  constructor(readonly code: TestingKitErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
  }
}
