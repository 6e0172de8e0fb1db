import { DynaliteEngine } from './dynalite-engine';
import { TestingKitError } from './errors';
import { sweepTable } from './expiry-sweep';
import { isJsonObject } from './json';
import { LoopbackServer, type HttpExchange, type HttpReply, type HttpRequest } from './loopback-server';
import { TableSettings } from './table-settings';
import { tableInTemplate, type TemplateSource } from './table-template';
import { errorReply, jsonReply, malformedBody, readExchange, readRequest, type DynamoDbExchange, type DynamoDbRequest } from './wire';
import { ENV } from '../src/private/contract';

const CREDENTIALS = { accessKeyId: 'embedded', secretAccessKey: 'embedded' };
const TABLE_ARN = /^arn:[^:]+:dynamodb:[^:]*:[^:]*:table\/([^/]+)$/;

/** How an {@link EmbeddedDynamoDb} behaves. */
export interface EmbeddedDynamoDbOptions {
  /** @default - any port that is free */
  readonly port?: number;

  /** Sees every request that came over the wire, before it is carried out. */
  readonly onRequest?: (request: DynamoDbRequest) => void;

  /** Sees every request with its answer, before that is sent. */
  readonly onReply?: (exchange: DynamoDbExchange) => void;

  /**
   * The table's clock, in milliseconds since the epoch. Its `Date` header and time to live follow it.
   *
   * @default Date.now
   */
  readonly now?: () => number;

  /**
   * Milliseconds between two deletions of what is past its time to live. DynamoDB itself takes up to some days for that.
   *
   * @default - nothing is deleted but by `sweepExpired`
   */
  readonly sweepEveryMs?: number;

  /**
   * Folders from which `dynalite` may be resolved.
   *
   * @default - this package's own folder, then the working directory
   */
  readonly resolveFrom?: readonly string[];
}

/** Which table of a template becomes an embedded one. */
export interface TableFromTemplateOptions {
  /** @default - the one table whose only key is `tokenId` */
  readonly logicalId?: string;
  /** @default - the template's own name, or one made from the logical id, new with each call */
  readonly tableName?: string;
}

/** A table in an {@link EmbeddedDynamoDb}. */
export interface EmbeddedTable {
  readonly tableName: string;
  readonly tableArn: string;
  readonly logicalId: string;
  /** What a process needs to use this very table: that of {@link EmbeddedDynamoDb.environment}, and `SHARED_TOKEN_TABLE`. */
  readonly environment: Readonly<Record<string, string>>;
}

/** What `new DynamoDBClient(...)` takes. */
export interface EmbeddedClientConfig {
  readonly endpoint: string;
  readonly region: string;
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string };
}

/** Of this process: its functions remember a table by its name, so that no two of them may have the same one. */
let tablesMade = 0;

/**
 * DynamoDB inside this process, over its real wire protocol, in memory: what a test or demo uses instead of AWS.
 *
 * The engine is `dynalite` (install it as a dev dependency). In front of it stands what dynalite lacks: the old item on a failed condition, time to live,
 * the state of continuous backups, table ARNs as names, and clients that break off in mid-request. It knows no transactions: those are refused as unknown.
 * It never throttles and judges no signature or permission.
 *
 * @example
 * const db = await EmbeddedDynamoDb.start();
 * const table = await db.createTableFromTemplate('cdk.out/MyStack.template.json');
 * const client = new DynamoDBClient(db.clientConfig);
 * await db.stop();
 */
export class EmbeddedDynamoDb {
  /** @throws TestingKitError `DYNALITE_MISSING`, `DYNALITE_UNSUPPORTED`, `PORT_UNAVAILABLE` */
  static async start(options: EmbeddedDynamoDbOptions = {}): Promise<EmbeddedDynamoDb> {
    const engine = DynaliteEngine.load(options.resolveFrom ?? [__dirname, process.cwd()]);
    const front = new Front(engine, options);
    const server = await LoopbackServer.listen(options.port ?? 0, async exchange => front.answer(exchange), error => front.dated(failure(error)));
    return new EmbeddedDynamoDb(engine, front, server, options);
  }

  /** For example `http://127.0.0.1:41234`. */
  readonly endpoint: string;
  readonly clientConfig: EmbeddedClientConfig;
  /** What a process needs so that its AWS SDK uses this DynamoDB, and nothing of AWS. */
  readonly environment: Readonly<Record<string, string>>;

  private readonly sweeping: NodeJS.Timeout | undefined;

  private constructor(
    private readonly engine: DynaliteEngine,
    private readonly front: Front,
    private readonly server: LoopbackServer,
    options: EmbeddedDynamoDbOptions,
  ) {
    // dynalite writes the region of this process into its ARNs.
    const region = process.env.AWS_REGION || process.env.AWS_DEFAULT_REGION || 'us-east-1';
    this.endpoint = server.url;
    this.clientConfig = { endpoint: this.endpoint, region, credentials: CREDENTIALS };
    this.environment = {
      AWS_ENDPOINT_URL_DYNAMODB: this.endpoint,
      AWS_REGION: region,
      AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId,
      AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey,
      AWS_PROFILE: '', // a profile would outrank these credentials
      AWS_IGNORE_CONFIGURED_ENDPOINT_URLS: 'false', // or the SDK would not look for this endpoint
    };
    if (options.sweepEveryMs !== undefined) {
      this.sweeping = setInterval(() => void this.sweepExpired(), options.sweepEveryMs).unref();
    }
  }

  /**
   * Makes a table as a synthesized template declares it: keys, attribute definitions, billing mode, indexes, time to live, continuous backups.
   *
   * @throws TestingKitError `TEMPLATE_UNREADABLE`, `TABLE_NOT_IN_TEMPLATE`, `TABLE_AMBIGUOUS`, `TABLE_UNSUPPORTED`, `TABLE_REFUSED`
   */
  async createTableFromTemplate(template: TemplateSource, options: TableFromTemplateOptions = {}): Promise<EmbeddedTable> {
    const table = tableInTemplate(template, options.logicalId);
    tablesMade++;
    const tableName = options.tableName ?? table.tableName ?? `${table.logicalId}-${tablesMade}`;

    const { status, body } = await this.engine.call('CreateTable', { ...table.input, TableName: tableName });
    if (status !== 200) {
      throw new TestingKitError('TABLE_REFUSED', `Table '${table.logicalId}' as '${tableName}' was refused: ${JSON.stringify(body)}`, body);
    }
    if (table.timeToLiveAttribute !== undefined) this.front.settings.enableTimeToLive(tableName, table.timeToLiveAttribute);
    if (table.continuousBackups) this.front.settings.enableContinuousBackups(tableName);

    return {
      tableName,
      tableArn: await this.waitUntilActive(tableName),
      logicalId: table.logicalId,
      environment: { ...this.environment, [ENV.TABLE]: tableName },
    };
  }

  /**
   * Deletes what is past its time to live, in all tables, and returns how many items that were.
   *
   * @param now the moment to judge by, if it is not the table's own clock
   */
  async sweepExpired(now: Date = new Date(this.front.now())): Promise<number> {
    let deleted = 0;
    for (const timeToLive of this.front.settings.timesToLive()) deleted += await sweepTable(this.engine, timeToLive, now);
    return deleted;
  }

  /** Closes all connections and frees the port. The data is gone. */
  async stop(): Promise<void> {
    clearInterval(this.sweeping);
    await this.server.close();
  }

  private async waitUntilActive(tableName: string): Promise<string> {
    for (;;) {
      const { Table: table } = (await this.engine.call('DescribeTable', { TableName: tableName })).body;
      if (isJsonObject(table) && table.TableStatus === 'ACTIVE') return String(table.TableArn);
      await new Promise(setImmediate);
    }
  }
}

/** Answers requests from the wire: by itself where dynalite cannot, else through dynalite. */
class Front {
  readonly settings = new TableSettings();
  readonly now: () => number;

  constructor(private readonly engine: DynaliteEngine, private readonly options: EmbeddedDynamoDbOptions) {
    this.now = options.now ?? Date.now;
  }

  async answer(exchange: HttpExchange): Promise<void> {
    const request = readRequest(exchange.request);
    this.options.onRequest?.(request);
    const reply = await this.carryOut(request, exchange.request);
    this.options.onReply?.(readExchange(request, reply));
    exchange.send(this.dated(reply));
  }

  /** Clients learn the table's clock from the `Date` header. */
  dated(reply: HttpReply): HttpReply {
    return { ...reply, headers: { ...reply.headers, date: new Date(this.now()).toUTCString() } };
  }

  private async carryOut({ operation, body }: DynamoDbRequest, http: HttpRequest): Promise<HttpReply> {
    const malformed = malformedBody(http);
    if (malformed !== undefined) {
      return errorReply(400, 'SerializationException', `The body of this ${operation} request is ${malformed}. Expected a JSON object with its parameters.`);
    }
    const tableName = plainTableName(body.TableName);
    const settingsOperation = this.settings.find(operation);
    if (settingsOperation) {
      const table = await this.engine.call('DescribeTable', { TableName: tableName });
      return table.status === 200 ? settingsOperation(tableName, body) : jsonReply(table.status, table.body);
    }
    const isByArn = typeof body.TableName === 'string' && body.TableName !== tableName;
    const reply = await this.engine.handle(isByArn ? { ...http, body: Buffer.from(JSON.stringify({ ...body, TableName: tableName })) } : http);
    if (operation === 'DeleteTable' && reply.status === 200) this.settings.forget(tableName);
    return reply;
  }
}

/** DynamoDB knows a table by its ARN as well; dynalite does not. */
function plainTableName(nameOrArn: unknown): string {
  if (typeof nameOrArn !== 'string') return '';
  return TABLE_ARN.exec(nameOrArn)?.[1] ?? nameOrArn;
}

/** A defect in the engine, or in a callback of the test's own: 400 is what no SDK tries again, so the message reaches whoever reads the test's output. */
function failure(error: unknown): HttpReply {
  return errorReply(400, 'EmbeddedDynamoDbFailure', `The embedded DynamoDB failed: ${error instanceof Error ? error.message : String(error)}`);
}
