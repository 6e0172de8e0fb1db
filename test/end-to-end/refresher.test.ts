import { DeployedRefresher } from './support/deployed-refresher';
import { bundleRuntime } from '../../demo/bundle';
import type { InvocationResult } from '../../demo/function-environment';
import { OrdersStack } from '../../examples/refreshers/orders-stack';
import { OwnRefresherStack } from '../../examples/refreshers/own-refresher-stack';
import { OLD_ENOUGH_FOR_THE_SCHEDULE_MS, oldEnoughToRevokeMs } from '../support/token-age';
import { until } from '../support/until';

/*
 * Refreshers from end to end: a process for each function environment, run from the templates of examples/refreshers; the SDK's own clients; an OAuth server.
 */

const CONSUMERS = 20;

/** So long that no machine is too slow for it: nothing is refreshed but what was revoked, or by the schedule. */
const TOKEN_LIFE_MS = 3_600_000;

/** The schedule replaces each token between two that are revoked: so none was rejected early before. */
const OLD_ENOUGH_TO_REVOKE_MS = oldEnoughToRevokeMs();

/** The longest cool-down, and a second. */
const COOL_DOWN_MS = 301_000;

let deployed: DeployedRefresher;
const stop = async () => deployed?.stop();

beforeAll(async () => { await bundleRuntime(); }, 120_000);

const tokenIsOf = async (ageMs: number) => until(`the token is ${ageMs} ms old`, () => deployed.tokenAgeMs >= ageMs);

/** What was counted from the beginning of something until all is quiet again. */
async function countsOf(what: () => Promise<unknown>): Promise<DeployedRefresher['counts']> {
  const before = deployed.counts;
  await what();
  await deployed.settled();
  const after = deployed.counts;
  return { authCalls: after.authCalls - before.authCalls, invocations: after.invocations - before.invocations };
}

/** Status that the API answered with, or how else the invocation ended. */
const statusesOf = (results: readonly InvocationResult[]) =>
  results.map(result => result.outcome === 'returned' ? (result.value as { readonly statusCode: number }).statusCode : result);

async function callAll(): Promise<void> {
  const results = await deployed.callAll();
  expect(statusesOf(results)).toEqual(results.map(() => 200));
}

async function everyoneUsesTheStoredToken(): Promise<void> {
  const { generation } = await deployed.storedToken();
  await until('every consumer has taken up the stored token', () => deployed.generationsInUse().every(used => used === generation));
}

/** No token and no credential may be seen; but what may be seen is there. */
function expectNoSecretIn(text: string): void {
  const secrets = deployed.secretTexts();
  expect(secrets.every(secret => secret.length > 20)).toBe(true);
  expect(text).toContain('"sharedToken"');
  expect(secrets.filter(secret => text.includes(secret))).toEqual([]);
}

describe(`${CONSUMERS} functions that hold no credentials, and a refresher`, () => {
  beforeAll(async () => {
    deployed = await DeployedRefresher.start({ stack: OrdersStack, consumers: CONSUMERS, tokenLifeMs: TOKEN_LIFE_MS });
  }, 120_000);
  afterAll(stop);

  test('the environment of those who use the token names neither credentials nor where they are, nor the provider', () => {
    const { functions, secret, secrets, tokens } = deployed.parts;
    const told = [secret.arn, tokens.tokenUrl, secrets.url, 'SECRETS_MANAGER'];
    expect(told.filter(text => JSON.stringify(functions.refresher.variables).includes(text))).toEqual(told);
    const secretsOrToldToTheOther = [...deployed.secretTexts(), ...told, tokens.issuer];
    expect(secretsOrToldToTheOther.filter(text => JSON.stringify(functions.consumer.variables).includes(text))).toEqual([]);
  });

  test('the first token comes with the deployment: one auth call', async () => {
    expect(await countsOf(async () => deployed.deploy())).toEqual({ authCalls: 1, invocations: 1 });
    await callAll();
    await everyoneUsesTheStoredToken();
  });

  // How many ask depends on how soon the first one is heard, and so on what else this machine does. But nobody asks more than three times in vain.
  const revoked = async () => {
    await tokenIsOf(OLD_ENOUGH_TO_REVOKE_MS);
    const { authCalls, invocations } = await countsOf(async () => {
      deployed.parts.tokens.revoke();
      await callAll();
    });
    expect(authCalls).toBe(1);
    expect(invocations).toBeGreaterThanOrEqual(1);
    expect(invocations).toBeLessThanOrEqual(3 * CONSUMERS);
    await everyoneUsesTheStoredToken();
  };
  const scheduled = async () => {
    await tokenIsOf(OLD_ENOUGH_FOR_THE_SCHEDULE_MS);
    expect(await countsOf(async () => deployed.runSchedule())).toEqual({ authCalls: 1, invocations: 1 });
    // The provider has ended the token before: everybody is refused once, finds the next one, and asks nobody.
    expect(await countsOf(callAll)).toEqual({ authCalls: 0, invocations: 0 });
    await everyoneUsesTheStoredToken();
  };

  test.each([
    ['is revoked', revoked],
    ['is replaced by the schedule', scheduled],
    ['is revoked', revoked],
    ['is replaced by the schedule', scheduled],
    ['is revoked', revoked],
    ['is replaced by the schedule', scheduled],
    ['is revoked', revoked],
    ['is replaced by the schedule', scheduled],
    ['is revoked', revoked],
    ['is replaced by the schedule', scheduled],
  ])('a token that %s: one auth call, everybody has the next one, and no request fails', async (_, rotate) => rotate());

  test('a scheduled run beside readers that ask: one auth call', async () => {
    await tokenIsOf(OLD_ENOUGH_TO_REVOKE_MS);
    const { authCalls } = await countsOf(async () => {
      deployed.parts.tokens.revoke();
      await Promise.all([callAll(), deployed.runSchedule()]);
    });
    expect(authCalls).toBe(1);
    await everyoneUsesTheStoredToken();
  });

  test('each event once more, when the next token has been in use for a while: no auth call', async () => {
    await tokenIsOf(OLD_ENOUGH_FOR_THE_SCHEDULE_MS);
    const { requests } = deployed.parts.lambda;
    const asks = requests.filter(({ type }) => type === 'RequestResponse');
    expect(asks.at(-1)?.payload).toMatchObject({ tokenId: 'crm', asked: { generation: expect.any(Number) as number } });
    const { authCalls, invocations } = await countsOf(async () => deployed.redeliver(requests));
    expect(authCalls).toBe(0);
    expect(invocations).toBeGreaterThanOrEqual(12);
  });

  test('in the end: one auth call for each token, and no token or credential in a log, an event or a failure', () => {
    expect(deployed.counts.authCalls).toBe(12);
    expect(deployed.failures).toEqual([]);
    expectNoSecretIn(deployed.readableText());
  });
});

describe('what a refresher makes of its invocations', () => {
  beforeAll(async () => {
    deployed = await DeployedRefresher.start({ stack: OrdersStack, consumers: 1, tokenLifeMs: TOKEN_LIFE_MS });
  }, 120_000);
  afterAll(stop);

  test('a secret that is not there: after bounded retries a failure that names it; and who needs a token is told why there is none', async () => {
    const { secrets, secret } = deployed.parts;
    secrets.remove(secret.name);
    expect(await countsOf(async () => deployed.deploy())).toEqual({ authCalls: 0, invocations: 1 });
    expect(deployed.failures).toMatchObject([{
      requestContext: { condition: 'RetriesExhausted', approximateInvokeCount: 3, functionArn: expect.stringMatching(/:function:[^:]+:1$/) as string },
      requestPayload: null,
      responsePayload: { errorType: 'SharedTokenError', errorMessage: expect.stringContaining(`The secret "${secret.arn}" does not exist`) as string },
    }]);
    const [result] = await deployed.callAll();
    expect(result).toMatchObject({ outcome: 'failed', errorType: 'SharedTokenError', errorMessage: expect.stringContaining('SECRET_NOT_FOUND') as string });
  });

  test('with the secret, and when the cool-down is over, the first reader that asks gets its token', async () => {
    deployed.storeCredentials(deployed.parts.client.secret);
    deployed.pass(COOL_DOWN_MS);
    expect(await countsOf(callAll)).toEqual({ authCalls: 1, invocations: 1 });
    await deployed.storedToken();
  });

  test('a scheduled event that is delivered twice: one auth call, one after the other and at once', async () => {
    const [first, second] = [10_000, 20_000].map(ms => new Date(deployed.now() + ms));
    deployed.pass(10_000);
    expect(await countsOf(async () => deployed.runSchedule(first))).toEqual({ authCalls: 1, invocations: 1 });
    expect(await countsOf(async () => deployed.runSchedule(first))).toEqual({ authCalls: 0, invocations: 1 });
    deployed.pass(10_000);
    const twice = await countsOf(async () => Promise.all([deployed.runSchedule(second), deployed.runSchedule(second)]));
    expect(twice).toEqual({ authCalls: 1, invocations: 2 });
  });

  test('another source: the next deployment has the stored token replaced, though it works, and once', async () => {
    const { refresher } = deployed.parts.functions;
    const settings = JSON.parse(refresher.variables.SHARED_TOKEN_SOURCE) as object;
    deployed.pass(10_000);
    expect(await countsOf(async () => deployed.deploy())).toEqual({ authCalls: 0, invocations: 1 });

    await deployed.replaceRefresher({ SHARED_TOKEN_SOURCE: JSON.stringify({ ...settings, scopes: ['orders.read', 'orders.write'] }) });
    expect(await countsOf(async () => deployed.deploy())).toEqual({ authCalls: 1, invocations: 1 });
    expect(deployed.parts.tokens.liveToken?.scope).toBe('orders.read orders.write');
    deployed.pass(10_000);
    expect(await countsOf(async () => deployed.deploy())).toEqual({ authCalls: 0, invocations: 1 });
    await callAll();
  });

  describe('with wrong credentials', () => {
    const wrong = 'not-the-secret-of-this-client';

    test('the provider is asked once in three attempts, the failure is in the queue of the schedule, and the token stays', async () => {
      const before = await deployed.storedToken();
      const failuresBefore = deployed.failures.length;
      deployed.storeCredentials(wrong);
      await deployed.replaceRefresher();
      deployed.pass(10_000);
      const at = new Date(deployed.now());
      expect(await countsOf(async () => deployed.runSchedule(at))).toEqual({ authCalls: 1, invocations: 1 });

      const [record, ...others] = deployed.failures.slice(failuresBefore);
      expect(others).toEqual([]);
      expect(record).toMatchObject({
        requestContext: { approximateInvokeCount: 3, functionArn: expect.stringMatching(/:function:[^:]+:scheduled$/) as string },
        requestPayload: { tokenId: 'crm', since: at.toISOString().replace(/\.\d+/, '') },
        responsePayload: { errorType: 'SharedTokenError', errorMessage: expect.stringContaining('invalid_client') as string },
      });
      expect(deployed.asynchronous.dropped).toEqual([]);
      expect(await deployed.storedToken()).toMatchObject(before);
      await callAll();
    });

    test('once they are corrected and the cool-down is over, the next run works, without a deployment', async () => {
      const { generation } = await deployed.storedToken();
      deployed.storeCredentials(deployed.parts.client.secret);
      deployed.pass(COOL_DOWN_MS);
      // By the clock of the function itself no time has passed: it tries the credentials that it knows, and with their refusal reads the others.
      expect(await countsOf(async () => deployed.runSchedule())).toEqual({ authCalls: 2, invocations: 1 });
      expect((await deployed.storedToken()).generation).toBe(generation + 1);
      await callAll();
    });

    test('and none of all that shows a token or a credential', () => {
      expectNoSecretIn(deployed.readableText());
      expect(deployed.readableText()).not.toContain(wrong);
    });
  });
});

test('a refresher of one\'s own: one auth call at deployment, and one where the token is revoked', async () => {
  deployed = await DeployedRefresher.start({ stack: OwnRefresherStack, consumers: 2, tokenLifeMs: TOKEN_LIFE_MS });
  try {
    expect(await countsOf(async () => deployed.deploy())).toEqual({ authCalls: 1, invocations: 1 });
    await callAll();
    await tokenIsOf(OLD_ENOUGH_TO_REVOKE_MS);
    const { authCalls } = await countsOf(async () => {
      deployed.parts.tokens.revoke();
      await callAll();
    });
    expect(authCalls).toBe(1);
    await everyoneUsesTheStoredToken();
    expectNoSecretIn(deployed.readableText());
  } finally {
    await stop();
  }
});
