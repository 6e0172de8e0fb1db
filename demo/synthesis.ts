import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Stack, type App } from 'aws-cdk-lib';
import type { CfnFunction, IFunction } from 'aws-cdk-lib/aws-lambda';
import { DeployedStack, type Template } from '../local-aws/deployed-stack';

/** All that is needed to run a function as Lambda would, taken from the template and the assets alone. */
export interface SynthesizedFunction {
  readonly name: string;
  readonly arn: string;
  /** The folder that Lambda would unpack as the function's code. */
  readonly codeAsset: string;
  /** The folder that Lambda would unpack under /opt, where the function has a layer. */
  readonly layerAsset: string | undefined;
  /** Such as `index.handler`. */
  readonly handler: string;
  readonly timeoutMs: number;
  /** The function's environment variables, resolved. */
  readonly variables: Readonly<Record<string, string>>;
}

interface FunctionProperties {
  readonly Code: AssetLocation;
  readonly Handler: string;
  readonly Timeout?: number;
  readonly Layers?: readonly { readonly Ref: string }[];
  readonly Environment?: { readonly Variables: Readonly<Record<string, unknown>> };
}

interface AssetLocation {
  readonly S3Key: string;
}

/** An entry of an asset manifest. */
interface FileAsset {
  readonly source: { readonly path: string };
  readonly destinations: Readonly<Record<string, { readonly objectKey: string }>>;
}

/** An app after `cdk synth`, with the names that its resources get where it is deployed. */
export class Synthesis {
  private readonly stacks = new Map<string, DeployedStack>();
  private readonly outdir: string;

  constructor(app: App, region: string) {
    const assembly = app.synth();
    this.outdir = assembly.directory;
    const exports = new Map<string, unknown>();
    // In the order of their dependencies: what a stack imports was exported before.
    for (const { stackName, template } of assembly.stacks) {
      const stack = new DeployedStack(template as Template, { stackName, region, exports });
      for (const [name, value] of stack.exported()) exports.set(name, value);
      this.stacks.set(stackName, stack);
    }
  }

  stackOf({ stackName }: Stack): DeployedStack {
    const stack = this.stacks.get(stackName);
    if (!stack) throw new Error(`The app has no stack ${stackName}.`);
    return stack;
  }

  functionOf(fn: IFunction): SynthesizedFunction {
    const { stack } = fn;
    const deployed = this.stackOf(stack);
    const logicalId = stack.getLogicalId(fn.node.defaultChild as CfnFunction);
    const { Code, Handler, Timeout = 3, Layers = [], Environment } = deployed.properties(logicalId) as unknown as FunctionProperties;
    const variables = Object.entries(Environment?.Variables ?? {});
    const [layer] = Layers.map(({ Ref }) => (deployed.properties(Ref) as { readonly Content: AssetLocation }).Content);
    return {
      name: deployed.nameOf(logicalId),
      arn: deployed.text({ 'Fn::GetAtt': [logicalId, 'Arn'] }),
      codeAsset: this.assetFolder(stack, Code),
      layerAsset: layer && this.assetFolder(stack, layer),
      handler: Handler,
      timeoutMs: Timeout * 1_000,
      variables: Object.fromEntries(variables.map(([name, value]) => [name, deployed.text(value)])),
    };
  }

  /** Finds the folder of an asset by the key that the template gives it in S3, through the manifest that `cdk deploy` would upload by. */
  private assetFolder({ artifactId }: Stack, { S3Key }: AssetLocation): string {
    const manifest = readFileSync(join(this.outdir, `${artifactId}.assets.json`), 'utf8');
    const { files } = JSON.parse(manifest) as { readonly files: Readonly<Record<string, FileAsset>> };
    const asset = Object.values(files).find(({ destinations }) => Object.values(destinations).some(({ objectKey }) => objectKey === S3Key));
    if (!asset) throw new Error(`The asset manifest does not know ${S3Key}.`);
    return join(this.outdir, asset.source.path);
  }
}
