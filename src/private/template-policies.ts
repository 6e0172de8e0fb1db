import { CfnResource, Stack } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import { Construct, IConstruct } from 'constructs';
import { GrantedStatement } from './statements';

type PolicyResource = iam.CfnPolicy | iam.CfnManagedPolicy;

/** A statement as the template shows it, each part as JSON. */
interface RenderedStatement {
  readonly actions: string[];
  readonly resources: string[];
  readonly condition: string | undefined;
}

/** Whom a policy is attached to, each name as JSON. */
interface Attachments {
  readonly roles: string[];
  readonly users: string[];
  readonly groups: string[];
}

/** The policies of an app as they will be in its templates. Looks at the tree once: an instance is good for one look. */
export class TemplatePolicies {
  private readonly resources: PolicyResource[];
  private readonly attachments = new Map<PolicyResource, Attachments>();
  private readonly statements = new Map<PolicyResource, RenderedStatement[]>();

  constructor(root: IConstruct) {
    this.resources = root.node.findAll().filter(isPolicyResource);
  }

  /** Whether some policy that is attached to the principal allows what the statement does. */
  public hold(principal: iam.IPrincipal, statement: GrantedStatement): boolean {
    return this.resources.some(resource => this.isAttached(resource, principal) && this.allows(resource, statement));
  }

  /** A policy that is attached to nobody does not reach the template. */
  private isAttached(resource: PolicyResource, principal: iam.IPrincipal): boolean {
    // A name is generated, or missed, when another environment asks for it. A policy is made where its role is.
    if (Construct.isConstruct(principal) && environmentOf(principal) !== environmentOf(resource)) return false;
    const { roles, users, groups } = memoized(this.attachments, resource, attachmentsOf);
    const { roleName, userName, groupName } = principal as { roleName?: string; userName?: string; groupName?: string };
    if (roleName !== undefined) return roles.includes(render(resource, roleName)!);
    if (userName !== undefined) return users.includes(render(resource, userName)!);
    if (groupName !== undefined) return groups.includes(render(resource, groupName)!);
    // A principal without a name, such as a policy that is granted to: any policy in use will do.
    return roles.length + users.length + groups.length > 0;
  }

  /** CDK may have merged statements, so this one's actions and resource can be among others. */
  private allows(resource: PolicyResource, wanted: GrantedStatement): boolean {
    const resourceArn = render(resource, wanted.resourceArn)!;
    const condition = render(resource, wanted.conditions);
    return memoized(this.statements, resource, statementsOf).some(statement => statement.condition === condition
      && statement.resources.includes(resourceArn)
      && wanted.actions.every(action => statement.actions.includes(JSON.stringify(action))));
  }
}

function isPolicyResource(construct: IConstruct): construct is PolicyResource {
  return CfnResource.isCfnResource(construct)
    && [iam.CfnPolicy.CFN_RESOURCE_TYPE_NAME, iam.CfnManagedPolicy.CFN_RESOURCE_TYPE_NAME].includes(construct.cfnResourceType);
}

function environmentOf(construct: IConstruct): string {
  const { account, region } = Stack.of(construct);
  return `${account} ${region}`;
}

function attachmentsOf(resource: PolicyResource): Attachments {
  const names = (value: unknown) => jsonList(Stack.of(resource).resolve(value) ?? []);
  return { roles: names(resource.roles), users: names(resource.users), groups: names(resource.groups) };
}

function statementsOf(resource: PolicyResource): RenderedStatement[] {
  const document = Stack.of(resource).resolve(resource.policyDocument) as { Statement?: { [part: string]: unknown }[] } | undefined;
  return (document?.Statement ?? []).filter(({ Effect }) => Effect === 'Allow').map(({ Action, Resource, Condition }) => ({
    actions: jsonList(Action),
    resources: jsonList(Resource),
    condition: JSON.stringify(Condition),
  }));
}

function render(resource: PolicyResource, value: unknown): string | undefined {
  return JSON.stringify(Stack.of(resource).resolve(value));
}

function jsonList(value: unknown): string[] {
  return (Array.isArray(value) ? value : [value]).map(item => JSON.stringify(item));
}

function memoized<K, V>(known: Map<K, V>, key: K, compute: (key: K) => V): V {
  let value = known.get(key);
  if (value === undefined) known.set(key, value = compute(key));
  return value;
}
