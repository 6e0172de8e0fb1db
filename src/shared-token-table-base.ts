import { IResource, Lazy, Resource, ResourceEnvironment, Stack, Token, TokenComparison } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as kms from 'aws-cdk-lib/aws-kms';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { attach } from './private/attach';
import { ENV } from './private/contract';
import { SharedTokenTableError } from './private/errors';
import { GrantLedger } from './private/grant-ledger';
import { GrantedStatement, statementsFor } from './private/statements';
import { ALL_TOKENS, selectTokenIds } from './private/token-ids';
import { TokenAccess } from './token-access';

/** How a function is attached to a table. */
export interface AttachOptions {
  /**
   * What the function may do with the tokens.
   *
   * @default TokenAccess.REFRESH
   */
  readonly access?: TokenAccess;

  /**
   * The tokens that the function may use: ids, or prefixes with one `*` at the end such as `bot-*`.
   *
   * At least one; `*` is every token of the table.
   *
   * @default - every token of the table
   */
  readonly tokenIds?: string[];

  /**
   * The environment variable that tells the function the name of this table.
   *
   * Needed for a function's second table only: the runtime looks for the first by itself. The function hands the variable to each token: `new SharedToken('erp', { table: process.env.ERP_TOKENS })`.
   *
   * @default 'SHARED_TOKEN_TABLE'
   */
  readonly tableVariable?: string;
}

/** A table that holds shared tokens, defined here or imported. */
export interface ISharedTokenTable extends IResource {
  /**
   * The name of the table.
   *
   * @attribute
   */
  readonly tableName: string;

  /**
   * The ARN of the table.
   *
   * @attribute
   */
  readonly tableArn: string;

  /**
   * The customer managed key of the table, where it has one that is known here.
   *
   * @default - none: the table is encrypted with a key that needs no permissions
   */
  readonly encryptionKey?: kms.IKey;

  /**
   * The environment variables by which the runtime finds the table.
   *
   * For consumers that are no Lambda functions, such as ECS containers; `attachTo` sets them on functions. A stack in another account or region gets the ARN
   * in place of the name.
   */
  readonly environment: { [name: string]: string };

  /**
   * Gives a Lambda function everything it needs to use tokens of this table: layer, environment variables and permissions.
   *
   * For each function that uses `cdk-shared-token-table/runtime`. Attaching a function again adds to its permissions and nothing else. Throws for a function
   * that cannot be served, and warns where only a part can.
   *
   * @example
   * declare const tokens: SharedTokenTable;
   * declare const sendMessage: lambda.Function;
   * declare const report: lambda.Function;
   *
   * tokens.attachTo(sendMessage);
   * tokens.attachTo(report, { access: TokenAccess.READ, tokenIds: ['crm'] });
   *
   * @param consumer a function, also through an alias or version
   * @param options which tokens, and what for
   */
  attachTo(consumer: lambda.IFunction, options?: AttachOptions): iam.Grant;

  /**
   * Lets a principal read tokens, and nothing else: not write, and never see a stored refresh token.
   *
   * For consumers that are no Lambda functions. Throws if the principal can have no policy; warns if its policies are out of reach.
   *
   * @example
   * declare const tokens: SharedTokenTable;
   * declare const taskRole: iam.Role;
   *
   * tokens.grantRead(taskRole, 'crm', 'bot-*');
   *
   * @param grantee the principal, such as a role
   * @param tokenIds ids, or prefixes with one `*` at the end; at least one, `*` is every token of the table
   */
  grantRead(grantee: iam.IGrantable, ...tokenIds: string[]): iam.Grant;

  /**
   * Lets a principal read tokens and take part in refreshing them.
   *
   * For consumers that are no Lambda functions. Assume that the principal can see whatever the items of these tokens hold. Throws if the principal can have no
   * policy; warns if its policies are out of reach.
   *
   * @example
   * declare const tokens: SharedTokenTable;
   * declare const taskRole: iam.Role;
   *
   * tokens.grantRefresh(taskRole, 'bot-*');
   *
   * @param grantee the principal, such as a role
   * @param tokenIds ids, or prefixes with one `*` at the end; at least one, `*` is every token of the table
   */
  grantRefresh(grantee: iam.IGrantable, ...tokenIds: string[]): iam.Grant;
}

/**
 * What defined and imported tables have in common.
 *
 * @internal
 */
export abstract class SharedTokenTableBase extends Resource implements ISharedTokenTable {
  public abstract readonly tableName: string;
  public abstract readonly tableArn: string;
  public abstract readonly encryptionKey?: kms.IKey;

  /**
   * Whether the name is known to be in the account and region that `env` tells: two values that are both known only at deployment count as the same there.
   *
   * @internal
   */
  protected readonly _isNameReliable: boolean = true;

  private readonly ledger = new GrantLedger(this);

  public get environment(): { [name: string]: string } {
    return { [ENV.TABLE]: this.reference };
  }

  public attachTo(consumer: lambda.IFunction, options: AttachOptions = {}): iam.Grant {
    const statements = this.statements(options.access ?? TokenAccess.REFRESH, options.tokenIds ?? [ALL_TOKENS]);
    return attach(consumer, {
      variable: options.tableVariable ?? ENV.TABLE,
      table: this.reference,
      tableFrom: env => this.referenceFrom(env),
      grant: grantee => this.ledger.grant(grantee, statements),
    });
  }

  public grantRead(grantee: iam.IGrantable, ...tokenIds: string[]): iam.Grant {
    return this.ledger.grant(grantee, this.statements(TokenAccess.READ, tokenIds));
  }

  public grantRefresh(grantee: iam.IGrantable, ...tokenIds: string[]): iam.Grant {
    return this.ledger.grant(grantee, this.statements(TokenAccess.REFRESH, tokenIds));
  }

  private statements(access: TokenAccess, tokenIds: string[]): GrantedStatement[] {
    if (!Object.values(TokenAccess).includes(access)) {
      throw new SharedTokenTableError(this, {
        what: 'There is no such access to tokens.',
        got: `'${access}'`,
        expected: Object.values(TokenAccess).map(value => `TokenAccess.${value} ('${value}')`).join(' or '),
        todo: 'Pass a value of `TokenAccess`.',
      });
    }
    return statementsFor(this, access, selectTokenIds(this, tokenIds));
  }

  /** The table as seen from the stack that renders this. */
  private get reference(): string {
    return Lazy.uncachedString({ produce: ({ scope }) => this.referenceFrom(Stack.of(scope)) });
  }

  /** What DynamoDB finds the table by: its name, or its ARN where whoever asks is, or may be, in another account or region. */
  private referenceFrom({ account, region }: ResourceEnvironment): string {
    const isHere = this._isNameReliable && isSame(account, this.env.account) && isSame(region, this.env.region);
    return isHere ? this.tableName : this.tableArn;
  }
}

function isSame(one: string, other: string): boolean {
  return [TokenComparison.SAME, TokenComparison.BOTH_UNRESOLVED].includes(Token.compareStrings(one, other));
}
