import { Annotations, Stack, Stage, Token, TokenComparison } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import { Construct, IConstruct } from 'constructs';
import { SharedTokenTableError, warningId } from './errors';
import { GrantedStatement, GrantedTable } from './statements';
import { TemplatePolicies } from './template-policies';

/** Gives principals their statements, and sees to it that each one is in the template in the end: `Grant.success` is true also where CDK drops them. */
export class GrantLedger {
  private readonly entries: LedgerEntry[] = [];

  constructor(private readonly table: Construct & GrantedTable & { readonly env: { readonly account: string } }) {
    table.node.addValidation({ validate: () => this.warnOfMissingStatements() });
  }

  /** Adds the statements to the grantee's policies, or says why that cannot be. */
  public grant(grantee: iam.IGrantable, statements: GrantedStatement[]): iam.Grant {
    const principal = grantee.grantPrincipal;
    const owner = Construct.isConstruct(grantee) ? grantee : this.table;
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
      todo: `Grant to a role, or add to the policy of the principal or of the table (\`table.addToResourcePolicy\`): ${this.show(statements)}.`,
    });
  }

  private warnOfOtherAccount(owner: IConstruct, principal: iam.IPrincipal, statements: GrantedStatement[]): void {
    const { principalAccount } = principal;
    if (principalAccount === undefined) return;
    if (Token.compareStrings(principalAccount, this.table.env.account) !== TokenComparison.DIFFERENT) return;
    Annotations.of(owner).addWarningV2(warningId('crossAccountPrincipal'), [
      `The principal is in account ${principalAccount} and the table ${this.table.node.path} in account ${this.table.env.account}:`,
      'its own policy is not enough. The table needs a resource policy (`table.addToResourcePolicy`) that allows this principal',
      `${this.actions(statements, 'dynamodb:')}${this.table.encryptionKey ? `, and its key a key policy that allows ${this.actions(statements, 'kms:')}` : ''}.`,
      'A function finds the table by its ARN, not by its name.',
    ].join(' '));
  }

  /** Imported roles that may not be changed, roles of other accounts, customized roles: looked for where it counts, in the policies of the template. */
  private warnOfMissingStatements(): string[] {
    const policies = new TemplatePolicies(Stage.of(this.table) ?? this.table.node.root);
    for (const { owner, principal, statement } of this.entries) {
      if (policies.hold(principal, statement)) continue;
      Annotations.of(owner).addWarningV2(warningId('grantNotInTemplate'), [
        `No policy of this app gives ${principal} the access to ${this.table.node.path} that was granted,`,
        'as happens to a role that is immutable, customized, or of another account.',
        `Whoever manages the role must add: ${this.show([statement])}.`,
      ].join(' '));
    }
    return [];
  }

  private actions(statements: GrantedStatement[], prefix: string): string {
    return [...new Set(statements.flatMap(statement => statement.actions))].filter(action => action.startsWith(prefix)).join(', ');
  }

  private show(statements: GrantedStatement[]): string {
    const json = statements.map(({ actions, resourceArn, conditions }) => ({
      Effect: 'Allow',
      Action: actions,
      Resource: resourceArn,
      ...(conditions && { Condition: conditions }),
    }));
    return JSON.stringify(Stack.of(this.table).resolve(json));
  }
}

interface LedgerEntry {
  readonly owner: IConstruct;
  readonly principal: iam.IPrincipal;
  readonly statement: GrantedStatement;
}
