import { PutCommand } from '@aws-sdk/lib-dynamodb';
import { askAws } from './support/aws';
import { Deployment, expectAllServed } from './support/deployment';
import { until } from '../support/until';

/*
 * What was deployed, at work: the functions are invoked through Lambda, find their tokens in the table by the permissions of their roles, and nobody else refreshes.
 */

const AT_ONCE = 10;

const WITH_REFRESHER = ['Scheduled', 'OnDemand', 'Orders', 'OwnRefresher'] as const;
const WITH_SCHEDULE = ['Scheduled', 'Orders', 'OwnRefresher'] as const;
/** Those that get another token where theirs was revoked. With a schedule alone it is missing until the next run. */
const REACTIVE = ['SendMessage', 'OnDemand', 'Orders', 'OwnRefresher'] as const;

let deployed: Deployment;

beforeAll(async () => {
  deployed = await Deployment.start();
  await deployed.deploy(...deployed.app.examples);
});
afterAll(async () => deployed?.stop());

type Name = typeof WITH_REFRESHER[number] | 'SendMessage';
const itemOf = async (name: Name) => deployed.item((name === 'SendMessage' ? deployed.app.sendMessage : deployed.app.withRefresher[name]).tokens.table);
const generationOf = async (name: Name) => (await itemOf(name))?.generation as number | undefined;

/** How many auth calls something made. */
async function authCallsOf(name: Name, what: () => Promise<unknown>): Promise<number> {
  const before = deployed.thirdParty(name).authCalls;
  await what();
  return deployed.thirdParty(name).authCalls - before;
}

const useAtOnce = async (name: Name) => expectAllServed(await deployed.invokeAtOnce(AT_ONCE, deployed.app.consumers[name]));

test.each(WITH_REFRESHER)('%s: the deployment itself fetches the first token, with one auth call', async name => {
  await until('the first token is there', async () => await generationOf(name) === 1);
  expect(deployed.thirdParty(name).authCalls).toBe(1);
});

test.each(WITH_REFRESHER)(`%s: ${AT_ONCE} new instances at once, which hold no credentials, use that token without another auth call`, async name => {
  expect(await authCallsOf(name, async () => useAtOnce(name))).toBe(0);
});

test(`SendMessage: ${AT_ONCE} new instances at once, none of which has a token yet, make one auth call`, async () => {
  expect(await authCallsOf('SendMessage', async () => useAtOnce('SendMessage'))).toBe(1);
});

describe.each([1, 2, 3])('revocation %i', () => {
  test.each(REACTIVE)(`%s: ${AT_ONCE} invocations at once make one auth call, and all are served`, async name => {
    const party = deployed.thirdParty(name);
    await until('a rejection of the token is believed', () => party.isOldEnoughToRevoke);
    const generation = await generationOf(name);
    party.revoke();
    expect(await authCallsOf(name, async () => useAtOnce(name))).toBe(1);
    expect(await generationOf(name)).toBe(Number(generation) + 1);
  });
});

describe.each(WITH_SCHEDULE)('%s', name => {
  test('the target of its schedule replaces a token that works, and everybody takes up the new one without an auth call', async () => {
    const { crm } = deployed.app.withRefresher[name];
    await until('the token is older than a run of the schedule', () => deployed.thirdParty(name).isOldEnoughForTheSchedule);
    const generation = Number(await generationOf(name));
    const { functionArn, event } = await deployed.scheduledRun(crm.schedule!);
    const calls = await authCallsOf(name, async () => {
      await deployed.invoke(functionArn, { event, asynchronous: true }); // as the scheduler does
      await until('the token is replaced', async () => await generationOf(name) === generation + 1);
      await useAtOnce(name);
    });
    expect(calls).toBe(1);
  });

  test('whoever sends the same event to the function itself, as its readers may, has no token replaced', async () => {
    const { crm } = deployed.app.withRefresher[name];
    await until('the token is older than a run of the schedule', () => deployed.thirdParty(name).isOldEnoughForTheSchedule);
    const { event } = await deployed.scheduledRun(crm.schedule!);
    const calls = await authCallsOf(name, async () => {
      expect(await deployed.invoke(crm.function, { event })).toMatchObject({ payload: { refreshed: false } });
    });
    expect(calls).toBe(0);
  });
});

test('Report: a function that only reads uses both tokens that others have stored', async () => {
  const { tokenUrl, authCalls } = deployed.thirdParty('Report');
  const response = await fetch(tokenUrl, { method: 'POST', body: new URLSearchParams({ grant_type: 'client_credentials', client_id: 'another' }) });
  const { access_token: accessToken } = await response.json() as { readonly access_token: string };
  const issuedAt = Date.now();
  for (const tokenId of ['crm', 'erp']) {
    const Item = { tokenId, accessToken, generation: 1, issuedAt, expiresAt: issuedAt + 3_600_000 };
    await deployed.documents.send(new PutCommand({ TableName: await deployed.physicalId(deployed.app.report.tokens.table), Item }));
  }
  expect(await deployed.invoke(deployed.app.consumers.Report)).toMatchObject({ payload: { crm: 200, erp: 200 } });
  expect(deployed.thirdParty('Report').authCalls).toBe(authCalls + 1);
});

test('Scheduled: a run that fails for good is in the failure queue, and the token stays', async () => {
  const { crm, tokens } = deployed.app.scheduled;
  const before = await deployed.item(tokens.table);
  await deployed.thirdParty('Scheduled').stop();
  const { functionArn, event } = await deployed.scheduledRun(crm.schedule!);
  await deployed.invoke(functionArn, { event, asynchronous: true });
  const QueueUrl = await deployed.physicalId(crm.failureQueue);
  let messages: readonly { readonly Body: string }[] = [];
  await until('the failure is in the queue', async () => {
    const [{ Messages = [] }] = await askAws<[{ Messages?: { Body: string }[] }]>(deployed.cloud, ['sqs', 'receive_message', { QueueUrl }]);
    messages = Messages;
    return messages.length > 0;
  });
  expect(messages.map(({ Body }) => JSON.parse(Body) as object)).toMatchObject([
    { requestPayload: event, responsePayload: { errorMessage: expect.stringContaining('refresh failed (ECONNREFUSED)') as string } },
  ]);
  expect(await deployed.item(tokens.table)).toMatchObject({ accessToken: before?.accessToken, generation: before?.generation });
});
