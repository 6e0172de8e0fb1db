import { Annotations } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as scheduler from 'aws-cdk-lib/aws-scheduler';
import * as sqs from 'aws-cdk-lib/aws-sqs';
import * as triggers from 'aws-cdk-lib/triggers';
import { Construct, IConstruct, IDependable } from 'constructs';
import { FirstToken } from './first-token';
import { attach, attachDefined } from './private/attach';
import { AttachedFunction } from './private/attached-function';
import { FunctionSource, SettingsSource } from './private/bound-source';
import { checkChoice, checkKnown, checkMade } from './private/choice';
import { ENV } from './private/contract';
import { SharedTokenTableError, warningId } from './private/errors';
import { checkFailureQueue, newFailureQueue } from './private/failure-queue';
import { GrantLedger } from './private/grant-ledger';
import { RefreshTokenHome, warnOfLosableRefreshTokens } from './private/losable-refresh-tokens';
import { newPrebuiltFunction, PREBUILT_FUNCTION_PROPS, settingsJson } from './private/prebuilt-refresher';
import { Reference } from './private/reference';
import { homeOf, refresherFunctionOf } from './private/refresher-function';
import { addSchedule, addTrigger, boundRetries, InvokedFunction } from './private/refresher-invocations';
import { NamedRefresher, Refreshers } from './private/refresher-map';
import { checkScheduledTokenId, problemsOfAlias, warnOfSlowSchedule } from './private/schedule-checks';
import { checkSource } from './private/source-checks';
import { askStatement } from './private/statements';
import { checkSingleTokenId } from './private/token-ids';
import { authLimitVariable, sourceVariable, tableVariable, tokenIdVariable } from './private/variables';
import { TokenAccess } from './token-access';
import { RefresherAttachOptions, TokenRefresherProps } from './token-refresher-props';

/**
 * What a refresher needs of its table.
 *
 * @internal
 */
export interface RefreshedTable extends RefreshTokenHome {
  readonly construct: Construct;
  readonly reference: Reference;
  readonly grant: (grantee: iam.IGrantable, access: TokenAccess, tokenId: string) => iam.Grant;
}

/** The function before anything invokes it. */
interface RefresherFunction {
  readonly function: lambda.Function;
  /** Where all that belongs to it is declared. */
  readonly home: Construct;
  /** What it has to wait for before it can be invoked. */
  readonly after: IDependable[];
}

/**
 * A function that refreshes one token of a table, so that the functions that use the token only read it and hold no credentials.
 *
 * It is invoked by a schedule, by readers whose token was refused or is about to expire, and at deployment; however often and by however many, it asks the provider
 * only when a refresh is due, and once at a time. Made by `addRefresher` of a table.
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
 * crm.attachTo(orders); // in it: new SharedToken('crm')
 */
export class TokenRefresher extends Construct implements iam.IGrantable {
  /**
   * The environment variables of a consumer that asks several refreshers: merged, since all of them are in one variable.
   *
   * For consumers that are no Lambda functions, such as ECS containers. Throws if they are of different tables or two refresh tokens of the same id.
   *
   * @example
   * declare const crm: TokenRefresher;
   * declare const erp: TokenRefresher;
   * declare const taskDefinition: ecs.TaskDefinition;
   *
   * taskDefinition.addContainer('App', {
   *   image: ecs.ContainerImage.fromRegistry('app'),
   *   environment: TokenRefresher.environmentOf(crm, erp),
   * });
   *
   * @param refreshers at least one, all of one table
   */
  public static environmentOf(...refreshers: TokenRefresher[]): { [name: string]: string } {
    const [first, ...others] = refreshers;
    if (!first) throw new Error('TokenRefresher.environmentOf: at least one refresher is needed.');
    const other = others.find(({ table }) => table.reference !== first.table.reference);
    if (other) {
      throw new SharedTokenTableError(other, {
        what: `The variable ${ENV.TABLE} names one table.`,
        got: `a refresher of ${other.table.construct.node.path}`,
        expected: `refreshers of ${first.table.construct.node.path} alone`,
        todo: 'Give the second table a variable of your own, and hand its value to `new SharedToken(id, { table })`.',
      });
    }
    const all = new Refreshers(first);
    for (const refresher of refreshers) {
      all.add(refresher.named);
      refresher.isUsed = true;
    }
    return { [ENV.TABLE]: first.table.reference.render(), [ENV.REFRESHERS]: all.render() };
  }

  /**
   * Tables make refreshers.
   *
   * @internal
   */
  public static _of(table: RefreshedTable, id: string, props: TokenRefresherProps): TokenRefresher {
    return new TokenRefresher(table, id, props);
  }

  /**
   * The refresher of a token, wherever in the app it is: the table may be imported a second time.
   *
   * @internal
   */
  public static _find(scope: IConstruct, tableIdentity: string, tokenId: string): TokenRefresher | undefined {
    const isOne = (construct: IConstruct): construct is TokenRefresher => construct instanceof TokenRefresher;
    return scope.node.root.node.findAll().filter(isOne).find(one => one.table.identity === tableIdentity && one.tokenId === tokenId);
  }

  /** The token that it refreshes. */
  public readonly tokenId: string;

  /** The function that refreshes the token: for alarms, and for permissions that a VPC or a proxy needs. */
  public readonly function: lambda.IFunction;

  /** Where failures end up. */
  public readonly failureQueue: sqs.IQueue;

  /**
   * The schedule.
   *
   * @default - none, where the refresher was given none
   */
  public readonly schedule?: scheduler.ISchedule;

  /**
   * What gets the first token at deployment. Let resources that need the token wait for it: `refresher.trigger.executeBefore(...)`.
   *
   * @default - none with `FirstToken.NONE`
   */
  public readonly trigger?: triggers.ITrigger;

  /** The role of the function, for further grants. */
  public readonly grantPrincipal: iam.IPrincipal;

  private readonly table: RefreshedTable;
  private readonly definition: lambda.Function;
  private readonly named: NamedRefresher;
  private readonly ledger: GrantLedger;
  private isUsed: boolean;

  private constructor(table: RefreshedTable, id: string, props: TokenRefresherProps) {
    super(table.construct, id);
    this.table = table;
    checkKnown(this, 'a refresher', props, [
      'tokenId', 'source', 'schedule', 'timeWindow', 'firstToken', 'failureQueue', ...PREBUILT_FUNCTION_PROPS,
    ] satisfies (keyof TokenRefresherProps)[]);
    const { tokenId, schedule, timeWindow, firstToken = FirstToken.ASYNC } = props;
    checkSingleTokenId(this, tokenId);
    checkMade(this, props);
    checkChoice(this, 'FirstToken', FirstToken, firstToken, 'There is no such way to get the first token.');
    this.tokenId = tokenId;
    if (timeWindow && !schedule) {
      throw new SharedTokenTableError(this, {
        what: 'A time window is one of a schedule.', got: '`timeWindow` without `schedule`', expected: 'both or neither', todo: 'Add the `schedule`.',
      });
    }
    if (schedule) checkScheduledTokenId(this, tokenId);
    checkSource(this, props.source);

    const source = props.source._bind(this);
    const { function: fn, home, after } = source.kind === 'settings' ? this.prebuilt(source, props) : this.adopt(source, props);
    this.function = source.kind === 'settings' ? fn : source.function;
    this.definition = fn;
    this.grantPrincipal = fn.grantPrincipal;
    this.named = {
      tokenId,
      path: this.node.path,
      reference: new Reference(() => ({ name: fn.functionName, arn: fn.functionArn, env: fn.env, isNameReliable: true })),
    };
    this.ledger = new GrantLedger({ construct: this, env: fn.env, noun: 'refresher', policyMethod: 'refresher.function.addPermission' });

    if (props.failureQueue) checkFailureQueue(this, props.failureQueue, home);
    this.failureQueue = props.failureQueue ?? newFailureQueue(home);
    const invoked: InvokedFunction = { function: fn, home, failureQueue: this.failureQueue };
    boundRetries(invoked, fn);
    if (schedule) this.schedule = addSchedule(invoked, { tokenId, expression: schedule, timeWindow });
    // After the schedule, whose first run may be at once: what it does need not be done twice.
    this.trigger = addTrigger(invoked, firstToken, [...after, ...(this.schedule ? [this.schedule] : [])]);

    const life = source.kind === 'settings' ? source.settings.tokenLifeSeconds : undefined;
    if (schedule && life !== undefined) warnOfSlowSchedule(this, schedule, timeWindow, life);
    this.isUsed = schedule !== undefined;
    this.node.addValidation({ validate: () => this.warnOfNoUse() });
    if (schedule) this.node.addValidation({ validate: () => problemsOfAlias(this, fn, home) });
    if (source.kind === 'settings' && source.settings.kind === 'refresh_token') this.node.addValidation({ validate: () => this.warnOfLoss() });
  }

  /** The environment variables by which a consumer that is no Lambda function finds the table and this refresher; `environmentOf` merges those of several. */
  public get environment(): { [name: string]: string } {
    return TokenRefresher.environmentOf(this);
  }

  /**
   * Gives a Lambda function everything it needs to read the token and to ask for a newer one: layer, environment variables and permissions.
   *
   * For each function that uses `new SharedToken(id)` of `cdk-shared-token-table/runtime` without a `refresh`. Of one function and several refreshers, call it for
   * each. Throws for a function that cannot be served, and warns where only a part can.
   *
   * @example
   * declare const crm: TokenRefresher;
   * declare const orders: lambda.Function;
   *
   * crm.attachTo(orders);
   *
   * @param consumer a function, also through an alias or version
   * @param options the variable of a second table
   */
  public attachTo(consumer: lambda.IFunction, options: RefresherAttachOptions = {}): iam.Grant {
    checkKnown(this, 'the `attachTo` of a refresher, which is for its one token', options, ['tableVariable']);
    return attach(this, consumer, {
      table: this.table.reference,
      variable: options.tableVariable ?? ENV.TABLE,
      access: TokenAccess.READ,
      refresher: this.named,
      grant: grantee => this.grantRead(grantee),
    });
  }

  /**
   * Lets a principal read the token and ask for a newer one, and nothing else.
   *
   * For consumers that are no Lambda functions; they need `environment`, too. Throws if the principal can have no policy; warns if its policies are out of reach.
   *
   * @example
   * declare const crm: TokenRefresher;
   * declare const taskRole: iam.Role;
   *
   * crm.grantRead(taskRole);
   *
   * @param grantee the principal, such as a role
   */
  public grantRead(grantee: iam.IGrantable): iam.Grant {
    if (grantee === this.definition) {
      throw new SharedTokenTableError(this, {
        what: 'A refresher does not ask itself for its token.',
        got: 'its own function',
        expected: 'another function',
        todo: 'In its function, call `refresh` of the same `SharedToken`; it may do so already.',
      });
    }
    this.isUsed = true;
    return this.table.grant(grantee, TokenAccess.READ, this.tokenId).combine(this.ledger.grant(grantee, [askStatement(this.definition)]));
  }

  /** The function that comes with this library. */
  private prebuilt(source: SettingsSource, props: TokenRefresherProps): RefresherFunction {
    const fn = newPrebuiltFunction(this, this.tokenId, source, props);
    const attached = AttachedFunction.of({ kind: 'defined', function: fn, resource: fn.node.defaultChild as lambda.CfnFunction, packaging: 'node' });
    attached.setVariable(tableVariable(ENV.TABLE, this.table.reference));
    attached.setVariable(tokenIdVariable(this.tokenId));
    attached.setVariable(sourceVariable(settingsJson(this, source)));
    if (props.authLimit) attached.setVariable(authLimitVariable(props.authLimit.toMilliseconds()));
    attached.refreshes();
    this.table.grant(fn, TokenAccess.REFRESH, this.tokenId);
    return { function: fn, home: this, after: props.vpc ? [props.vpc.selectSubnets(props.vpcSubnets).internetConnectivityEstablished] : [] };
  }

  /** A function of the user's. */
  private adopt({ function: handler }: FunctionSource, props: TokenRefresherProps): RefresherFunction {
    const foreign = PREBUILT_FUNCTION_PROPS.filter(name => props[name] !== undefined);
    if (foreign.length > 0) {
      throw new SharedTokenTableError(this, {
        what: 'A function of yours is as you defined it.',
        got: `${foreign.map(name => `\`${name}\``).join(', ')} beside \`TokenSource.fromFunction\``,
        expected: 'none of what is for the function that comes with this library',
        todo: 'Set it where the function is defined.',
      });
    }
    const consumer = refresherFunctionOf(this, handler);
    const grant = attachDefined(consumer, {
      table: this.table.reference,
      variable: ENV.TABLE,
      access: TokenAccess.REFRESH,
      grant: grantee => this.table.grant(grantee, TokenAccess.REFRESH, this.tokenId),
    });
    AttachedFunction.of(consumer).setVariable(tokenIdVariable(this.tokenId));
    return { function: consumer.function, home: homeOf(consumer), after: [grant] };
  }

  /** Later refresh tokens are in the table alone. */
  private warnOfLoss(): string[] {
    warnOfLosableRefreshTokens(this, this.tokenId, this.table);
    return [];
  }

  /** Then the token is fetched at deployment at most, and nobody gets it through the refresher. */
  private warnOfNoUse(): string[] {
    if (this.isUsed) return [];
    Annotations.of(this).addWarningV2(warningId('unusedRefresher'), [
      `Nothing invokes the refresher of '${this.tokenId}' once the app is deployed: it has no schedule, and no reader may ask it.`,
      'Attach the functions that use the token (`refresher.attachTo`), or give it a `schedule`.',
    ].join(' '));
    return [];
  }
}
