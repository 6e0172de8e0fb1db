import { createCipheriv, createDecipheriv, randomBytes, randomUUID } from 'node:crypto';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { ACCOUNT, startLoopback, stopLoopback, urlOf } from './loopback';

/** One request to KMS, as it came in. */
export interface KmsCall {
  readonly operation: 'GenerateDataKey' | 'Decrypt';
  readonly keyId: string | undefined;
  readonly context: Readonly<Record<string, string>>;
  /** Of an access key: who signed the request. */
  readonly accessKeyId: string;
}

/** Whether a key may be used; by another name, the error that its use gives. */
export type KeyState = 'enabled' | 'DisabledException' | 'KMSInvalidStateException' | 'NotFoundException';

type Refuses = (call: KmsCall) => string | undefined;

interface Key {
  readonly arn: string;
  readonly material: Buffer;
  state: KeyState;
}

interface Input {
  readonly KeyId?: string;
  readonly CiphertextBlob?: string;
  readonly EncryptionContext?: Record<string, string>;
}

const REGION = 'eu-central-1';
const ID_BYTES = 36;

/**
 * KMS, as far as a function that encrypts with data keys sees it: its real protocol (AWS JSON 1.1 over HTTP), so that the real client of the SDK talks to it, and
 * real AES-256-GCM whose additional data is the encryption context.
 *
 * @example
 * const kms = await KmsServer.start();
 * const keyArn = kms.createKey();
 * spawn(process.execPath, [file], { env: { ...process.env, ...kms.environment } });
 */
export class KmsServer {
  static async start(): Promise<KmsServer> {
    return new KmsServer(await startLoopback());
  }

  /** In the order in which they came in. */
  readonly calls: KmsCall[] = [];
  /** Answers a call with this error; with an answer that has nothing in it, where that is empty. */
  refuses: Refuses | undefined;
  /** Leaves calls without an answer. */
  hangs = false;
  private readonly keys = new Map<string, Key>();

  private constructor(private readonly http: Server) {
    http.on('request', (request: IncomingMessage, response: ServerResponse) => void this.answer(request, response));
  }

  /** What makes the SDK's client of a process come here, in no account. */
  get environment(): Readonly<Record<string, string>> {
    return {
      AWS_ENDPOINT_URL_KMS: urlOf(this.http),
      AWS_REGION: REGION,
      AWS_ACCESS_KEY_ID: 'AKIAEXAMPLE',
      AWS_SECRET_ACCESS_KEY: 'example',
    };
  }

  /**
   * @param id a UUID
   * @returns the ARN of a new symmetric key
   */
  createKey(id: string = randomUUID()): string {
    const arn = `arn:aws:kms:${REGION}:${ACCOUNT}:key/${id}`;
    this.keys.set(id, { arn, material: randomBytes(32), state: 'enabled' });
    return arn;
  }

  setState(arn: string, state: KeyState): void {
    this.key(arn)!.state = state;
  }

  async stop(): Promise<void> {
    await stopLoopback(this.http);
  }

  private key(id: string): Key | undefined {
    return this.keys.get(id.slice(id.lastIndexOf('/') + 1));
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const input = JSON.parse(await text(request)) as Input;
    const { KeyId: keyId, EncryptionContext: context = {} } = input;
    const operation = String(request.headers['x-amz-target']).split('.')[1] as KmsCall['operation'];
    // "AWS4-HMAC-SHA256 Credential=<key>/<date>/<region>/<service>/aws4_request, ..."
    const accessKeyId = /Credential=([^/]+)\//.exec(request.headers.authorization ?? '')?.[1] ?? '';
    const call = { operation, keyId, context, accessKeyId };
    this.calls.push(call);
    if (this.hangs) return;
    const refusal = this.refuses?.(call);
    const result = refusal === '' ? {} : refusal ?? this.perform(operation, input, context);
    const [status, body] = typeof result === 'string' ? [result === 'KMSInternalException' ? 500 : 400, { __type: result, message: 'As asked for.' }] : [200, result];
    response.writeHead(status, { 'content-type': 'application/x-amz-json-1.1', 'x-amzn-requestid': randomUUID() }).end(JSON.stringify(body));
  }

  /** The answer, or the name of an error. */
  private perform(operation: string, { KeyId: keyId = '', CiphertextBlob: blob = '' }: Input, context: Record<string, string>): object | string {
    const aad = Buffer.from(JSON.stringify(Object.entries(context).sort()));
    if (operation === 'GenerateDataKey') {
      const key = this.key(keyId);
      if (key?.state !== 'enabled') return key?.state ?? 'NotFoundException';
      const [plain, nonce] = [randomBytes(32), randomBytes(12)];
      const cipher = createCipheriv('aes-256-gcm', key.material, nonce).setAAD(aad);
      const encrypted = Buffer.concat([cipher.update(plain), cipher.final()]);
      const ciphertext = Buffer.concat([Buffer.from(key.arn.slice(-ID_BYTES)), nonce, cipher.getAuthTag(), encrypted]);
      return { KeyId: key.arn, Plaintext: plain.toString('base64'), CiphertextBlob: ciphertext.toString('base64') };
    }
    if (operation !== 'Decrypt') return 'UnknownOperationException';
    const bytes = Buffer.from(blob, 'base64');
    const key = this.key(bytes.subarray(0, ID_BYTES).toString());
    if (!key) return 'InvalidCiphertextException';
    if (keyId && this.key(keyId) !== key) return 'IncorrectKeyException';
    if (key.state !== 'enabled') return key.state;
    try {
      const sealed = bytes.subarray(ID_BYTES);
      const decipher = createDecipheriv('aes-256-gcm', key.material, sealed.subarray(0, 12)).setAAD(aad).setAuthTag(sealed.subarray(12, 28));
      return { KeyId: key.arn, Plaintext: Buffer.concat([decipher.update(sealed.subarray(28)), decipher.final()]).toString('base64') };
    } catch {
      return 'InvalidCiphertextException';
    }
  }
}
