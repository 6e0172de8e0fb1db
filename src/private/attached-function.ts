import { Annotations, Stack, Token } from 'aws-cdk-lib';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import { DefinedFunction, problemOfOldNode } from './consumer';
import { DEFAULT_AUTH_LIMIT_MS, DEFAULT_FUNCTION_TIMEOUT_MS, ENV, ENVIRONMENT_MAX_BYTES } from './contract';
import { describe, inWords, Problem, SharedTokenTableError, warningId } from './errors';
import { NamedRefresher, RefresherMap } from './refresher-map';
import { renderedResource } from './rendered';
import { refreshersVariable, timeoutVariable, Variable } from './variables';

const ID = 'SharedTokenAttachment';

const MAX_LAYERS = 5;

/** Most providers answer within a second or two. A function with less time than this can hardly read, claim, ask and store within one invocation. */
const SHORT_TIMEOUT_MS = 5_000;

/** From here on another variable or two may reach Lambda's limit. */
const ENVIRONMENT_WARNING_BYTES = 3_072;

/** The properties of a function as the template will have them. */
interface RenderedProperties {
  readonly Environment?: { readonly Variables?: Variables };
  readonly Layers?: unknown;
  readonly Runtime?: unknown;
  readonly Timeout?: unknown;
}

interface Variables {
  readonly [name: string]: unknown;
}

/**
 * What this library sets on one function: one construct per function, however often it is attached.
 *
 * `addEnvironment` overwrites silently, in either order, and overrides of the resource overwrite everything. So values are compared when they are set, and
 * once more, as they are rendered, when the template is about to be written.
 */
export class AttachedFunction extends Construct {
  public static of(consumer: DefinedFunction): AttachedFunction {
    const existing = consumer.function.node.tryFindChild(ID);
    return existing ? existing as AttachedFunction : new AttachedFunction(consumer);
  }

  private readonly owner: lambda.Function;
  private readonly resource: lambda.CfnFunction;
  private readonly variables = new Map<string, Variable>();
  private isRefreshing = false;
  private readonly layers = new Set<lambda.ILayerVersion>();

  private constructor(consumer: DefinedFunction) {
    super(consumer.function, ID);
    this.owner = consumer.function;
    this.resource = consumer.resource;
    this.node.addValidation({ validate: () => this.validate() });
    this.setVariable(timeoutVariable(() => this.timeoutMs()));
  }

  /** The function asks the provider itself, and needs the time for it. */
  public refreshes(): void {
    this.isRefreshing = true;
  }

  /** The function asks this refresher for its token. */
  public asks(refresher: NamedRefresher): void {
    const map = RefresherMap.of(this.owner);
    map.add(refresher);
    this.setVariable(refreshersVariable(map));
  }

  /** Sets a variable that is not set yet, or is to the same value. */
  public setVariable(variable: Variable): void {
    const { name, value, taken } = variable;
    const known = this.variables.get(name);
    if (known !== undefined && this.render(known.value) === this.render(value)) return;
    const present = this.presentVariables()[name];
    if (known !== undefined) {
      throw new SharedTokenTableError(this.owner, { what: taken.what, got: this.show(value), expected: this.show(present), todo: taken.todo });
    }
    if (present !== undefined && JSON.stringify(present) !== this.render(value)) {
      throw new SharedTokenTableError(this.owner, overwritten(variable, this.show(present), this.show(value)));
    }
    this.variables.set(name, variable);
    this.owner.addEnvironment(name, value);
  }

  /** Adds a layer that was not added yet. The layers that are there cannot be looked at now: CDK keeps what it renders first, so that later ones would be lost. */
  public addLayer(layer: lambda.ILayerVersion): void {
    if (this.layers.has(layer)) return;
    try {
      this.owner.addLayers(layer);
    } catch (error) {
      throw new SharedTokenTableError(this.owner, {
        what: `A function has at most ${MAX_LAYERS} layers, and the runtime comes as one more.`,
        got: `"${(error as Error).message}"`,
        expected: `room for one, that is at most ${MAX_LAYERS - 1} others`,
        todo: 'Remove a layer; or bundle the npm package with the function, and use `grantRefresh` or `grantRead` and `environment` instead of `attachTo`.',
      });
    }
    this.layers.add(layer);
  }

  private validate(): string[] {
    this.warnOfShortTimeout();
    const properties = this.renderedProperties();
    const variables = properties.Environment?.Variables ?? {};
    return [
      ...this.oldNode(properties),
      ...this.removedLayers(properties),
      ...this.overriddenTimeout(properties),
      ...this.overwrittenVariables(variables),
      ...this.oversize(variables),
    ];
  }

  private oldNode({ Runtime: runtime }: RenderedProperties): string[] {
    const problem = problemOfOldNode(runtime);
    return problem ? [describe(this.owner, problem)] : [];
  }

  private removedLayers({ Layers: layers }: RenderedProperties): string[] {
    const rendered = JSON.stringify(layers) ?? '';
    return [...this.layers].map(layer => layer.layerVersionArn).filter(arn => !rendered.includes(this.show(arn))).map(arn => describe(this.owner, {
      what: 'The layer with the runtime, which attachTo added, was removed from this function afterwards.',
      got: rendered || 'no layers',
      expected: `${this.show(arn)} among them`,
      todo: [
        'Add other layers with `addLayers`, which keeps those that are there;',
        'or bundle the npm package with the function, and use `grantRefresh` or `grantRead` and `environment` instead of `attachTo`.',
      ].join(' '),
    }));
  }

  /** The variable follows the resource's property, and cannot follow an override, which is rendered after it. */
  private overriddenTimeout({ Timeout: timeout }: RenderedProperties): string[] {
    const expected: unknown = Stack.of(this).resolve(this.resource.timeout);
    if (JSON.stringify(timeout) === JSON.stringify(expected)) return [];
    return [describe(this.owner, {
      what: `The timeout of this function is overridden, and ${ENV.FUNCTION_TIMEOUT_MS}, by which the runtime knows it, would tell another.`,
      got: `a Timeout of ${this.show(timeout)}`,
      expected: this.show(expected),
      todo: "Set the function's `timeout`, or that of its CfnFunction (`cfnFunction.timeout = 20`), instead of an override.",
    })];
  }

  private overwrittenVariables(rendered: Variables): string[] {
    return [...this.variables.values()]
      .filter(({ name, value }) => JSON.stringify(rendered[name]) !== this.render(value))
      .map(variable => describe(this.owner, overwritten(variable, this.show(rendered[variable.name]), this.show(variable.value))));
  }

  private oversize(variables: Variables): string[] {
    const bytes = Object.entries(variables).reduce((sum, [name, value]) => sum + Buffer.byteLength(name, 'utf8') + literalBytes(value), 0);
    const problem: Problem = {
      what: "Lambda limits a function's environment variables, names and values together.",
      got: `at least ${bytes} bytes`,
      expected: `at most ${ENVIRONMENT_MAX_BYTES}`,
      todo: 'Move some of it to a parameter, a secret or a file.',
    };
    if (bytes > ENVIRONMENT_MAX_BYTES) return [describe(this.owner, problem)];
    if (bytes > ENVIRONMENT_WARNING_BYTES) Annotations.of(this.owner).addWarningV2(warningId('environmentSize'), inWords(problem));
    return [];
  }

  private warnOfShortTimeout(): void {
    const timeoutMs = this.timeoutMs();
    if (!this.isRefreshing || timeoutMs === undefined || timeoutMs >= SHORT_TIMEOUT_MS) return;
    Annotations.of(this.owner).addWarningV2(warningId('functionTimeout'), inWords({
      what: 'A refresh of the token may take longer than this function may run.',
      got: `a timeout of ${timeoutMs} ms${this.resource.timeout === undefined ? " (Lambda's default)" : ''}`,
      expected: `room for an auth request, which may take up to ${DEFAULT_AUTH_LIMIT_MS} ms and is cut short where the function has less`,
      todo: `Set \`timeout: Duration.seconds(${(DEFAULT_AUTH_LIMIT_MS + SHORT_TIMEOUT_MS) / 1000})\`; ${SHORT_TIMEOUT_MS} ms is enough for a provider that always answers fast.`,
    }));
  }

  /** Undefined when it is known only at deployment: the runtime then goes by the context of each invocation. */
  private timeoutMs(): number | undefined {
    const { timeout } = this.resource;
    if (timeout === undefined) return DEFAULT_FUNCTION_TIMEOUT_MS;
    return Token.isUnresolved(timeout) ? undefined : timeout * 1000;
  }

  /** The variables so far, without overrides. */
  private presentVariables(): Variables {
    const environment = Stack.of(this).resolve(this.resource.environment) as { variables?: Variables } | undefined;
    return environment?.variables ?? {};
  }

  /** In the validation alone. */
  private renderedProperties(): RenderedProperties {
    return renderedResource<RenderedProperties>(this.resource).Properties ?? {};
  }

  private render(value: string): string | undefined {
    return JSON.stringify(Stack.of(this).resolve(value));
  }

  private show(value: unknown): string {
    return JSON.stringify(Stack.of(this).resolve(value)) ?? 'nothing';
  }
}

function overwritten({ name, meaning, alternative }: Variable, got: string, expected: string): Problem {
  return {
    what: `The environment variable ${name} belongs to the shared token table (${meaning}) and is set to something else.`,
    got,
    expected,
    todo: `Remove the other ${name}${alternative ? `, or ${alternative}` : ''}.`,
  };
}

/** The literal part of a resolved value; what CloudFormation fills in cannot be measured. */
function literalBytes(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value, 'utf8');
  const join = (value as { 'Fn::Join'?: [string, unknown[]] } | undefined)?.['Fn::Join'];
  if (!join) return 0;
  const [delimiter, parts] = join;
  return parts.reduce<number>((sum, part) => sum + literalBytes(part), 0) + Buffer.byteLength(delimiter, 'utf8') * Math.max(0, parts.length - 1);
}
