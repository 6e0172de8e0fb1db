import https from 'node:https';
import type { ExpectedResult } from '@aws-cdk/integ-tests-alpha';
import { Stack } from 'aws-cdk-lib';
import type { LocalDeployment } from './local-deployment';

/** How an assertion of an integration test ended: its id in the template, and what integ-runner would show. */
export interface AssertionResult {
  readonly id: string;
  readonly status: string;
  readonly message: string;
}

/** The part of a custom resource's answer that is read here. */
interface Response {
  readonly Status: 'SUCCESS' | 'FAILED';
  readonly Reason?: string;
  readonly Data?: Readonly<Record<string, unknown>>;
}

/** What a custom resource is to do, as far as it is read here. */
interface Call {
  readonly api: string;
  readonly parameters: object;
  readonly expected?: string;
}

interface Provider {
  handler(event: object, context: object): Promise<void>;
}

const SDK_CALL = 'Custom::DeployAssert@SdkCall';

/** The function that makes assertions on AWS, as it is deployed there. */
const PROVIDER = '@aws-cdk/integ-tests-alpha/lib/assertions/providers/lambda-handler.bundle/index.js';

/** In place of what an assertion says, so that a test here need not last as long as one on AWS. */
export interface Shortened {
  readonly payload: object;
  readonly expected: ExpectedResult;
}

/** Makes all calls of an assertion stack, one after the other in the order of the template, with the very code that makes them on AWS. */
export async function runAssertions(deployment: LocalDeployment<Stack>, shortened?: Shortened): Promise<AssertionResult[]> {
  const stack = deployment.synthesis.stackOf(assertionStackOf(deployment.stack));
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- no part of the package's interface, and without types
  const provider = require(PROVIDER) as Provider;
  const results: AssertionResult[] = [];
  for (const [id, { Type, Properties = {} }] of Object.entries(stack.template.Resources)) {
    if (!Type.startsWith(SDK_CALL)) continue;
    const { ServiceToken: _, stateMachineArn: __, ...declared } = Properties; // asked directly, and once
    const properties = stack.resolve(declared) as Call;
    const response = await responseOf(async () => provider.handler({
      RequestType: 'Create', LogicalResourceId: id, ResourceType: Type, ResponseURL: 'https://example.com/', ResourceProperties: shorten(properties, shortened),
    }, { getRemainingTimeInMillis: () => 60_000 }));
    results.push(resultOf(id, response));
  }
  return results;
}

/** Invocations whose answer is looked at. Both are as the construct writes them: each parameter as JSON. */
function shorten(call: Call, shortened: Shortened | undefined): Call {
  if (!shortened || call.api !== 'invoke' || call.expected === undefined) return call;
  const { payload, expected } = shortened;
  return { ...call, parameters: { ...call.parameters, Payload: JSON.stringify(JSON.stringify(payload)) }, expected: expected.result };
}

function assertionStackOf(stack: Stack): Stack {
  const [found] = stack.node.root.node.findAll().filter(construct => construct instanceof Stack && construct.stackName.includes('DeployAssert'));
  return found as Stack;
}

/** What is sent to CloudFormation. */
async function responseOf(run: () => Promise<void>): Promise<Response> {
  let sent = '{}';
  const request = jest.spyOn(https, 'request').mockImplementation(((_options: object, done: () => void) => ({
    on: () => undefined,
    write: (body: string) => { sent = body; },
    end: () => done(),
  })) as unknown as typeof https.request);
  const logs = (['log', 'info'] as const).map(level => jest.spyOn(console, level).mockImplementation(() => undefined));
  try {
    await run();
    return JSON.parse(sent) as Response;
  } finally {
    request.mockRestore();
    for (const log of logs) log.mockRestore();
  }
}

function resultOf(id: string, { Status, Reason = '', Data = {} }: Response): AssertionResult {
  if (Status === 'FAILED') return { id, status: 'error', message: Reason };
  const { status = 'none', message = '' } = JSON.parse(String(Data.assertion ?? '{}')) as Partial<AssertionResult>;
  return { id, status, message };
}
