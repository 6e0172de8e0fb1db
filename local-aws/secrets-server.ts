import { randomUUID } from 'node:crypto';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { ACCOUNT, startLoopback, stopLoopback, urlOf } from './loopback';

/** One request to read a secret or parameter, as it came in. */
export interface SecretRead {
  readonly service: 'secretsmanager' | 'ssm';
  /** As the client named it: a name or an ARN. */
  readonly id: string;
  /** What the client signed the request for. */
  readonly region: string;
}

/** An error of the service's. */
export interface SecretFailure {
  /** Such as `AccessDeniedException`. */
  readonly code: string;
  /** @default 400 */
  readonly status?: number;
}

interface Call extends SecretRead {
  readonly operation: string;
  readonly input: { readonly [name: string]: unknown };
}

const SERVICES = { GetSecretValue: 'secretsmanager', GetParameter: 'ssm' } as const;

/**
 * Secrets Manager and Systems Manager's parameters, as far as a function that reads its credentials sees them: their real protocol (AWS JSON 1.1 over HTTP),
 * so that the real clients of the SDK talk to it. Both services share what was put.
 *
 * @example
 * const secrets = await SecretsServer.start();
 * secrets.put('crm', JSON.stringify({ clientId: 'a', clientSecret: 'b' }));
 * spawn(process.execPath, [file], { env: { ...process.env, ...secrets.environment } });
 */
export class SecretsServer {
  static async start(): Promise<SecretsServer> {
    return new SecretsServer(await startLoopback());
  }

  /** In the order in which they came in. */
  readonly reads: SecretRead[] = [];
  /** Answers every read with this error, until it is set to undefined. */
  failure: SecretFailure | undefined;
  /** Reads that the client gave up before they were answered. */
  givenUp = 0;
  private readonly values = new Map<string, string | Uint8Array>();
  private held: Promise<void> | undefined;

  private constructor(private readonly http: Server) {
    http.on('request', (request: IncomingMessage, response: ServerResponse) => void this.answer(request, response));
  }

  get url(): string {
    return urlOf(this.http);
  }

  /** What makes the SDK's clients of a process come here, in no account: everything that they need. */
  get environment(): Readonly<Record<string, string>> {
    return {
      AWS_ENDPOINT_URL_SECRETS_MANAGER: this.url,
      AWS_ENDPOINT_URL_SSM: this.url,
      AWS_REGION: 'eu-central-1',
      AWS_ACCESS_KEY_ID: 'AKIAEXAMPLE',
      AWS_SECRET_ACCESS_KEY: 'example',
    };
  }

  /** Creates or replaces a secret, which is a parameter of the same name, too. Bytes make a binary secret. */
  put(name: string, value: string | Uint8Array): void {
    this.values.set(name, value);
  }

  remove(name: string): void {
    this.values.delete(name);
  }

  secretArn(name: string, region = 'eu-central-1'): string {
    return `arn:aws:secretsmanager:${region}:${ACCOUNT}:secret:${name}-Ab12Cd`;
  }

  parameterArn(name: string, region = 'eu-central-1'): string {
    return `arn:aws:ssm:${region}:${ACCOUNT}:parameter/${name}`;
  }

  /** Leaves reads without an answer until the function that is returned is called. */
  hold(): () => void {
    let release = () => {};
    this.held = new Promise(resolve => { release = resolve; });
    return () => {
      this.held = undefined;
      release();
    };
  }

  async stop(): Promise<void> {
    await stopLoopback(this.http);
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('close', () => { if (!response.writableFinished) this.givenUp++; });
    const call = callOf(request, await text(request));
    const { service, id, region } = call;
    this.reads.push({ service, id, region });
    await this.held;
    if (this.failure) return reply(response, this.failure.status ?? 400, { __type: this.failure.code, message: 'As the test wants it.' });
    if (region === '') return reply(response, 400, { __type: 'MissingAuthenticationTokenException', message: 'The request is not signed.' });
    switch (call.operation) {
      case 'GetSecretValue': return this.answerSecret(call, response);
      case 'GetParameter': return this.answerParameter(call, response);
      default: return reply(response, 400, { __type: 'UnknownOperationException' });
    }
  }

  private answerSecret({ id, region }: Call, response: ServerResponse): void {
    const name = id.replace(/^arn:.*:secret:(.*)-\w{6}$/, '$1');
    const value = this.values.get(name);
    if (value === undefined) {
      return reply(response, 400, { __type: 'ResourceNotFoundException', Message: 'Secrets Manager can\'t find the specified secret.' });
    }
    reply(response, 200, {
      ARN: this.secretArn(name, region),
      Name: name,
      VersionId: randomUUID(),
      VersionStages: ['AWSCURRENT'],
      CreatedDate: 1_700_000_000,
      ...(typeof value === 'string' ? { SecretString: value } : { SecretBinary: Buffer.from(value).toString('base64') }),
    });
  }

  private answerParameter({ id, region, input }: Call, response: ServerResponse): void {
    const name = id.replace(/^arn:.*:parameter\/(.*)$/, '$1');
    const value = this.values.get(name)?.toString();
    if (value === undefined) return reply(response, 400, { __type: 'ParameterNotFound' });
    reply(response, 200, {
      Parameter: {
        ARN: this.parameterArn(name, region),
        DataType: 'text',
        LastModifiedDate: 1_700_000_000,
        Name: name,
        Type: 'SecureString',
        Value: input.WithDecryption === true ? value : Buffer.from(`encrypted ${value}`).toString('base64'),
        Version: 1,
      },
    });
  }
}

function callOf({ headers }: IncomingMessage, body: string): Call {
  const operation = String(headers['x-amz-target']).split('.')[1] as keyof typeof SERVICES;
  const input = JSON.parse(body) as { readonly SecretId?: string; readonly Name?: string };
  // "AWS4-HMAC-SHA256 Credential=<key>/<date>/<region>/<service>/aws4_request, ..."
  const region = /Credential=[^/]+\/\d+\/([^/]+)\//.exec(headers.authorization ?? '')?.[1] ?? '';
  return { operation, service: SERVICES[operation], id: input.SecretId ?? input.Name ?? '', region, input };
}

function reply(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/x-amz-json-1.1', 'x-amzn-requestid': randomUUID() }).end(JSON.stringify(body));
}
