import { Annotations, Stack, Stage } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import { Construct, IConstruct } from 'constructs';
import { SharedTokenTableError, warningId } from './errors';
import { isOther } from './reference';
import { GrantedStatement } from './statements';
import { TemplatePolicies } from './template-policies';

/** What the statements of a ledger are about. */
export interface GrantedResource {
  readonly construct: Construct;
  readonly env: { readonly account: string };
  /** What messages call it. */
  readonly noun: 'table' | 'refresher';
  /** What adds to its own policy, which a principal of another account needs as well. */
  readonly policyMethod: string;
}

/** Gives principals their statements, and sees to it that each one is in the template in the end: `Grant.success` is true also where CDK drops them. */
export class GrantLedger {
  private readonly entries: LedgerEntry[] = [];

  constructor(private readonly resource: GrantedResource) {
    resource.construct.node.addValidation({ validate: () => this.warnOfMissingStatements() });
  }

  /** Adds the statements to the grantee's policies, or says why that cannot be. */
  public grant(grantee: iam.IGrantable, statements: GrantedStatement[]): iam.Grant {
    const principal = this.principalOf(grantee);
    const owner = Construct.isConstruct(grantee) ? grantee : this.resource.construct;
    this.refuseUnknownPrincipal(owner, principal, statements);

    const grants = statements.map(statement => iam.Grant.addToPrincipal({
      grantee,
      actions: statement.actions,
      resourceArns: [statement.resourceArn],
      conditions: statement.conditions,
    }));
    this.refuseLostStatements(owner, principal, grants, statements);
    this.warnOfOtherAccount(owner, principal, statements);

    this.entries.push(...statements.map(statement => ({ owner, principal, statement })));
    return grants.reduce((all, next) => all.combine(next));
  }

  /** TypeScript and jsii see to this; plain JavaScript does not. */
  private principalOf(grantee: iam.IGrantable | undefined): iam.IPrincipal {
    if (grantee?.grantPrincipal) return grantee.grantPrincipal;
    throw new SharedTokenTableError(this.resource.construct, {
      what: 'Permissions are granted to who can have them.',
      got: typeof grantee,
      expected: 'a role, a user, a group, or what has a role',
      todo: 'Pass it, or import it: `Role.fromRoleArn(this, id, roleArn)`.',
    });
  }

  /** A function imported without its role: CDK would note the statement as a warning and call that a success. */
  private refuseUnknownPrincipal(owner: IConstruct, principal: iam.IPrincipal, statements: GrantedStatement[]): void {
    if (!(principal instanceof iam.UnknownPrincipal)) return;
    throw new SharedTokenTableError(owner, {
      what: 'Permissions cannot be added to a resource whose role is not known.',
      got: 'a resource imported without its role',
      expected: 'a role that this app may add policies to',
      todo: `Import it with its role (\`Function.fromFunctionAttributes({ functionArn, role })\`), or give its role these statements yourself: ${this.show(statements)}.`,
    });
  }

  /** Principals such as accounts, services or ARNs have no policies of their own. */
  private refuseLostStatements(owner: IConstruct, principal: iam.IPrincipal, grants: iam.Grant[], statements: GrantedStatement[]): void {
    if (grants.every(grant => grant.principalStatement !== undefined)) return;
    throw new SharedTokenTableError(owner, {
      what: 'This principal has no policy that statements can be added to.',
      got: `${principal}`,
      expected: 'a role, user or group of this app, or an imported role that may be changed',
      todo: `Grant to a role, or add to the policy of the principal or of the ${this.resource.noun} (\`${this.resource.policyMethod}\`): ${this.show(statements)}.`,
    });
  }

  private warnOfOtherAccount(owner: IConstruct, principal: iam.IPrincipal, statements: GrantedStatement[]): void {
    const { principalAccount } = principal;
    const { construct, env, noun, policyMethod } = this.resource;
    if (principalAccount === undefined) return;
    if (!isOther(principalAccount, env.account)) return;
    const actions = [...new Set(statements.flatMap(statement => statement.actions))];
    const keyActions = actions.filter(action => action.startsWith('kms:'));
    Annotations.of(owner).addWarningV2(warningId('crossAccountPrincipal'), [
      `The principal is in account ${principalAccount} and the ${noun} ${construct.node.path} in account ${env.account}:`,
      `its own policy is not enough. The ${noun} needs a resource policy (\`${policyMethod}\`) that allows this principal`,
      `${actions.filter(action => !keyActions.includes(action)).join(', ')}${keyActions.length > 0 ? `, and its key a key policy that allows ${keyActions.join(', ')}` : ''}.`,
      `A function finds the ${noun} by its ARN, not by its name.`,
    ].join(' '));
  }

  /** Imported roles that may not be changed, roles of other accounts, customized roles: looked for where it counts, in the policies of the template. */
  private warnOfMissingStatements(): string[] {
    const { construct } = this.resource;
    const policies = new TemplatePolicies(Stage.of(construct) ?? construct.node.root);
    for (const { owner, principal, statement } of this.entries) {
      if (policies.hold(principal, statement)) continue;
      Annotations.of(owner).addWarningV2(warningId('grantNotInTemplate'), [
        `No policy of this app gives ${principal} the access to ${construct.node.path} that was granted,`,
        'as happens to a role that is immutable, customized, or of another account.',
        `Whoever manages the role must add: ${this.show([statement])}.`,
      ].join(' '));
    }
    return [];
  }

  private show(statements: GrantedStatement[]): string {
    const json = statements.map(({ actions, resourceArn, conditions }) => ({
      Effect: 'Allow',
      Action: actions,
      Resource: resourceArn,
      ...(conditions && { Condition: conditions }),
    }));
    return JSON.stringify(Stack.of(this.resource.construct).resolve(json));
  }
}

interface LedgerEntry {
  readonly owner: IConstruct;
  readonly principal: iam.IPrincipal;
  readonly statement: GrantedStatement;
}
