import { createHash } from 'node:crypto';
import { ACCOUNT } from './loopback';

/** The part of a CloudFormation template that is read here. */
export interface Template {
  readonly Resources: Readonly<Record<string, TemplateResource>>;
  readonly Outputs?: Readonly<Record<string, { readonly Value: unknown; readonly Export?: { readonly Name: unknown } }>>;
}

/** A resource as it is declared. */
export interface TemplateResource {
  readonly Type: string;
  readonly Properties?: Readonly<Record<string, unknown>>;
}

/** Where a stack is deployed. */
export interface DeploymentOptions {
  readonly stackName: string;
  readonly region: string;
  /** What other stacks export, by name. */
  readonly exports?: ReadonlyMap<string, unknown>;
}

/** What `Ref` and `Fn::GetAtt` say of a resource. */
type Kind = (resource: Named) => { readonly ref?: string; readonly attributes?: Readonly<Record<string, string>> };

/** A resource, its physical name, and its place. */
interface Named {
  readonly name: string;
  readonly arn: (service: string, resource: string) => string;
  /** A property, resolved to text. */
  readonly property: (name: string) => string;
}

const TABLE: Kind = ({ name, arn }) => ({ ref: name, attributes: { Arn: arn('dynamodb', `table/${name}`) } });

/** The types of resources that are known here, as far as they are. */
const KINDS: Readonly<Record<string, Kind>> = {
  'AWS::DynamoDB::GlobalTable': TABLE,
  'AWS::DynamoDB::Table': TABLE,
  'AWS::Lambda::Function': ({ name, arn }) => ({ ref: name, attributes: { Arn: arn('lambda', `function:${name}`) } }),
  // The first that is published.
  'AWS::Lambda::Version': ({ arn, property }) => ({ ref: arn('lambda', `function:${property('FunctionName')}:1`), attributes: { Version: '1' } }),
  'AWS::Lambda::Alias': ({ arn, property }) => ({ ref: arn('lambda', `function:${property('FunctionName')}:${property('Name')}`) }),
  'AWS::Lambda::Url': ({ name }) => ({ attributes: { FunctionUrl: `https://${name.toLowerCase()}.lambda-url.example.com/` } }),
  'AWS::SecretsManager::Secret': ({ name, arn }) => ({ ref: arn('secretsmanager', `secret:${name}-Ab12Cd`) }),
  'AWS::SQS::Queue': ({ name, arn }) => ({ attributes: { Arn: arn('sqs', name) } }),
  'AWS::KMS::Key': ({ name, arn }) => ({ attributes: { Arn: arn('kms', `key/${uuidOf(name)}`) } }),
  'AWS::IAM::Role': ({ name }) => ({ ref: name, attributes: { Arn: `arn:aws:iam::${ACCOUNT}:role/${name}` } }),
  'AWS::Logs::LogGroup': ({ name, arn }) => ({ ref: name, attributes: { Arn: arn('logs', `log-group:${name}:*`) } }),
};

/** The id of a key is a UUID: the same one for the same name. */
function uuidOf(name: string): string {
  return createHash('sha256').update(name).digest('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5');
}

/**
 * What CloudFormation makes of a template's values once the resources exist: references become names and ARNs. It knows what the templates of this repository hold;
 * anything else is an error, and no guess.
 */
export class DeployedStack {
  constructor(readonly template: Template, private readonly options: DeploymentOptions) {}

  /** The physical name of a resource. */
  nameOf(logicalId: string): string {
    const { TableName } = this.resource(logicalId).Properties ?? {};
    return typeof TableName === 'string' ? TableName : `${this.options.stackName}-${logicalId}`;
  }

  /** The logical ids of all resources of a type. */
  logicalIdsOf(type: string): string[] {
    return Object.keys(this.template.Resources).filter(logicalId => this.resource(logicalId).Type === type);
  }

  /** The properties of a resource, as they are declared. */
  properties(logicalId: string): Readonly<Record<string, unknown>> {
    return this.resource(logicalId).Properties ?? {};
  }

  /** The value of an expression of the template, at any depth. */
  resolve(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(part => this.resolve(part));
    if (typeof value !== 'object' || value === null) return value;
    const [[name, argument] = ['', undefined], ...others] = Object.entries(value) as [string, unknown][];
    if (others.length === 0 && (name === 'Ref' || name.startsWith('Fn::'))) return this.call(name, argument);
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, this.resolve(part)]));
  }

  /** The same, where it must be text. */
  text(value: unknown): string {
    const resolved = this.resolve(value);
    if (typeof resolved === 'string') return resolved;
    throw new Error(`${JSON.stringify(value)} should be text, but is ${JSON.stringify(resolved)}.`);
  }

  /** What this stack exports, by name. */
  exported(): Map<string, unknown> {
    const outputs = Object.values(this.template.Outputs ?? {}).filter(({ Export }) => Export !== undefined);
    return new Map(outputs.map(({ Export, Value }) => [this.text(Export?.Name), this.resolve(Value)]));
  }

  private call(name: string, argument: unknown): unknown {
    switch (name) {
      case 'Ref': return this.ref(argument as string);
      case 'Fn::GetAtt': return this.attribute(argument as readonly [string, string]);
      case 'Fn::ImportValue': return this.imported(this.text(argument));
      case 'Fn::Join': {
        const [separator, parts] = argument as readonly [string, readonly unknown[]];
        return parts.map(part => this.text(part)).join(separator);
      }
      case 'Fn::Split': {
        const [separator, source] = argument as readonly [string, unknown];
        return this.text(source).split(separator);
      }
      case 'Fn::Select': {
        const [index, list] = argument as readonly [number | string, unknown];
        return (this.resolve(list) as readonly unknown[])[Number(index)];
      }
      default: throw new Error(`${name} is not known here: ${JSON.stringify(argument)}`);
    }
  }

  private ref(logicalId: string): string {
    const { region } = this.options;
    const pseudoParameters: Record<string, string> = { 'AWS::Region': region, 'AWS::AccountId': ACCOUNT, 'AWS::Partition': 'aws' };
    const value = pseudoParameters[logicalId] ?? this.valuesOf(logicalId).ref;
    if (value !== undefined) return value;
    throw new Error(`What ${logicalId} (${this.resource(logicalId).Type}) refers to is not known here.`);
  }

  private attribute([logicalId, attribute]: readonly [string, string]): string {
    const value = this.valuesOf(logicalId).attributes?.[attribute];
    if (value !== undefined) return value;
    throw new Error(`The attribute ${attribute} of ${logicalId} (${this.resource(logicalId).Type}) is not known here.`);
  }

  private imported(name: string): unknown {
    const { exports } = this.options;
    if (exports?.has(name)) return exports.get(name);
    throw new Error(`No stack exports ${name}.`);
  }

  private valuesOf(logicalId: string): ReturnType<Kind> {
    const { Type, Properties } = this.resource(logicalId);
    return KINDS[Type]?.({
      name: this.nameOf(logicalId),
      arn: (service, resource) => `arn:aws:${service}:${this.options.region}:${ACCOUNT}:${resource}`,
      property: name => this.text(Properties?.[name]),
    }) ?? {};
  }

  private resource(logicalId: string): TemplateResource {
    const resource = this.template.Resources[logicalId];
    if (resource) return resource;
    throw new Error(`The template has no resource ${logicalId}.`);
  }
}
