import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, PutCommand } from '@aws-sdk/lib-dynamodb';
import { roundsOf } from './cases/expectations';
import { refresherCase } from './cases/refresher';
import type { QueueEvent } from './handlers/failures';
import { TOKEN_IDS, type RefresherStack } from './stacks/refresher-stack';
import { runAssertions } from './support/assertions';
import { LocalDeployment } from './support/local-deployment';
import { SCHEDULE_ALIAS } from '../../src/private/contract';
import { oldEnoughToRevokeMs } from '../support/token-age';

let deployment: LocalDeployment<RefresherStack>;

beforeAll(async () => {
  deployment = await LocalDeployment.start(app => refresherCase(app).stack);
  deployment.enter();
  deployment.serve(deployment.stack.server);
});

afterAll(async () => deployment?.stop());

test('readers without credentials share a token through a rotation, and what a deployment, schedules and failures leave behind is found as it is on AWS', async () => {
  await deployment.invoke(deployment.stack.onDemand.function, {}); // as the deployment does
  await store(deployment.nameOf(deployment.stack.tokens.table), { tokenId: TOKEN_IDS.SCHEDULED, generation: 12 });
  await noteFailures(TOKEN_IDS.FAILING, [{ tokenId: TOKEN_IDS.FAILING, since: '2026-11-30T12:00:00Z' }, null, { by: 'test' }]);
  await noteFailures(TOKEN_IDS.FAILING_ENCRYPTED, [{ tokenId: TOKEN_IDS.FAILING_ENCRYPTED, since: '2026-11-30T12:00:00Z' }]);

  const results = await runAssertions(deployment, { payload: { atOnce: 6, pausesMs: [oldEnoughToRevokeMs()] }, expected: roundsOf(0, 1) });
  expect(results.filter(({ status }) => status !== 'success' && status !== 'none')).toEqual([]);
  expect(results.map(({ status }) => status).sort()).toEqual(['none', ...Array.from({ length: 7 }, () => 'success')]);
});

async function store(TableName: string, Item: Record<string, unknown>): Promise<void> {
  const documents = DynamoDBDocumentClient.from(new DynamoDBClient({}));
  await documents.send(new PutCommand({ TableName, Item }));
  documents.destroy();
}

/** The function behind the failure queue gets what Lambda sends there. */
async function noteFailures(tokenId: string, payloads: readonly unknown[]): Promise<void> {
  const record = (requestPayload: unknown) => JSON.stringify({
    version: '1.0',
    requestContext: { functionArn: `arn:aws:lambda:eu-central-1:111122223333:function:crm:${SCHEDULE_ALIAS}`, condition: 'RetriesExhausted', approximateInvokeCount: 3 },
    requestPayload,
  });
  const event: QueueEvent = { Records: payloads.map(payload => ({ body: record(payload) })) };
  await deployment.invoke(deployment.stack.noting.get(tokenId)!, event);
}
