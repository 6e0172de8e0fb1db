import { lambdaRefresher } from '../../lambda-runtime/lambda-refresher';
import type { RefresherPort } from '../../lambda-runtime/refresher-port';
import { type Function, InvokeApi, InvokeApiError } from '../../local-aws/invoke-api';

/*
 * How a reader invokes its refresher: the SDK's own client, against Lambda's wire protocol.
 */

const ENVIRONMENT = { AWS_REGION: 'eu-west-1', AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' };
let api: InvokeApi;
beforeAll(async () => {
  api = await InvokeApi.start();
  Object.assign(process.env, ENVIRONMENT, api.environment);
});
beforeEach(() => {
  api.requests.length = 0;
});
afterAll(async () => {
  for (const name of Object.keys({ ...ENVIRONMENT, ...api.environment })) delete process.env[name];
  await api.stop();
});

const { signal } = new AbortController();
const runs = (run: Function): RefresherPort => {
  api.define('refresh-crm', run);
  return lambdaRefresher('crm', 'refresh-crm');
};
const answers = async () => ({ payload: { refreshed: true } });
const asked = { generation: 7, fingerprint: '0123456789ab' };

test('invokes the function with the token id and what the reader reports, and waits for it', async () => {
  let finish = (): void => undefined;
  let isAnswered = false;
  const comesIn = new Promise<void>(resolve => {
    runs(async () => {
      resolve();
      await new Promise<void>(end => { finish = end; });
      return answers();
    });
  });
  const answer = lambdaRefresher('crm', 'refresh-crm').ask(asked, 'now', signal).then(() => { isAnswered = true; });
  await comesIn;
  expect(isAnswered).toBe(false);
  finish();
  await answer;
  expect(api.requests).toEqual([{ functionName: 'refresh-crm', qualifier: undefined, type: 'RequestResponse', payload: { tokenId: 'crm', asked } }]);
});

test('hands in, and does not wait for, what nobody needs yet', async () => {
  await runs(async () => new Promise(() => undefined)).ask({}, 'ahead', signal);
  expect(api.requests).toMatchObject([{ type: 'Event', payload: { tokenId: 'crm', asked: {} } }]);
});

test('an ARN names the function, too, and its region', async () => {
  runs(answers);
  await lambdaRefresher('crm', 'arn:aws:lambda:us-east-1:111122223333:function:refresh-crm').ask({}, 'now', signal);
  expect(api.requests).toMatchObject([{ functionName: 'refresh-crm', qualifier: undefined }]);
});

test.each([
  ['may not be invoked by this role', 403, 'AccessDeniedException', { code: 'ACCESS_DENIED' }],
  ['does not exist', 404, 'ResourceNotFoundException', { code: 'REFRESHER_FAILED' }],
  ['has a name that is none', 400, 'InvalidParameterValueException', { code: 'REFRESHER_FAILED' }],
  ['is asked with credentials that have expired', 403, 'ExpiredTokenException', { code: 'ACCESS_DENIED', message: expect.stringContaining('credentials') as string }],
  ['has no capacity', 429, 'TooManyRequestsException', { how: 'not asked' }],
  ['cannot be run by Lambda at the moment', 500, 'ServiceException', { how: 'not asked' }],
])('a function that %s is told apart; one attempt each', async (_, status, name, expected) => {
  const refresher = runs(async () => { throw new InvokeApiError(status, name, 'said by Lambda'); });
  await expect(refresher.ask(asked, 'now', signal)).rejects.toMatchObject(expected);
  expect(api.requests).toHaveLength(1);
});

test('a function that throws, or times out, has failed', async () => {
  const refresher = runs(async () => ({ payload: { errorType: 'Error', errorMessage: 'secret-value' }, functionError: 'Unhandled' }));
  const error: unknown = await refresher.ask(asked, 'now', signal).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ how: 'failed' });
  expect(String(error)).not.toContain('secret-value');
});

test('nobody waits any more: the request is given up', async () => {
  const gone = new AbortController();
  const refresher = runs(async () => {
    gone.abort(); // once it has come in
    return new Promise(() => undefined);
  });
  await expect(refresher.ask(asked, 'now', gone.signal)).rejects.toMatchObject({ message: expect.stringContaining('AbortError') as string });
  expect(api.requests).toHaveLength(1);
});
