import { IResource, Resource } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as kms from 'aws-cdk-lib/aws-kms';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { attach } from './private/attach';
import { checkChoice, checkKnown } from './private/choice';
import { ENV, KEY_SEPARATOR } from './private/contract';
import { SharedTokenTableError } from './private/errors';
import { GrantLedger } from './private/grant-ledger';
import { Reference, Referred } from './private/reference';
import { operatorStatementsFor, statementsFor } from './private/statements';
import { identityOf } from './private/table-identity';
import { ALL_TOKENS, selectTokenIds } from './private/token-ids';
import { TokenAccess } from './token-access';
import { TokenRefresher } from './token-refresher';
import { TokenRefresherProps } from './token-refresher-props';

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
   * The key with which the runtime encrypts tokens before it stores them, where there is one that is known here.
   *
   * @default - none: tokens are encrypted at rest, by DynamoDB
   */
  readonly tokenEncryptionKey?: kms.IKey;

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
   * Adds a function that refreshes one token, so that others only read it: on a schedule, when a reader's token was refused, and at deployment.
   *
   * For tokens whose credentials the functions that use them should not hold, and for those that a schedule should keep fresh. One refresher per token. Throws if
   * the token has one, or if the source cannot work as it is declared.
   *
   * @example
   * declare const tokens: SharedTokenTable;
   * declare const credentials: secretsmanager.Secret;
   * declare const orders: lambda.Function;
   *
   * const crm = tokens.addRefresher('Crm', {
   *   tokenId: 'crm',
   *   source: TokenSource.clientCredentials({ tokenUrl: 'https://auth.example.com/oauth/token', credentials }),
   *   schedule: scheduler.ScheduleExpression.rate(Duration.minutes(30)),
   * });
   * crm.attachTo(orders);
   *
   * @param id the id of the construct, under the table
   * @param props which token, from where, and when
   */
  addRefresher(id: string, props: TokenRefresherProps): TokenRefresher;

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

  /**
   * Lets a principal look at tokens and mend them: see who refreshes one and what went wrong, end a lease, clear a failure, have a token expire.
   *
   * For people and tools on call, by `cdk-shared-token-table/runtime/operator` or the command `shared-token`; no consumer needs it. It gives neither a token to read nor
   * one to write. Still assume that the principal can see whatever the items of these tokens hold, because no condition key covers the old item that a failed
   * condition returns (`ReturnValuesOnConditionCheckFailure`), unless the tokens are encrypted by the runtime. Throws if the principal can have no policy; warns if its policies are out of reach.
   *
   * @example
   * declare const tokens: SharedTokenTable;
   * declare const onCall: iam.Role;
   *
   * tokens.grantOperate(onCall, '*');
   *
   * @param grantee the principal, such as a role
   * @param tokenIds ids, or prefixes with one `*` at the end; at least one, `*` is every token of the table
   */
  grantOperate(grantee: iam.IGrantable, ...tokenIds: string[]): iam.Grant;
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
  public abstract readonly tokenEncryptionKey?: kms.IKey;

  /**
   * Whether the name is known to be in the account and region that `env` tells: two values that are both known only at deployment count as the same there.
   *
   * @internal
   */
  protected readonly _isNameReliable: boolean = true;

  private readonly ledger = new GrantLedger({ construct: this, env: this.env, noun: 'table', policyMethod: 'table.addToResourcePolicy' });

  private readonly reference = new Reference(() => this.referred);

  public get environment(): { [name: string]: string } {
    return { [ENV.TABLE]: this.reference.render() };
  }

  public attachTo(consumer: lambda.IFunction, options: AttachOptions = {}): iam.Grant {
    checkKnown(this, '`attachTo`', options, ['access', 'tokenIds', 'tableVariable']);
    const { access = TokenAccess.REFRESH, tokenIds = [ALL_TOKENS], tableVariable = ENV.TABLE } = options;
    checkChoice(this, 'TokenAccess', TokenAccess, access, 'There is no such access to tokens.');
    const statements = statementsFor(this, access, selectTokenIds(this, tokenIds));
    return attach(this, consumer, {
      table: this.reference,
      variable: tableVariable,
      access,
      grant: grantee => this.ledger.grant(grantee, statements),
    });
  }

  /**
   * The same for all constructs of an app that stand for one table.
   *
   * @internal
   */
  public _identity(): string {
    return identityOf(this, this.referred);
  }

  public addRefresher(id: string, props: TokenRefresherProps): TokenRefresher {
    const tableIdentity = this._identity();
    const known = TokenRefresher._find(this, tableIdentity, props?.tokenId); // no options at all are refused by the refresher
    if (known) {
      throw new SharedTokenTableError(this, {
        what: `A token has one refresher, and '${props.tokenId}' has one.`,
        got: `another one, '${id}'`,
        expected: `only ${known.node.path}`,
        todo: 'Use the refresher that is there, or refresh a token of another id. If the tables are in different accounts or regions, tell their stacks so (`env`).',
      });
    }
    return TokenRefresher._of({
      construct: this,
      identity: tableIdentity,
      keys: [this.encryptionKey, this.tokenEncryptionKey],
      reference: this.reference,
      grant: (grantee, access, tokenId) => this.grant(grantee, access, [tokenId]),
    }, id, props);
  }

  public grantRead(grantee: iam.IGrantable, ...tokenIds: string[]): iam.Grant {
    return this.grant(grantee, TokenAccess.READ, tokenIds);
  }

  public grantRefresh(grantee: iam.IGrantable, ...tokenIds: string[]): iam.Grant {
    return this.grant(grantee, TokenAccess.REFRESH, tokenIds);
  }

  public grantOperate(grantee: iam.IGrantable, ...tokenIds: string[]): iam.Grant {
    return this.ledger.grant(grantee, operatorStatementsFor(this, selectTokenIds(this, tokenIds)));
  }

  private get referred(): Referred {
    const key = this.tokenEncryptionKey?.keyArn;
    return { name: this.tableName, arn: this.tableArn, env: this.env, isNameReliable: this._isNameReliable, suffix: key && `${KEY_SEPARATOR}${key}` };
  }

  private grant(grantee: iam.IGrantable, access: TokenAccess, tokenIds: string[]): iam.Grant {
    return this.ledger.grant(grantee, statementsFor(this, access, selectTokenIds(this, tokenIds)));
  }
}
