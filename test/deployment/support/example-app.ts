import { App, Stack } from 'aws-cdk-lib';
import type { CfnFunction, CfnLayerVersion, Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { Asset } from 'aws-cdk-lib/aws-s3-assets';
import { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import type { CloudAssembly } from 'aws-cdk-lib/cx-api';
import { PoliciesStack } from './policies-stack';
import { ReadOnlyStack } from '../../../examples/read-only/read-only-stack';
import { OnDemandStack } from '../../../examples/refreshers/on-demand-stack';
import { OrdersStack } from '../../../examples/refreshers/orders-stack';
import { OwnRefresherStack } from '../../../examples/refreshers/own-refresher-stack';
import { ScheduledStack } from '../../../examples/refreshers/scheduled-stack';
import { SendMessageStack } from '../../../examples/send-message/send-message-stack';

/** Where the endpoints of a third party are. */
export interface Endpoints {
  readonly tokenUrl: string;
  readonly apiUrl: string;
}

/** The stacks. Each has a third party of its own: a provider that keeps one token alive serves one table. */
export const STACK_NAMES = ['SendMessage', 'Report', 'Scheduled', 'OnDemand', 'Orders', 'OwnRefresher', 'Policies'] as const;
export type StackName = typeof STACK_NAMES[number];

/** A resource, as the template has it. */
export interface TemplateResource {
  readonly Type: string;
  readonly Properties: Readonly<Record<string, unknown>>;
}

/** How the app is synthesized. */
export interface ExampleAppOptions {
  /** The folder that `cdk deploy` reads. */
  readonly outdir: string;
  readonly endpoints: (stack: StackName) => Endpoints;
  /**
   * What the runtime's layer holds.
   *
   * @default - what this library brings
   */
  readonly layer?: string;
}

/** On a machine with other things to do, the first invocations of all at once take their time. */
const TIMEOUT_S = 60;

/** The examples as one app, with the constructs by which tests find what was deployed. */
export class ExampleApp {
  readonly secrets: Stack;
  readonly credentials: Secret;
  readonly sendMessage: SendMessageStack;
  readonly report: ReadOnlyStack;
  readonly scheduled: ScheduledStack;
  readonly onDemand: OnDemandStack;
  readonly orders: OrdersStack;
  readonly ownRefresher: OwnRefresherStack;
  readonly policies: PoliciesStack;
  /** What was synthesized, for `cdk deploy`. */
  readonly outdir: string;
  private readonly assembly: CloudAssembly;

  constructor({ outdir, endpoints, layer }: ExampleAppOptions) {
    const app = new App({ outdir });
    this.outdir = outdir;
    this.secrets = new Stack(app, 'CrmSecrets');
    this.credentials = new Secret(this.secrets, 'CrmClient', { description: 'JSON with clientId and clientSecret' });
    const props = (stack: StackName) => {
      const { tokenUrl, apiUrl } = endpoints(stack);
      return { tokenUrl, apiUrl, credentials: this.credentials };
    };
    const { tokenUrl: authUrl, apiUrl } = endpoints('SendMessage');
    this.sendMessage = new SendMessageStack(app, 'SendMessage', { authUrl, apiUrl, credentials: this.credentials });
    this.report = new ReadOnlyStack(app, 'Report', { apiUrl: endpoints('Report').apiUrl });
    this.scheduled = new ScheduledStack(app, 'Scheduled', props('Scheduled'));
    this.onDemand = new OnDemandStack(app, 'OnDemand', props('OnDemand'));
    this.orders = new OrdersStack(app, 'Orders', props('Orders'));
    this.ownRefresher = new OwnRefresherStack(app, 'OwnRefresher', props('OwnRefresher'));
    this.policies = new PoliciesStack(app, 'Policies', props('Policies'));
    for (const consumer of Object.values(this.consumers)) (consumer.node.defaultChild as CfnFunction).timeout = TIMEOUT_S;
    if (layer !== undefined) this.examples.forEach(stack => replaceRuntime(stack, layer));
    this.assembly = app.synth();
  }

  /** The functions that use a token. */
  get consumers(): Readonly<Record<Exclude<StackName, 'Policies'>, LambdaFunction>> {
    return {
      SendMessage: this.sendMessage.sendMessage,
      Report: this.report.report,
      Scheduled: this.scheduled.orders,
      OnDemand: this.onDemand.orders,
      Orders: this.orders.orders,
      OwnRefresher: this.ownRefresher.orders,
    };
  }

  /** The stacks in which a refresher holds the credentials. */
  get withRefresher(): { readonly [stack in 'Scheduled' | 'OnDemand' | 'Orders' | 'OwnRefresher']: ScheduledStack | OnDemandStack | OrdersStack | OwnRefresherStack } {
    return { Scheduled: this.scheduled, OnDemand: this.onDemand, Orders: this.orders, OwnRefresher: this.ownRefresher };
  }

  /** The resources of a stack's template, by their logical ids. */
  resourcesOf({ stackName }: Stack): Readonly<Record<string, TemplateResource>> {
    return (this.assembly.getStackByName(stackName).template as { readonly Resources: Readonly<Record<string, TemplateResource>> }).Resources;
  }

  /** The examples' own stacks. */
  get examples(): readonly Stack[] {
    return [this.sendMessage, this.report, this.scheduled, this.onDemand, this.orders, this.ownRefresher];
  }
}

/** As another version of the library would: other content of the same layer. */
function replaceRuntime(stack: Stack, path: string): void {
  const { s3BucketName: s3Bucket, s3ObjectKey: s3Key } = new Asset(stack, 'OtherRuntime', { path });
  (stack.node.findChild('SharedTokenTableRuntime').node.defaultChild as CfnLayerVersion).content = { s3Bucket, s3Key };
}
