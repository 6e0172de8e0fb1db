/** The services that the runtime and the roles of this library call, and those that only a test tries. */
export type Service = 'dynamodb' | 'kms' | 'lambda' | 'secretsmanager' | 'ssm' | 'sqs' | 'logs';

/** Parameters of a request, as they are on the wire. */
export interface Input {
  readonly [name: string]: unknown;
}

/** One request to AWS. */
export interface AwsRequest {
  readonly service: Service;
  /** By the name that the API gives it, such as `GetItem`. */
  readonly operation: string;
  readonly input: Input;
}

/** What a test's deployments have in common. */
export const ACCOUNT = '111122223333';
export const REGION = 'eu-central-1';
export const TABLE = 'Tokens';

export function arnOf(service: Service, resource: string, place: { readonly account?: string; readonly region?: string } = {}): string {
  return `arn:aws:${service}:${place.region ?? REGION}:${place.account ?? ACCOUNT}:${resource}`;
}

/** A request to DynamoDB. */
export function dynamoDb(operation: string, input: Input): AwsRequest {
  return { service: 'dynamodb', operation, input };
}

/** A request to KMS. */
export function kms(operation: string, input: Input): AwsRequest {
  return { service: 'kms', operation, input };
}

/** The same request for another token: its id stands in the key of an item, or in the encryption context. */
export function forToken(request: AwsRequest, tokenId: string): AwsRequest {
  const { input } = request;
  return {
    ...request,
    input: {
      ...input,
      ...('Key' in input && { Key: { tokenId: { S: tokenId } } }),
      ...('EncryptionContext' in input && { EncryptionContext: { ...input.EncryptionContext as object, tokenId } }),
    },
  };
}
