import { failure } from './failures';
import type { CredentialFields, Credentials, CredentialsFunction } from './options';
import { secretsManagerSecret } from './secrets-manager';
import { orAborted, sharedRead, type SharedRead } from './shared-read';
import { ssmParameter } from './ssm';
import type { SecretReference } from '../../src/private/source-settings';
import { RefreshError } from '../index';

/** The fields, and where they come from. */
export interface CredentialSource extends SharedRead<CredentialFields> {
  /** As messages name it. */
  readonly name: string;
}

/** Is it a stored secret that is named, rather than fields? */
export function isReference(credentials: object): credentials is SecretReference {
  return 'secretArn' in credentials || 'parameterName' in credentials;
}

/** @param monotonic milliseconds, never jumps: by it a stored secret is kept */
export function credentialSource(credentials: Credentials, monotonic: () => number): CredentialSource {
  if (typeof credentials === 'function') return calledSource(credentials as CredentialsFunction);
  if (isReference(credentials)) return storedSource(credentials, monotonic);
  const given = async () => credentials;
  return { name: 'the option credentials', read: given, readAgain: given };
}

function storedSource({ secretArn, parameterName }: SecretReference, monotonic: () => number): CredentialSource {
  const name = parameterName === undefined ? `the secret "${secretArn}"` : `the parameter "${parameterName}"`;
  const readText = parameterName === undefined ? secretsManagerSecret(secretArn!) : ssmParameter(parameterName);
  return { name, ...sharedRead(async signal => fieldsIn(await readText(signal), name), monotonic) };
}

/** Not kept: what it gives may be meant for one request (a moment, a number used once). */
function calledSource(credentials: CredentialsFunction): CredentialSource {
  const name = 'what the function in the option credentials returned';
  const call = async (signal: AbortSignal) => credentials({ signal });
  const read = async (signal: AbortSignal) => {
    const fields: unknown = await orAborted(call(signal), signal).catch((error: unknown) => {
      throw error instanceof RefreshError ? error : failure('CREDENTIALS_FAILED', 'The function in the option credentials threw: see the cause.', error);
    });
    return asFields(fields, name);
  };
  return { name, read, readAgain: read };
}

/** The parser's own message would quote the secret. */
function fieldsIn(text: string | undefined, name: string): CredentialFields {
  if (text === undefined) throw failure('SECRET_INVALID', `${capital(name)} is binary: store the fields as the text of a JSON object.`);
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw failure('SECRET_INVALID', `${capital(name)} is not valid JSON: store the fields as the text of a JSON object.`);
  }
  return asFields(parsed, name);
}

function asFields(value: unknown, name: string): CredentialFields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as CredentialFields;
  throw failure('SECRET_INVALID', `${capital(name)} is not an object of fields such as clientId and clientSecret.`);
}

/**
 * A field as text.
 *
 * @throws RefreshError SECRET_FIELD_MISSING or SECRET_FIELD_INVALID, with the name of the field, and never a value
 */
export function textField(fields: CredentialFields, field: string, source: CredentialSource): string {
  const text = optionalTextField(fields, field, source);
  if (text !== undefined) return text;
  throw failure('SECRET_FIELD_MISSING', `${capital(source.name)} lacks the field "${field}": add it.`);
}

/** The same, undefined where the field is absent or empty. */
export function optionalTextField(fields: CredentialFields, field: string, source: CredentialSource): string | undefined {
  const value = fieldOf(fields, field);
  if (value === undefined || typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw invalidField(field, source, 'must be text');
}

export function invalidField(field: string, source: CredentialSource, rule: string, cause?: unknown): RefreshError {
  return failure('SECRET_FIELD_INVALID', `The field "${field}" of ${source.name} ${rule}.`, cause);
}

/** Under its name, or spelled with underscores; undefined where it is absent, null or empty. */
export function fieldOf(fields: CredentialFields, field: string): unknown {
  const snakeCase = field.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`);
  const isGiven = (value: unknown) => value !== undefined && value !== null && value !== '';
  const name = [field, snakeCase].find(candidate => Object.hasOwn(fields, candidate) && isGiven(fields[candidate]));
  return name === undefined ? undefined : fields[name];
}

function capital(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}
