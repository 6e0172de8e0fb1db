import { join } from 'node:path';
import { Duration, Fn, RemovalPolicy } from 'aws-cdk-lib';
import * as kms from 'aws-cdk-lib/aws-kms';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import type { OrdersStackProps } from '../../../examples/refreshers/orders-props';
import { OrdersStack } from '../../../examples/refreshers/orders-stack';
import { SharedTokenTable, TokenAccess } from '../../../src';

/** The example with a schedule and a refresher, and functions beside it that try what their policies let them: one for each kind of access. */
export class PoliciesStack extends OrdersStack {
  /** Uses the token, and may ask its refresher. */
  public readonly asking = this.probe('Asking');
  /** Reads the token, no more. */
  public readonly reading = this.probe('Reading');
  /** Reads all tokens whose ids begin with `bot-`. */
  public readonly readingBots = this.probe('ReadingBots');
  /** Refreshes for itself. */
  public readonly refreshing = this.probe('Refreshing');
  /** Looks at the token and mends it. */
  public readonly operating = this.probe('Operating');
  /** A table that goes with its stack. */
  public readonly passing: SharedTokenTable;
  /** What encrypts the tokens of that table. */
  public readonly key: kms.Key;
  /** Refreshes `crm` in it. */
  public readonly sealing = this.probe('Sealing');
  /** Reads it. */
  public readonly opening = this.probe('Opening');
  /** Reads it, too, but by the table's name alone, which does not tell the key. */
  public readonly keyless = this.probe('Keyless');

  constructor(scope: Construct, id: string, props: OrdersStackProps) {
    super(scope, id, props);
    this.crm.attachTo(this.asking);
    this.tokens.attachTo(this.reading, { access: TokenAccess.READ, tokenIds: ['crm'] });
    this.tokens.attachTo(this.readingBots, { access: TokenAccess.READ, tokenIds: ['bot-*'] });
    this.tokens.attachTo(this.refreshing, { access: TokenAccess.REFRESH, tokenIds: ['crm'] });
    this.tokens.grantOperate(this.operating, 'crm');
    this.key = new kms.Key(this, 'Key', { removalPolicy: RemovalPolicy.DESTROY });
    this.passing = new SharedTokenTable(this, 'Passing', { removalPolicy: RemovalPolicy.DESTROY, tokenEncryptionKey: this.key });
    this.passing.attachTo(this.sealing, { tokenIds: ['crm'] });
    // As another app would import it, which does not see that a key is missing.
    const byName = SharedTokenTable.fromTableName(this, 'PassingByName', Fn.select(0, Fn.split('#', this.passing.tableName)));
    this.passing.attachTo(this.opening, { access: TokenAccess.READ, tokenIds: ['crm'] });
    byName.attachTo(this.keyless, { access: TokenAccess.READ, tokenIds: ['crm'] });
  }

  private probe(id: string): lambda.Function {
    return new lambda.Function(this, id, {
      runtime: lambda.Runtime.NODEJS_22_X,
      handler: 'index.handler',
      code: lambda.Code.fromAsset(join(__dirname, 'probe')),
      timeout: Duration.seconds(60),
    });
  }
}
