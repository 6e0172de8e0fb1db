import { setTimeout as sleep } from 'node:timers/promises';
import { type AwsRequest, forToken, REGION, TABLE } from './aws-request';
import { DRIVES, type Caller, type Stage } from './drives';
import * as builders from '../../../lambda-runtime/dynamodb-requests';
import { InvokeApi } from '../../../local-aws/invoke-api';
import { KmsServer } from '../../../local-aws/kms-server';
import { SecretsServer } from '../../../local-aws/secrets-server';
import { ENV, KEY_SEPARATOR } from '../../../src/private/contract';
import { OAuthServer } from '../../support/oauth-server';
import { RuntimeTable } from '../../support/runtime-table';

/** A request of the runtime's, as it came in over the wire; about the token `crm`, whatever token the drive was about. */
export interface Recorded {
  readonly caller: Caller;
  /** What the caller was doing. */
  readonly drive: string;
  /** Whether the runtime encrypted the tokens. */
  readonly isEncrypted: boolean;
  readonly request: AwsRequest;
  /** Which function of `dynamodb-requests.ts` made it. */
  readonly builder?: string | undefined;
}

export type BuilderName = Extract<keyof typeof builders, `${string}Request`>;
export const BUILDERS = Object.keys(builders).filter((name): name is BuilderName => name.endsWith('Request'));

/** What requests name that were recorded. */
export interface RecordingNames {
  readonly refresherName: string;
  readonly secretArn: string;
  readonly parameterName: string;
  readonly tokenKey: string;
}

const CREDENTIALS = JSON.stringify({ clientId: 'orders', clientSecret: 'secret', refreshToken: 'first-refresh-token' });
const TOKEN = 'crm';

/** Has the runtime do all that it can do, once with plain and once with encrypted tokens, by its real clients against local services; one caller at a time. */
export async function recordRuntime(names: RecordingNames): Promise<readonly Recorded[]> {
  jest.spyOn(console, 'log').mockImplementation(() => undefined); // the refresher's log
  const built = BUILDERS.map(name => [name, jest.spyOn(builders, name)] as const);
  const table = await RuntimeTable.start(TABLE);
  const kms = await KmsServer.start();
  const invoked = await InvokeApi.start();
  const secrets = await SecretsServer.start();
  const provider = await OAuthServer.start();
  secrets.put(names.secretArn.replace(/^.*:secret:(.*)-\w{6}$/, '$1'), CREDENTIALS);
  secrets.put(names.parameterName, CREDENTIALS);
  kms.createKey(names.tokenKey.replace(/^.*\//, ''));
  const { AWS_ENDPOINT_URL_SECRETS_MANAGER, AWS_ENDPOINT_URL_SSM } = secrets.environment;
  const environment = {
    AWS_REGION: REGION,
    AWS_ENDPOINT_URL_KMS: kms.environment.AWS_ENDPOINT_URL_KMS,
    AWS_ENDPOINT_URL_SECRETS_MANAGER,
    AWS_ENDPOINT_URL_SSM,
    ...invoked.environment,
  };
  Object.assign(process.env, environment);

  const recorded: Recorded[] = [];
  const builderOf = ({ input }: AwsRequest): BuilderName | undefined => (
    built.find(([, spy]) => spy.mock.results.some(({ value }) => isSame(value as Input, input)))?.[0]);
  try {
    for (const isEncrypted of [false, true]) {
      const reference = isEncrypted ? `${TABLE}${KEY_SEPARATOR}${names.tokenKey}` : TABLE;
      process.env[ENV.TABLE] = reference;
      for (const [index, { caller, name, run }] of DRIVES.entries()) {
        for (const log of [table.requests, kms.calls, invoked.requests, secrets.reads]) log.length = 0;
        const aside: Stage['aside'] = async act => {
          const lengths = [table.requests, kms.calls].map(({ length }) => length) as [number, number];
          await act();
          [table.requests, kms.calls].forEach((log, i) => { log.length = lengths[i] ?? 0; });
        };
        const stage: Stage = { table, invoked, names, reference, tokenId: `drive-${index}${isEncrypted ? '-encrypted' : ''}`, tokenUrl: provider.tokenUrl, isEncrypted, aside };
        await run(stage);
        await sleep(20); // what goes on when the call is over
        const requests: AwsRequest[] = [
          ...table.requests.map(({ operation, body }): AwsRequest => ({ service: 'dynamodb', operation, input: body })),
          ...kms.calls.map(({ operation, keyId, context }): AwsRequest => ({ service: 'kms', operation, input: { KeyId: keyId, EncryptionContext: context } })),
          ...invoked.requests.map(({ functionName, qualifier }): AwsRequest => ({
            service: 'lambda', operation: 'Invoke', input: { FunctionName: functionName, ...(qualifier !== undefined && { Qualifier: qualifier }) },
          })),
          ...secrets.reads.map(({ service, id }): AwsRequest => service === 'ssm'
            ? { service, operation: 'GetParameter', input: { Name: id } } : { service, operation: 'GetSecretValue', input: { SecretId: id } }),
        ];
        recorded.push(...requests.map(request => (
          { caller, drive: name, isEncrypted, request: forToken(request, TOKEN), builder: builderOf(request) })));
      }
    }
  } finally {
    for (const name of [...Object.keys(environment), ENV.TABLE]) delete process.env[name];
    for (const part of [table, kms, invoked, secrets, provider]) await part.stop();
    jest.restoreAllMocks();
  }
  return recorded;
}

type Input = AwsRequest['input'];

/** On the wire values are typed, and encrypted maybe; expressions stay as they were written. */
function isSame(built: Input, sent: Input): boolean {
  return ['ProjectionExpression', 'UpdateExpression', 'ConditionExpression', 'ReturnValues'].every(name => built[name] === sent[name])
    && (built.Key as { readonly tokenId: string }).tokenId === (sent.Key as { readonly tokenId?: { readonly S: string } } | undefined)?.tokenId?.S;
}
