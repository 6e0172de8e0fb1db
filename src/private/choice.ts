import { Token } from 'aws-cdk-lib';
import { IConstruct } from 'constructs';
import { SharedTokenTableError } from './errors';

/** An enumeration whose values are text. */
interface Choices {
  readonly [name: string]: string;
}

/** TypeScript sees to this; in plain JavaScript an option that is written wrong would count as absent, and a grant be for everything. */
export function checkKnown(scope: IConstruct, what: string, options: object, known: readonly string[]): void {
  checkFields(scope, `the options of ${what}`, options, known);
  const unknown = Object.keys(options).find(name => !known.includes(name));
  if (unknown === undefined) return;
  throw new SharedTokenTableError(scope, {
    what: `There is no such option of ${what}.`,
    got: `'${unknown}'`,
    expected: known.join(', '),
    todo: 'Correct its name, or leave it out.',
  });
}

/** An object with fields. TypeScript and jsii see to this; plain JavaScript does not. */
export function checkFields(scope: IConstruct, what: string, value: unknown, examples: readonly string[]): void {
  if (Token.isUnresolved(value) || (typeof value === 'object' && value !== null && !Array.isArray(value))) return;
  throw new SharedTokenTableError(scope, {
    what: `There is no object with ${what}.`,
    got: value === null ? 'null' : Array.isArray(value) ? 'a list' : typeof value,
    expected: `an object, which may have ${examples.join(', ')}`,
    todo: 'Write names and values in braces: `{ name: value }`.',
  });
}

/**
 * What options hold beside text, numbers and lists: by what it can do, and what to pass. Not by its class: it may be of another copy of CDK.
 */
const MADE = {
  encryption: ['type', 'an encryption of a table', '`TableEncryptionV2.customerManagedKey(key)`, say'],
  encryptionKey: ['grantDecrypt', 'a key of KMS', 'a `Key`; one of elsewhere by `Key.fromKeyArn(this, id, keyArn)`'],
  tokenEncryptionKey: ['grantDecrypt', 'a key of KMS', 'a `Key`; one of elsewhere by `Key.fromKeyArn(this, id, keyArn)`'],
  credentials: ['grantRead', 'a secret of Secrets Manager', 'a `Secret`, whose value no template shows; one of elsewhere by `Secret.fromSecretNameV2(this, id, name)`, a parameter as `credentialsParameter`'],
  credentialsParameter: ['grantRead', 'a parameter of Parameter Store', 'what `StringParameter.fromSecureStringParameterAttributes(this, id, { parameterName })` returns'],
  schedule: ['expressionString', 'a schedule of EventBridge Scheduler', '`ScheduleExpression.rate(Duration.minutes(30))`, say'],
  timeWindow: ['mode', 'a time window of EventBridge Scheduler', '`TimeWindow.flexible(Duration.minutes(5))`, say'],
  failureQueue: ['grantSendMessages', 'a queue of SQS', 'a `Queue`; one of elsewhere by `Queue.fromQueueArn(this, id, queueArn)`'],
  tokenLife: ['toSeconds', 'a duration', '`Duration.hours(1)`, say'],
  timeout: ['toSeconds', 'a duration', '`Duration.seconds(30)`, say'],
  authLimit: ['toSeconds', 'a duration', '`Duration.seconds(10)`, say'],
  vpc: ['selectSubnets', 'a VPC', 'a `Vpc`; one of elsewhere by `Vpc.fromLookup(this, id, { vpcName })`'],
  logGroup: ['grantWrite', 'a log group', 'a `LogGroup`; one of elsewhere by `LogGroup.fromLogGroupName(this, id, name)`'],
  runtime: ['name', 'a runtime of Lambda', '`Runtime.NODEJS_22_X`, say'],
  environmentEncryption: ['grantDecrypt', 'a key of KMS', 'a `Key`; one of elsewhere by `Key.fromKeyArn(this, id, keyArn)`'],
} as const satisfies Readonly<Record<string, readonly [member: string, kind: string, pass: string]>>;

/** TypeScript and jsii see to this; plain JavaScript does not. What was passed instead is not shown: it may be a secret. */
export function checkMade(scope: IConstruct, props: { readonly [option in keyof typeof MADE]?: object }): void {
  for (const [option, [member, kind, pass]] of Object.entries(MADE)) {
    const value = props[option as keyof typeof MADE];
    if (value === undefined || (value as { readonly [name: string]: unknown } | null)?.[member] !== undefined) continue;
    throw new SharedTokenTableError(scope, {
      what: `\`${option}\` is ${kind}.`,
      got: value === null ? 'null' : typeof value,
      expected: 'what CDK makes',
      todo: `Pass ${pass}.`,
    });
  }
}

/** TypeScript sees to this; plain JavaScript does not. */
export function checkChoice(scope: IConstruct, type: string, choices: Choices, value: string, what: string): void {
  if (Object.values(choices).includes(value)) return;
  throw new SharedTokenTableError(scope, {
    what,
    got: `'${value}'`,
    expected: Object.entries(choices).map(([name, text]) => `${type}.${name} ('${text}')`).join(' or '),
    todo: `Pass a value of \`${type}\`.`,
  });
}
