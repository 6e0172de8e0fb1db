import { roundsOf } from './cases/expectations';
import { reactiveCase } from './cases/reactive';
import type { HttpEvent } from './handlers/http-event';
import type { StandInProvider } from './handlers/stand-in-provider';
import { UNAVAILABLE_SCOPE } from './stacks/contract';
import type { ReactiveStack } from './stacks/reactive-stack';
import { runAssertions } from './support/assertions';
import { LocalDeployment } from './support/local-deployment';
import { oldEnoughToRevokeMs } from '../support/token-age';

let deployment: LocalDeployment<ReactiveStack>;
let provider: StandInProvider;

beforeAll(async () => {
  deployment = await LocalDeployment.start(app => reactiveCase(app).stack);
  deployment.enter();
  provider = deployment.serve(deployment.stack.server);
});

afterAll(async () => deployment?.stop());

test('three functions, each in another form, share a token through a rotation: what is asserted on AWS holds here', async () => {
  // One revocation, as soon as the storm guard believes it.
  const results = await runAssertions(deployment, { payload: { atOnce: 2, pausesMs: [oldEnoughToRevokeMs()] }, expected: roundsOf(1, 1) });
  expect(results).toEqual([expect.objectContaining({ status: 'success', message: '' })]);
});

test('an assertion that does not hold fails, and says in what', async () => {
  const [result] = await runAssertions(deployment, { payload: { atOnce: 2, pausesMs: [] }, expected: roundsOf(1) }); // there is a token already
  expect(result).toEqual(expect.objectContaining({ status: 'fail', message: expect.stringContaining('Expected 1 but received 0') }));
});

describe('the stand-in for a provider', () => {
  const ask = async (secret: string, scope: string): Promise<number> => (await provider.answer(tokenRequest(secret, scope))).statusCode;

  test('gives a token to its client, and counts each call', async () => {
    expect(await Promise.all([ask('made-up', 'counted'), ask('made-up', 'counted')])).toEqual([200, 200]);
    expect(await provider.handle({ control: 'statistics', scope: 'counted' })).toEqual({ authCalls: 2 });
  });

  test('refuses another secret, a scope that is never available, and what is no token', async () => {
    expect(await ask('another', 'crm')).toBe(401);
    expect(await ask('made-up', UNAVAILABLE_SCOPE)).toBe(400);
    const { statusCode } = await provider.answer({ ...tokenRequest('', ''), rawPath: '/api', requestContext: { http: { method: 'GET' } } });
    expect(statusCode).toBe(401);
  });
});

function tokenRequest(secret: string, scope: string): HttpEvent {
  return {
    rawPath: '/token',
    requestContext: { http: { method: 'POST' } },
    headers: { authorization: `Basic ${Buffer.from(`integ:${secret}`).toString('base64')}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', scope }).toString(),
  };
}
