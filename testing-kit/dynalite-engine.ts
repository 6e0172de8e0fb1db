/*
 * The only file that knows dynalite. Everything it relies on is checked when dynalite is loaded, so that a version which is built otherwise is a clear
 * error instead of a table that behaves a little wrong.
 */
import { EventEmitter } from 'node:events';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { TestingKitError } from './errors';
import { isJsonObject, parseJsonObject, type JsonObject } from './json';
import type { HttpReply, HttpRequest } from './loopback-server';
import { CONTENT_TYPE, targetOf } from './wire';

const SUPPORTED_MAJOR = '4';
const TESTED_VERSION = '4.0.0';
const INSTALL_HINT = `Install it beside this package: npm install --save-dev dynalite@${TESTED_VERSION}`;

/** Marks dynalite as patched, across every copy of this file in the process. */
const PATCHED = Symbol.for('cdk-shared-token-table/testing:dynalite-patched');

/** Writes for which DynamoDB gives back the old item on a failed condition. dynalite drops parameters that its validations do not list. */
const CONDITIONAL_OPERATIONS = ['updateItem', 'putItem', 'deleteItem'];

/** dynalite judges no signature, but wants to see one. */
const UNVERIFIED_SIGNATURE = {
  'content-type': CONTENT_TYPE,
  'x-amz-date': '20260101T000000Z',
  'authorization': 'AWS4-HMAC-SHA256 Credential=embedded/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0',
};

type ServerFactory = (options: { createTableMs: number; deleteTableMs: number; updateTableMs: number }) => RequestListener;
interface RequestListener { emit(event: 'request', request: EventEmitter, response: object): boolean }
interface ConditionFailure { readonly body: Record<string, unknown> }
type CheckConditional = (data: JsonObject, storedItem: JsonObject | undefined) => ConditionFailure | null | undefined;
interface ConditionModule { checkConditional: CheckConditional; [PATCHED]?: true }

/** What a call into the engine gives back. */
export interface EngineReply {
  readonly status: number;
  readonly body: JsonObject;
}

/** An in-memory DynamoDB that takes whole requests and returns whole replies, without a socket. */
export class DynaliteEngine {
  /**
   * Loads dynalite from the first of these folders from which it can be resolved.
   *
   * @throws TestingKitError `DYNALITE_MISSING`, `DYNALITE_UNSUPPORTED`
   */
  static load(resolveFrom: readonly string[]): DynaliteEngine {
    const createServer = loadDynalite(resolveFrom);
    return new DynaliteEngine(createServer({ createTableMs: 0, deleteTableMs: 0, updateTableMs: 0 }));
  }

  private constructor(private readonly listener: RequestListener) {}

  /** Passes on a request as it came over the wire. */
  async handle({ method, url, headers, body }: HttpRequest): Promise<HttpReply> {
    return new Promise(resolve => {
      const request = Object.assign(new EventEmitter(), { method, url, headers });
      const replyHeaders: Record<string, string | number> = {};
      const response = {
        statusCode: 200,
        setHeader: (name: string, value: string | number) => { replyHeaders[name.toLowerCase()] = value; },
        end: (text = '') => resolve({ status: response.statusCode, headers: replyHeaders, body: Buffer.from(text) }),
      };
      // Emitting by hand, with the body at once, keeps whatever dynalite throws inside this promise: on a real socket it would end the process.
      this.listener.emit('request', request, response);
      if (body.length > 0) request.emit('data', body);
      request.emit('end');
    });
  }

  /** Calls one operation from inside, unobserved. */
  async call(operation: string, input: JsonObject): Promise<EngineReply> {
    const { status, body } = await this.handle({
      method: 'POST',
      url: '/',
      headers: { ...UNVERIFIED_SIGNATURE, 'x-amz-target': targetOf(operation) },
      body: Buffer.from(JSON.stringify(input)),
    });
    return { status, body: parseJsonObject(body) };
  }
}

function loadDynalite(resolveFrom: readonly string[]): ServerFactory {
  const requireHere = findRequire(resolveFrom);
  const version = versionIn(requireHere('dynalite/package.json'));
  if (version.split('.')[0] !== SUPPORTED_MAJOR) throw unsupported(version, `expected ${SUPPORTED_MAJOR}.x`);

  const load = (module: string): unknown => {
    try {
      return requireHere(module);
    } catch (cause) {
      throw unsupported(version, `${module} cannot be loaded`, cause);
    }
  };
  const createServer = load('dynalite');
  if (typeof createServer !== 'function') throw unsupported(version, 'its main module is no function');
  const conditions = load('dynalite/db');
  if (!isConditionModule(conditions)) throw unsupported(version, 'dynalite/db has no checkConditional');
  const parameters = CONDITIONAL_OPERATIONS.map(operation => {
    const validation = load(`dynalite/validations/${operation}`);
    if (!isJsonObject(validation) || !isJsonObject(validation.types)) throw unsupported(version, `dynalite/validations/${operation} has no types`);
    return validation.types;
  });
  returnOldItemOnFailedCondition(conditions, parameters);
  return createServer as ServerFactory;
}

/**
 * dynalite ignores `ReturnValuesOnConditionCheckFailure: ALL_OLD`; this teaches it. The item goes into the error while dynalite still holds the key's
 * lock, so it is the very item that the condition was judged by.
 */
function returnOldItemOnFailedCondition(conditions: ConditionModule, parameters: readonly JsonObject[]): void {
  if (conditions[PATCHED]) return;
  for (const types of parameters) {
    Object.assign(types, { ReturnValuesOnConditionCheckFailure: { type: 'String', enum: ['ALL_OLD', 'NONE'] } });
  }
  const original = conditions.checkConditional;
  conditions.checkConditional = (data, storedItem) => {
    const failure = original(data, storedItem);
    if (failure && storedItem && data.ReturnValuesOnConditionCheckFailure === 'ALL_OLD') failure.body.Item = storedItem;
    return failure;
  };
  conditions[PATCHED] = true;
}

function findRequire(folders: readonly string[]): NodeJS.Require {
  let cause: unknown;
  for (const folder of folders) {
    const candidate = createRequire(join(folder, 'resolve-from-here.js'));
    try {
      candidate.resolve('dynalite/package.json');
      return candidate;
    } catch (error) {
      cause = error;
    }
  }
  throw new TestingKitError('DYNALITE_MISSING', `The embedded table needs dynalite, which is not installed. ${INSTALL_HINT}`, cause);
}

function versionIn(manifest: unknown): string {
  return isJsonObject(manifest) && typeof manifest.version === 'string' ? manifest.version : 'unknown';
}

function isConditionModule(value: unknown): value is ConditionModule {
  return isJsonObject(value) && typeof value.checkConditional === 'function';
}

function unsupported(version: string, what: string, cause?: unknown): TestingKitError {
  return new TestingKitError('DYNALITE_UNSUPPORTED', `The embedded table cannot use dynalite ${version}: ${what}. ${INSTALL_HINT}`, cause);
}
