import { Annotations, Stack, Token } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as kms from 'aws-cdk-lib/aws-kms';
import * as secretsmanager from 'aws-cdk-lib/aws-secretsmanager';
import * as ssm from 'aws-cdk-lib/aws-ssm';
import { IConstruct } from 'constructs';
import { checkMade } from './choice';
import { keyToPermit } from './customer-key';
import { SharedTokenTableError, warningId } from './errors';
import { isOther, Reference } from './reference';
import { SecretReference } from './source-settings';

/** The credentials of a source: where they are, and who may read them. */
export interface Credentials {
  readonly reference: SecretReference;
  /** Lets a principal read them, and nothing else. */
  grantRead(grantee: iam.IGrantable): void;
}

/** What a source says of its credentials. */
export interface CredentialsProps {
  readonly credentials?: secretsmanager.ISecret;
  readonly credentialsParameter?: ssm.IStringParameter;
}

/** The one place where credentials are, if there is one. */
export function credentialsOf(scope: IConstruct, { credentials, credentialsParameter }: CredentialsProps): Credentials | undefined {
  checkMade(scope, { credentials, credentialsParameter });
  if (credentials && credentialsParameter) {
    throw new SharedTokenTableError(scope, {
      what: 'A source has its credentials in one place.',
      got: 'both `credentials` and `credentialsParameter`',
      expected: 'one of the two',
      todo: 'Put all that the source needs into one secret.',
    });
  }
  if (credentials) return inSecretsManager(scope, credentials);
  return credentialsParameter && inParameterStore(scope, credentialsParameter);
}

function inSecretsManager(scope: IConstruct, secret: secretsmanager.ISecret): Credentials {
  const { secretArn } = secret;
  if (!Token.isUnresolved(secretArn) && !secretArn.startsWith('arn:')) {
    throw new SharedTokenTableError(scope, {
      what: 'A policy names a secret by its ARN.',
      got: `a secret that knows its name alone, '${secretArn}'`,
      expected: 'a secret with an ARN',
      todo: 'Import it by `Secret.fromSecretNameV2` or `Secret.fromSecretCompleteArn`.',
    });
  }
  warnOfOtherAccount(scope, 'secret', secret.env.account);
  // An ARN made from the name alone lacks the six characters that Secrets Manager adds. Exactly six, or it would match other names too.
  const resourceArn = secret.secretFullArn ?? `${secretArn}-??????`;
  return {
    reference: { secretArn: secret.secretFullArn ?? secretArn },
    grantRead: grantee => allow(grantee, {
      action: 'secretsmanager:GetSecretValue',
      resourceArn,
      key: keyToPermit(scope, secret.encryptionKey),
      service: `secretsmanager.${secret.env.region}.amazonaws.com`,
    }),
  };
}

function inParameterStore(scope: IConstruct, parameter: ssm.IStringParameter): Credentials {
  if (parameter.parameterType !== ssm.ParameterType.SECURE_STRING) {
    throw new SharedTokenTableError(scope, {
      what: 'Credentials in Parameter Store are encrypted.',
      got: Token.isUnresolved(parameter.parameterType) ? 'a parameter that a stack makes' : `a parameter of the type '${parameter.parameterType}'`,
      expected: `a ${ssm.ParameterType.SECURE_STRING}, which CloudFormation cannot make`,
      todo: 'Make it by hand or by a script, and import it: `StringParameter.fromSecureStringParameterAttributes`. Or use a secret (`credentials`).',
    });
  }
  warnOfOtherAccount(scope, 'parameter', parameter.env.account);
  // The interface does not tell the key; a parameter that was imported with one does.
  const { encryptionKey } = parameter as { encryptionKey?: kms.IKey };
  const { parameterName: name, parameterArn: arn, env } = parameter;
  return {
    reference: { parameterName: new Reference(() => ({ name, arn, env, isNameReliable: true })).from(Stack.of(scope)) },
    grantRead: grantee => allow(grantee, {
      action: 'ssm:GetParameter',
      resourceArn: arn,
      key: keyToPermit(scope, encryptionKey),
      service: `ssm.${env.region}.amazonaws.com`,
    }),
  };
}

interface Allowed {
  readonly action: string;
  readonly resourceArn: string;
  readonly key?: kms.IKey;
  /** Through which the key is used. */
  readonly service: string;
}

function allow(grantee: iam.IGrantable, { action, resourceArn, key, service }: Allowed): void {
  iam.Grant.addToPrincipal({ grantee, actions: [action], resourceArns: [resourceArn] });
  if (!key) return;
  iam.Grant.addToPrincipal({
    grantee,
    actions: ['kms:Decrypt'],
    resourceArns: [key.keyArn],
    conditions: { StringEquals: { 'kms:ViaService': service } },
  });
}

function warnOfOtherAccount(scope: IConstruct, noun: string, account: string): void {
  if (!isOther(account, Stack.of(scope).account)) return;
  Annotations.of(scope).addWarningV2(warningId('crossAccountCredentials'), [
    `The ${noun} with the credentials is in account ${account}: the policy of the refresher is not enough.`,
    `Whoever manages the ${noun} must share it with the role of the refresher, and its customer managed key, too.`,
  ].join(' '));
}
