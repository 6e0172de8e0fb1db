/** A JSON value of a template. */
export type Json = { readonly [name: string]: unknown };

/** A resource as a template has it. */
export interface Resource {
  readonly id: string;
  readonly type: string;
  readonly properties: Json;
  readonly deletionPolicy?: string;
  readonly updateReplacePolicy?: string;
}

/** A statement that allows or denies. */
export interface Statement {
  readonly effect: string;
  readonly actions: readonly string[];
  /** As text, see `textOf`. */
  readonly resources: readonly string[];
  /** The same as they are in the template. */
  readonly resourceValues: readonly unknown[];
  readonly condition: Json;
  readonly principal: unknown;
  /** `NotAction`, `NotResource`, `NotPrincipal`: by which a statement covers all but what it names. */
  readonly negations: readonly string[];
}

/** A template, with the questions that the rules ask. */
export class Template {
  private readonly resources: readonly Resource[];
  private readonly mappings: Json;

  constructor(template: Json) {
    this.resources = Object.entries(template.Resources as { readonly [id: string]: Json }).map(([id, resource]) => ({
      id,
      type: String(resource.Type),
      properties: jsonOf(resource.Properties),
      deletionPolicy: resource.DeletionPolicy as string | undefined,
      updateReplacePolicy: resource.UpdateReplacePolicy as string | undefined,
    }));
    this.mappings = jsonOf(template.Mappings);
  }

  public all(type: string): Resource[] {
    return this.resources.filter(resource => resource.type === type);
  }

  /** The resource that a value refers to, if it refers to one and nothing else. */
  public referredBy(value: unknown, type: string): Resource | undefined {
    const { Ref: ref, 'Fn::GetAtt': attribute } = jsonOf(value);
    const id = ref ?? (Array.isArray(attribute) ? attribute[0] as unknown : undefined);
    return this.all(type).find(resource => resource.id === id);
  }

  /** What allows a role something, wherever it stands. */
  public identityStatements(): { readonly holder: Resource; readonly roles: readonly unknown[]; readonly statement: Statement }[] {
    const inRoles = this.all('AWS::IAM::Role').flatMap(holder => listOf(holder.properties.Policies)
      .flatMap(policy => statementsOf(jsonOf(policy).PolicyDocument)).map(statement => ({ holder, roles: [{ Ref: holder.id }], statement })));
    const policies = ['AWS::IAM::Policy', 'AWS::IAM::ManagedPolicy'].flatMap(type => this.all(type));
    return [...inRoles, ...policies.flatMap(holder => statementsOf(holder.properties.PolicyDocument)
      .map(statement => ({ holder, roles: listOf(holder.properties.Roles), statement })))];
  }

  /** What a role may do. */
  public statementsOfRole(role: Resource): Statement[] {
    return this.identityStatements().filter(({ roles }) => roles.some(one => this.referredBy(one, 'AWS::IAM::Role') === role)).map(({ statement }) => statement);
  }

  /** All that a value can be, where a mapping tells it. */
  public valuesOf(value: unknown): unknown[] {
    const [mapping, , name] = listOf(jsonOf(value)['Fn::FindInMap']);
    if (name === undefined) return [value];
    return Object.values(jsonOf(this.mappings[String(mapping)])).map(row => jsonOf(row)[String(name)]);
  }
}

export function statementsOf(document: unknown): Statement[] {
  return listOf(jsonOf(document).Statement).map(jsonOf).map(statement => ({
    effect: String(statement.Effect),
    actions: listOf(statement.Action).map(String),
    resources: listOf(statement.Resource).map(textOf),
    resourceValues: listOf(statement.Resource),
    condition: jsonOf(statement.Condition),
    principal: statement.Principal,
    negations: Object.keys(statement).filter(name => name.startsWith('Not')),
  }));
}

/** A value as text, in which references are `<Ref>` or the name of the attribute, such as `<Arn>`, so that the text is the same for each resource. */
export function textOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value);
  const { Ref: ref, 'Fn::GetAtt': attribute, 'Fn::Join': join, 'Fn::Sub': sub } = value as Json;
  if (ref !== undefined) return String(ref).startsWith('AWS::') ? `<${String(ref)}>` : '<Ref>';
  if (Array.isArray(attribute)) return `<${String(attribute[1])}>`;
  if (Array.isArray(join)) return listOf(join[1]).map(textOf).join(String(join[0]));
  if (typeof sub === 'string') return sub.replace(/\$\{(AWS::\w+)\}/g, '<$1>');
  return JSON.stringify(value);
}

/** The logical ids that a value refers to, at any depth. */
export function referencesIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const { Ref: ref, 'Fn::GetAtt': attribute } = value as Json;
  if (typeof ref === 'string') return [ref];
  if (Array.isArray(attribute)) return [String(attribute[0])];
  return Object.values(value).flatMap(referencesIn);
}

export function listOf(value: unknown): unknown[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? value : [value];
}

export function jsonOf(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value as Json : {};
}

export function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
