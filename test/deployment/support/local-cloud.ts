import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { Agent, get } from 'node:https';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { installTool, nodeOf } from '../../../toolchain/tools';
import { selfSignedCertificate } from '../../support/certificate';
import { REPOSITORY } from '../../support/command';

const ACCOUNT = '123456789012';
const REGION = 'eu-central-1';
const CREDENTIALS = { accessKeyId: 'root-of-the-local-cloud', secretAccessKey: 'no-secret' };

/** It starts in a second. */
const START_LIMIT_MS = 60_000;

/** As much of its log as an error message can bear. */
const LOG_LINES_SHOWN = 40;

/** What the SDK's clients need to know. */
export interface LocalClientConfig {
  readonly region: string;
  readonly endpoint: string;
  readonly credentials: typeof CREDENTIALS;
  readonly requestHandler: { readonly httpsAgent: Agent };
}

/**
 * The local cloud (ministack, in AWS's place): CloudFormation, Lambda, DynamoDB and what else the stacks need, in a process of its own, on 127.0.0.1 alone, and over
 * TLS, which the bucket of the CDK toolkit insists on. It evaluates IAM policies. Its functions are processes of Node.js 22 that find the SDK where Lambda keeps it.
 */
export class LocalCloud {
  static async start(): Promise<LocalCloud> {
    const folder = mkdtempSync(join(tmpdir(), 'local-cloud-'));
    const { key, cert } = selfSignedCertificate();
    writeFileSync(join(folder, 'key.pem'), key);
    writeFileSync(join(folder, 'cert.pem'), cert);
    for (const part of ['home', 'tmp', join('sdk', 'node_modules')]) mkdirSync(join(folder, part), { recursive: true });
    // Nothing else of this repository's packages: what a function loads comes from its layer, its code, or Lambda.
    symlinkSync(join(REPOSITORY, 'node_modules', '@aws-sdk'), join(folder, 'sdk', 'node_modules', '@aws-sdk'), 'junction');
    const cloud = new LocalCloud(folder, cert, await freePort());
    try {
      await cloud.started();
      return cloud;
    } catch (error) {
      await cloud.stop();
      throw error;
    }
  }

  readonly account = ACCOUNT;
  readonly region = REGION;
  readonly endpoint: string;
  /** The Python that has ministack, AWS's client and AWS's linter. */
  readonly python = join(installTool('local-cloud'), 'venv', 'bin', 'python');
  private readonly agent: Agent;
  private readonly server: ChildProcess;
  private readonly log: string[] = [];

  /** @param folder all that it keeps on disk */
  private constructor(readonly folder: string, cert: string, port: number) {
    this.endpoint = `https://127.0.0.1:${port}`;
    this.agent = new Agent({ ca: cert, keepAlive: true });
    this.server = spawn(this.python, [join(__dirname, 'local_cloud.py'), folder], {
      env: {
        ...this.base,
        AUTH: 'true',
        BIND_HOST: '127.0.0.1',
        GATEWAY_PORT: String(port),
        LAMBDA_EXECUTOR: 'local',
        MINISTACK_ACCOUNT_ID: ACCOUNT,
        MINISTACK_HOST: '127.0.0.1',
        MINISTACK_REGION: REGION,
        MINISTACK_SSL_CERT: join(folder, 'cert.pem'),
        MINISTACK_SSL_KEY: join(folder, 'key.pem'),
        NODE_PATH: join(folder, 'sdk', 'node_modules'),
        USE_SSL: '1',
      },
      detached: true, // a process group: it ends with the functions that it runs
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    for (const stream of [this.server.stdout, this.server.stderr]) stream?.setEncoding('utf8').on('data', (text: string) => this.log.push(text));
  }

  /** For programs that use it as they would use AWS. */
  get environment(): NodeJS.ProcessEnv {
    return {
      ...this.base,
      AWS_REGION: REGION,
      AWS_DEFAULT_REGION: REGION,
      AWS_ENDPOINT_URL: this.endpoint,
      AWS_CA_BUNDLE: join(this.folder, 'cert.pem'),
      AWS_EC2_METADATA_DISABLED: 'true',
    };
  }

  get clientConfig(): LocalClientConfig {
    return { region: REGION, endpoint: this.endpoint, credentials: CREDENTIALS, requestHandler: { httpsAgent: this.agent } };
  }

  /** All that it printed. */
  get printed(): string {
    return this.log.join('');
  }

  /** The end of it. */
  get lastLines(): string {
    return this.printed.split('\n').slice(-LOG_LINES_SHOWN).join('\n');
  }

  async stop(): Promise<void> {
    this.agent.destroy();
    if (this.server.pid !== undefined && this.server.exitCode === null && this.server.signalCode === null) {
      const ended = once(this.server, 'exit');
      process.kill(-this.server.pid, 'SIGKILL');
      await ended;
    }
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 10 });
  }

  /** The account's own credentials, and nothing of this machine's own settings but where programs are. */
  private get base(): NodeJS.ProcessEnv {
    return {
      AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId,
      AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey,
      HOME: join(this.folder, 'home'),
      LANG: 'C.UTF-8',
      NODE_EXTRA_CA_CERTS: join(this.folder, 'cert.pem'),
      PATH: [dirname(nodeOf(22)), process.env.PATH].join(delimiter),
      TMPDIR: join(this.folder, 'tmp'),
    };
  }

  private async started(): Promise<void> {
    for (const endsAt = Date.now() + START_LIMIT_MS; Date.now() < endsAt; await sleep(50)) {
      if (this.server.exitCode !== null) throw new Error(`The local cloud ended with ${this.server.exitCode}:\n${this.lastLines}`);
      if (await this.isReady()) return;
    }
    throw new Error(`The local cloud did not start within ${START_LIMIT_MS / 1_000} s:\n${this.lastLines}`);
  }

  private async isReady(): Promise<boolean> {
    return new Promise(answered => {
      get(`${this.endpoint}/_ministack/ready`, { agent: this.agent }, response => {
        response.resume();
        answered(response.statusCode === 200);
      }).on('error', () => answered(false));
    });
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
