import { join } from 'node:path';
import { Duration, RemovalPolicy } from 'aws-cdk-lib';
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
  /** A table that goes with its stack. */
  public readonly passing: SharedTokenTable;

  constructor(scope: Construct, id: string, props: OrdersStackProps) {
    super(scope, id, props);
    this.crm.attachTo(this.asking);
    this.tokens.attachTo(this.reading, { access: TokenAccess.READ, tokenIds: ['crm'] });
    this.tokens.attachTo(this.readingBots, { access: TokenAccess.READ, tokenIds: ['bot-*'] });
    this.tokens.attachTo(this.refreshing, { access: TokenAccess.REFRESH, tokenIds: ['crm'] });
    this.passing = new SharedTokenTable(this, 'Passing', { removalPolicy: RemovalPolicy.DESTROY });
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
