import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, PutCommand } from '@aws-sdk/lib-dynamodb';
import { FAILURES_ENV, type FailedInvocation } from '../stacks/contract';

/** What Lambda hands a function that takes messages from a queue, as far as it is read here. */
export interface QueueEvent {
  readonly Records: readonly { readonly body: string }[];
}

/** What Lambda sends to a failure destination, as far as it is read here. */
interface FailureRecord {
  readonly requestContext: { readonly functionArn: string; readonly condition: string; readonly approximateInvokeCount: number };
  readonly requestPayload: unknown;
}

const documents = DynamoDBDocumentClient.from(new DynamoDBClient({}));

/** Notes what arrived in a refresher's failure queue, one item for each kind of invocation, so that a test can look for it. */
export async function handler({ Records: messages }: QueueEvent): Promise<void> {
  for (const { body } of messages) {
    const { requestContext, requestPayload } = JSON.parse(body) as FailureRecord;
    const { functionArn, condition, approximateInvokeCount } = requestContext;
    await documents.send(new PutCommand({
      TableName: process.env[FAILURES_ENV.TABLE],
      Item: { scope: `${process.env[FAILURES_ENV.PREFIX]}${kindOf(requestPayload)}`, condition, invocations: approximateInvokeCount, functionArn },
    }));
  }
}

/** Told by the event, since it is one of the open questions what the record says of a qualifier. */
function kindOf(payload: unknown): FailedInvocation {
  const fields = typeof payload === 'object' && payload !== null ? payload : {};
  if ('since' in fields) return 'schedule';
  return 'by' in fields ? 'test' : 'deployment';
}
