import { Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { TableEncryptionV2 } from 'aws-cdk-lib/aws-dynamodb';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as kms from 'aws-cdk-lib/aws-kms';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { ScheduleExpression } from 'aws-cdk-lib/aws-scheduler';
import * as secretsmanager from 'aws-cdk-lib/aws-secretsmanager';
import { Construct } from 'constructs';
import { PROBER_ENV } from './contract';
import { bundled, testFunction } from './test-function';
import { FirstToken, SharedTokenTable, TokenAccess, TokenRefresher, TokenSource } from '../../../src';
import { ACTION, ENV, KEY_SEPARATOR } from '../../../src/private/contract';
import { BOTS, ROLES, TOKENS, type Role } from '../handlers/probes';

/** One function for each role that this library gives: each tries what it may do, and what it must not. */
export class PoliciesStack extends Stack {
  public readonly tokens: SharedTokenTable;
  public readonly refresher: TokenRefresher;
  /** Of the table whose tokens the runtime encrypts. */
  public readonly encryptingRefresher: TokenRefresher;
  public readonly probers: Readonly<Record<Role, lambda.Function>>;

  constructor(scope: Construct, id: string) {
    super(scope, id);
    this.tokens = new SharedTokenTable(this, 'Tokens', { removalPolicy: RemovalPolicy.DESTROY });
    const key = new kms.Key(this, 'Key', { removalPolicy: RemovalPolicy.DESTROY, pendingWindow: Duration.days(7) });
    const encrypted = new SharedTokenTable(this, 'EncryptedTokens', {
      encryption: TableEncryptionV2.customerManagedKey(key), removalPolicy: RemovalPolicy.DESTROY,
    });
    const tokenKey = new kms.Key(this, 'TokenKey', { removalPolicy: RemovalPolicy.DESTROY, pendingWindow: Duration.days(7) });
    const withTokenKey = new SharedTokenTable(this, 'TokensWithKey', { tokenEncryptionKey: tokenKey, removalPolicy: RemovalPolicy.DESTROY });
    const ownRefresher = bundled('own-refresher');
    this.refresher = this.tokens.addRefresher('Refresher', {
      tokenId: TOKENS.GRANTED,
      source: TokenSource.fromFunction(testFunction(this, 'OwnRefresher', { code: ownRefresher })),
      firstToken: FirstToken.REQUIRED,
      schedule: ScheduleExpression.rate(Duration.days(1)), // for its alias
    });
    this.encryptingRefresher = withTokenKey.addRefresher('Refresher', {
      tokenId: TOKENS.GRANTED,
      source: TokenSource.fromFunction(testFunction(this, 'EncryptingRefresher', { code: ownRefresher })),
      firstToken: FirstToken.REQUIRED,
    });
    this.probers = this.addProbers(new secretsmanager.Secret(this, 'ForeignSecret', { removalPolicy: RemovalPolicy.DESTROY }));
    this.giveRoles(encrypted);
    this.giveRolesWithTokenKey(withTokenKey, tokenKey);
  }

  private addProbers(secret: secretsmanager.ISecret): Record<Role, lambda.Function> {
    const code = bundled('prober');
    return Object.fromEntries(ROLES.map(role => [role, testFunction(this, `Prober-${role}`, {
      code,
      timeout: Duration.minutes(1),
      environment: {
        [PROBER_ENV.ROLE]: role, [PROBER_ENV.REFRESHER]: this.refresher.function.functionName, [PROBER_ENV.SECRET]: secret.secretArn,
      },
    })])) as Record<Role, lambda.Function>;
  }

  /** Each gets what `attachTo` grants, or `grantOperate`, and nothing else; but the one without the key, which is granted by hand what the library would never leave out. */
  private giveRoles(encrypted: SharedTokenTable): void {
    const { reader, patternReader, refreshing, operator, readerEncrypted, refreshingEncrypted, withoutKey } = this.probers;
    this.refresher.attachTo(reader);
    this.tokens.attachTo(patternReader, { access: TokenAccess.READ, tokenIds: [BOTS] });
    this.tokens.attachTo(refreshing, { tokenIds: [TOKENS.GRANTED, BOTS] });
    operator.addEnvironment(ENV.TABLE, this.tokens.tableName);
    this.tokens.grantOperate(operator, TOKENS.GRANTED);
    encrypted.attachTo(readerEncrypted, { access: TokenAccess.READ, tokenIds: [TOKENS.GRANTED] });
    encrypted.attachTo(refreshingEncrypted, { tokenIds: [BOTS] });
    withoutKey.addEnvironment(ENV.TABLE, encrypted.tableName);
    withoutKey.addToRolePolicy(new iam.PolicyStatement({ actions: [ACTION.READ, ACTION.WRITE], resources: [encrypted.tableArn] }));
  }

  private giveRolesWithTokenKey(tokens: SharedTokenTable, key: kms.IKey): void {
    const { refreshingTokenKey, readerTokenKey, withoutTokenKey } = this.probers;
    tokens.attachTo(refreshingTokenKey, { tokenIds: [TOKENS.GRANTED, BOTS] });
    tokens.attachTo(readerTokenKey, { access: TokenAccess.READ, tokenIds: [TOKENS.GRANTED] });
    withoutTokenKey.addEnvironment(ENV.TABLE, `${tokens.tableName}${KEY_SEPARATOR}${key.keyArn}`);
    withoutTokenKey.addToRolePolicy(new iam.PolicyStatement({ actions: [ACTION.READ], resources: [tokens.tableArn] }));
  }
}
