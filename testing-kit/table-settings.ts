import { isJsonObject, type JsonObject } from './json';
import type { HttpReply } from './loopback-server';
import { errorReply, jsonReply } from './wire';

/** Which attribute ends an item's life, where the table has one. */
export interface TimeToLive {
  readonly tableName: string;
  readonly attribute: string;
}

type Operation = (tableName: string, body: JsonObject) => HttpReply;

/** The settings of tables that dynalite does not know: time to live, and continuous backups (which are remembered, not made). */
export class TableSettings {
  private readonly expiryAttribute = new Map<string, string>();
  private readonly backedUp = new Set<string>();

  private readonly operations: Readonly<Record<string, Operation>> = {
    UpdateTimeToLive: (tableName, body) => this.updateTimeToLive(tableName, body.TimeToLiveSpecification),
    DescribeTimeToLive: tableName => this.describeTimeToLive(tableName),
    UpdateContinuousBackups: (tableName, body) => this.updateContinuousBackups(tableName, body.PointInTimeRecoverySpecification),
    DescribeContinuousBackups: tableName => this.describeContinuousBackups(tableName),
  };

  /** Answers `operation` for a table that exists, if it is one of these. */
  find(operation: string): Operation | undefined {
    return Object.hasOwn(this.operations, operation) ? this.operations[operation] : undefined;
  }

  timesToLive(): readonly TimeToLive[] {
    return [...this.expiryAttribute].map(([tableName, attribute]) => ({ tableName, attribute }));
  }

  enableTimeToLive(tableName: string, attribute: string): void {
    this.expiryAttribute.set(tableName, attribute);
  }

  enableContinuousBackups(tableName: string): void {
    this.backedUp.add(tableName);
  }

  /** A table made later under the same name starts afresh. */
  forget(tableName: string): void {
    this.expiryAttribute.delete(tableName);
    this.backedUp.delete(tableName);
  }

  private updateTimeToLive(tableName: string, specification: unknown): HttpReply {
    if (!isJsonObject(specification) || typeof specification.AttributeName !== 'string' || typeof specification.Enabled !== 'boolean') {
      return invalid('TimeToLiveSpecification needs AttributeName and Enabled');
    }
    const { AttributeName: attribute, Enabled: enabled } = specification;
    const current = this.expiryAttribute.get(tableName);
    if (enabled && current !== undefined) return invalid('TimeToLive is already enabled');
    if (!enabled && current === undefined) return invalid('TimeToLive is already disabled');
    if (!enabled && current !== attribute) return invalid(`TimeToLive is active on a different AttributeName: current AttributeName is ${current}`);

    if (enabled) this.expiryAttribute.set(tableName, attribute);
    else this.expiryAttribute.delete(tableName);
    return jsonReply(200, { TimeToLiveSpecification: specification });
  }

  private describeTimeToLive(tableName: string): HttpReply {
    const attribute = this.expiryAttribute.get(tableName);
    return jsonReply(200, {
      TimeToLiveDescription: attribute === undefined
        ? { TimeToLiveStatus: 'DISABLED' }
        : { TimeToLiveStatus: 'ENABLED', AttributeName: attribute },
    });
  }

  private updateContinuousBackups(tableName: string, specification: unknown): HttpReply {
    if (!isJsonObject(specification) || typeof specification.PointInTimeRecoveryEnabled !== 'boolean') {
      return invalid('PointInTimeRecoverySpecification needs PointInTimeRecoveryEnabled');
    }
    if (specification.PointInTimeRecoveryEnabled) this.backedUp.add(tableName);
    else this.backedUp.delete(tableName);
    return this.describeContinuousBackups(tableName);
  }

  private describeContinuousBackups(tableName: string): HttpReply {
    return jsonReply(200, {
      ContinuousBackupsDescription: {
        ContinuousBackupsStatus: 'ENABLED',
        PointInTimeRecoveryDescription: { PointInTimeRecoveryStatus: this.backedUp.has(tableName) ? 'ENABLED' : 'DISABLED' },
      },
    });
  }
}

function invalid(message: string): HttpReply {
  return errorReply(400, 'ValidationException', message);
}
