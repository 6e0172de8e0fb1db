import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { App } from 'aws-cdk-lib';
import { CfnFunction } from 'aws-cdk-lib/aws-lambda';
import { AUTH_LIMIT_MS } from './settings';
import { SendMessageStack } from '../examples/send-message/send-message-stack';

/** The part of a CloudFormation template that the demo reads. */
export interface Template {
  readonly Resources: Readonly<Record<string, TemplateResource>>;
}

interface TemplateResource {
  readonly Type: string;
  readonly Properties?: Readonly<Record<string, unknown>>;
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

/** An entry of the asset manifest. */
interface FileAsset {
  readonly source: { readonly path: string };
  readonly destinations: Readonly<Record<string, { readonly objectKey: string }>>;
}

/** What was synthesized: all that is needed to run the function as Lambda would, taken from the template and the assets alone. */
export interface Application {
  readonly template: Template;
  /** The folder that Lambda would unpack under /opt. */
  readonly layerAsset: string;
  /** The folder that Lambda would unpack as the function's code. */
  readonly functionAsset: string;
  readonly handler: string;
  readonly timeoutMs: number;
  /** The function's environment variables, with each reference to the table replaced by `tableName`. */
  variables(tableName: string): Record<string, string>;
}

interface Endpoints {
  readonly authUrl: string;
  readonly apiUrl: string;
}

/** Synthesizes the example app into `outdir`, as `cdk synth` does. */
export function synthesizeApplication(outdir: string, endpoints: Endpoints): Application {
  const app = new App({ outdir });
  const stack = new SendMessageStack(app, 'SendMessage', endpoints);
  stack.sendMessage.addEnvironment('AUTH_LIMIT_MS', String(AUTH_LIMIT_MS));
  // Generous, so that a request which waits for a killed holder's lease to end is served and not cut off.
  (stack.sendMessage.node.defaultChild as CfnFunction).timeout = 30;

  const artifact = app.synth().getStackByName(stack.stackName);
  const template = artifact.template as Template;
  const assetFolder = folderOfAssets(join(outdir, `${stack.artifactId}.assets.json`), outdir);
  const fn = onlyFunction(template, stack.getLogicalId(stack.sendMessage.node.defaultChild as CfnFunction));
  return {
    template,
    layerAsset: assetFolder(layerOf(fn, template)),
    functionAsset: assetFolder(fn.Code),
    handler: fn.Handler,
    timeoutMs: (fn.Timeout ?? 3) * 1_000,
    variables: tableName => resolve(fn.Environment?.Variables ?? {}, template, tableName),
  };
}

function onlyFunction(template: Template, logicalId: string): FunctionProperties {
  return template.Resources[logicalId].Properties as unknown as FunctionProperties;
}

/** Where the function's one layer is. */
function layerOf(fn: FunctionProperties, template: Template): AssetLocation {
  const [layer] = fn.Layers ?? [];
  if (layer === undefined) throw new Error('The synthesized function has no layer.');
  return (template.Resources[layer.Ref].Properties as { readonly Content: AssetLocation }).Content;
}

/** Finds the folder of an asset by the key that the template gives it in S3, through the manifest that `cdk deploy` would upload by. */
function folderOfAssets(manifestFile: string, outdir: string): (location: AssetLocation) => string {
  const { files } = JSON.parse(readFileSync(manifestFile, 'utf8')) as { readonly files: Readonly<Record<string, FileAsset>> };
  return ({ S3Key }) => {
    const asset = Object.values(files).find(({ destinations }) => Object.values(destinations).some(({ objectKey }) => objectKey === S3Key));
    if (!asset) throw new Error(`The asset manifest does not know ${S3Key}.`);
    return join(outdir, asset.source.path);
  };
}

/** Does what CloudFormation does to a function's variables: a reference to the table becomes the table's name. */
function resolve(variables: Readonly<Record<string, unknown>>, template: Template, tableName: string): Record<string, string> {
  const value = (name: string, unresolved: unknown): string => {
    if (typeof unresolved === 'string') return unresolved;
    const { Ref } = unresolved as { Ref?: string };
    if (Ref !== undefined && template.Resources[Ref]?.Type.startsWith('AWS::DynamoDB::')) return tableName;
    throw new Error(`The demo cannot resolve the variable ${name}: ${JSON.stringify(unresolved)}`);
  };
  return Object.fromEntries(Object.entries(variables).map(([name, unresolved]) => [name, value(name, unresolved)]));
}
