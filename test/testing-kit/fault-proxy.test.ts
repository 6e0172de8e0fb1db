import { DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb';
import { FaultProxy, type DynamoDbRequest, type Fault, type FaultDecision, type ProxiedRequest, type StartedEmbeddedTable } from '../../testing-kit';
import { claim, errorOf, singleAttemptClient, statusOf } from '../support/dynamodb-client';
import { startTokenTable } from '../support/embedded-table';
import { stopAfterEach } from '../support/stop-after-each';

const stopped = stopAfterEach();
let table: StartedEmbeddedTable;
let proxy: FaultProxy;
let client: DynamoDBClient;
let fault: Fault | undefined;
/** What the table itself was asked, as against what the client asked the proxy. */
const arrived: DynamoDbRequest[] = [];
const asked: ProxiedRequest[] = [];

beforeEach(async () => {
  arrived.length = asked.length = 0;
  fault = undefined;
  table = stopped(await startTokenTable({ onRequest: request => { arrived.push(request); } }));
  proxy = stopped(await FaultProxy.start(table.endpoint, request => {
    asked.push(request);
    return fault;
  }));
  client = singleAttemptClient({ ...table.clientConfig, endpoint: proxy.endpoint });
});

afterEach(() => client.destroy());

const claimWith = async (injected: Fault) => {
  fault = injected;
  return client.send(claim(table.tableName, 'mine'));
};

/** The lease as the table has it, asked without the proxy. */
async function storedLease(): Promise<string | undefined> {
  const direct = singleAttemptClient(table.clientConfig);
  const { Item: item } = await direct.send(new GetItemCommand({ TableName: table.tableName, Key: { tokenId: { S: 'crm' } } }));
  direct.destroy();
  return item?.lease?.S;
}

const onlyCount = (kind: Fault['kind']) => ({
  delayBefore: 0, delayAfter: 0, dropBefore: 0, dropAfter: 0, stall: 0, error: 0, failBefore: 0, failAfter: 0, truncate: 0, [kind]: 1,
});

test('without a fault a request and its answer pass untouched', async () => {
  await client.send(claim(table.tableName, 'mine'));
  const error = await errorOf(client.send(claim(table.tableName, 'again', { ReturnValuesOnConditionCheckFailure: 'ALL_OLD' })));
  expect(error).toMatchObject({ name: 'ConditionalCheckFailedException', Item: { lease: { S: 'mine' } } });
  expect(arrived).toHaveLength(2);
  expect(Object.values(proxy.counts).every(count => count === 0)).toBe(true);
});

describe('faults after which nothing was applied', () => {
  test.each<[string, Fault, { name?: string; status?: number }]>([
    ['dropBefore breaks the connection', { kind: 'dropBefore' }, {}],
    ['error is the DynamoDB error of that type', { kind: 'error', type: 'ProvisionedThroughputExceededException' },
      { name: 'ProvisionedThroughputExceededException', status: 400 }],
    ['failBefore is a 500', { kind: 'failBefore' }, { name: 'InternalServerError', status: 500 }],
  ])('%s', async (_, injected, expected) => {
    const error = await errorOf(claimWith(injected));
    expect(statusOf(error)).toBe(expected.status);
    if (expected.name) expect(error.name).toBe(expected.name);
    expect(arrived).toEqual([]);
    expect(await storedLease()).toBeUndefined();
    expect(proxy.counts).toEqual(onlyCount(injected.kind));
  });

  test('an error carries the message that was asked for', async () => {
    expect((await errorOf(claimWith({ kind: 'error', type: 'ThrottlingException', message: 'slow down' }))).message).toBe('slow down');
  });
});

describe('faults after which the request was applied, once', () => {
  test.each<[string, Fault, { name?: string; status?: number }]>([
    ['dropAfter loses the answer', { kind: 'dropAfter' }, {}],
    ['failAfter is a 500', { kind: 'failAfter' }, { name: 'InternalServerError', status: 500 }],
    ['truncate breaks the connection within the answer', { kind: 'truncate' }, {}],
  ])('%s', async (_, injected, expected) => {
    const error = await errorOf(claimWith(injected));
    expect(statusOf(error)).toBe(expected.status);
    if (expected.name) expect(error.name).toBe(expected.name);
    expect(arrived).toHaveLength(1);
    expect(await storedLease()).toBe('mine');
    expect(proxy.counts).toEqual(onlyCount(injected.kind));
  });

  test('a truncated answer begins as the real one does', async () => {
    fault = { kind: 'truncate' };
    const response = await fetch(proxy.endpoint); // the engine's health check
    const received: Uint8Array[] = [];
    const reading = (async () => {
      for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) received.push(chunk);
    })();
    expect((await errorOf(reading)).message).toBe('terminated');
    expect(Buffer.concat(received).toString()).toBe('healthy: dynamodb.us-');
    expect(response.headers.get('content-length')).toBe('42');
  });

  test('stall never answers, and leaves the connection open until the client gives up', async () => {
    fault = { kind: 'stall' };
    const caller = new AbortController();
    const stalled = errorOf(client.send(claim(table.tableName, 'mine'), { abortSignal: caller.signal }));
    while (await storedLease() === undefined); // applied, and the caller is still without an answer
    caller.abort();
    expect((await stalled).name).toBe('AbortError');
    expect(proxy.counts).toEqual(onlyCount('stall'));
  });

  test('the retry of an SDK after a lost answer meets its own claim', async () => {
    const once = stopped(await FaultProxy.start(table.endpoint, ({ operationCount }) => operationCount === 1 ? { kind: 'dropAfter' } : undefined));
    const viaOnce = new DynamoDBClient({ ...table.clientConfig, endpoint: once.endpoint, maxAttempts: 2 });
    expect((await errorOf(viaOnce.send(claim(table.tableName, 'mine')))).name).toBe('ConditionalCheckFailedException');
    expect(await storedLease()).toBe('mine');
    viaOnce.destroy();
  });
});

describe('delays', () => {
  const FOR_EVER = 3_600_000;

  /** Sends a claim into a delay, waits until `reached`, sends another claim without one, and says how that went. */
  async function overtake(kind: 'delayBefore' | 'delayAfter', reached: () => boolean | Promise<boolean>): Promise<string> {
    const caller = new AbortController();
    fault = { kind, ms: FOR_EVER };
    const late = errorOf(client.send(claim(table.tableName, 'late'), { abortSignal: caller.signal }));
    while (!await reached()) await new Promise(setImmediate);
    fault = undefined;
    const outcome = await client.send(claim(table.tableName, 'quick')).then(() => 'won', (error: Error) => error.name);
    caller.abort();
    expect((await late).name).toBe('AbortError'); // it was still waiting
    return outcome;
  }

  test('delayBefore keeps the request from the table: a later one overtakes and wins', async () => {
    expect(await overtake('delayBefore', () => asked.length > 0)).toBe('won');
    expect(proxy.counts).toEqual(onlyCount('delayBefore'));
  });

  test('delayAfter keeps only the answer: the request is applied at once, and a later one loses', async () => {
    expect(await overtake('delayAfter', async () => await storedLease() === 'late')).toBe('ConditionalCheckFailedException');
    expect(proxy.counts).toEqual(onlyCount('delayAfter'));
  });

  test.each(['delayBefore', 'delayAfter'] as const)('%s ends: the request is applied once and answered', async kind => {
    await expect(claimWith({ kind, ms: 1 })).resolves.toMatchObject({ $metadata: { httpStatusCode: 200 } });
    expect(await storedLease()).toBe('mine');
    expect(arrived.filter(request => request.operation === 'UpdateItem')).toHaveLength(1);
  });
});

describe('the decision', () => {
  const proxyThat = async (decide: FaultDecision) => {
    const other = stopped(await FaultProxy.start(table.endpoint, decide));
    const via = singleAttemptClient({ ...table.clientConfig, endpoint: other.endpoint });
    const error = errorOf(via.send(claim(table.tableName, 'mine'))).finally(() => via.destroy());
    return { other, error };
  };

  test('may take its time: a promise is waited for', async () => {
    const { other, error } = await proxyThat(async () => {
      await new Promise(setImmediate);
      return { kind: 'error', type: 'ThrottlingException' };
    });
    expect((await error).name).toBe('ThrottlingException');
    expect(arrived).toEqual([]);
    expect(other.counts).toEqual(onlyCount('error'));
  });

  test('that is still open when the proxy stops lets nothing reach the table', async () => {
    let decided: (fault: undefined) => void = () => undefined;
    const { other, error } = await proxyThat(async () => new Promise(resolve => { decided = resolve; }));
    while (await storedLease() !== undefined);
    await other.stop();
    decided(undefined);
    expect(statusOf(await error)).toBeUndefined();
    expect(await storedLease()).toBeUndefined();
  });

  test('that rejects is an error that no SDK tries again', async () => {
    const { error } = await proxyThat(async () => Promise.reject(new Error('expected a different request')));
    expect((await error).message).toBe("The fault proxy's decision failed: expected a different request");
  });

  test.each([[{ kind: 'explode' }, '{"kind":"explode"}'], [{}, '{}'], ['dropAfter', '"dropAfter"'], [{ kind: 'toString' }, '{"kind":"toString"}']])(
    '%j is no fault: an error that lists the kinds, and nothing is counted or applied', async (nonsense, shown) => {
      const { other, error } = await proxyThat(() => nonsense as Fault);
      expect((await error).message).toBe(
        `The fault proxy's decision failed: there is no fault ${shown}. Expected nothing, or an object whose kind is one of ${Object.keys(other.counts).join(', ')}`);
      expect(Object.values(other.counts).every(count => count === 0)).toBe(true);
      expect(arrived).toEqual([]);
    });

  test('sees the operation, its parameters, and how many came before, in all and of the same operation', async () => {
    await client.send(claim(table.tableName, 'mine'));
    await client.send(new GetItemCommand({ TableName: table.tableName, Key: { tokenId: { S: 'crm' } } }));
    await errorOf(client.send(claim(table.tableName, 'again')));
    expect(asked.map(({ operation, count, operationCount }) => [operation, count, operationCount])).toEqual([
      ['UpdateItem', 1, 1], ['GetItem', 2, 1], ['UpdateItem', 3, 2],
    ]);
    expect(asked[0]?.body).toMatchObject({ TableName: table.tableName, Key: { tokenId: { S: 'crm' } } });
  });

  test('that throws is an error which no SDK tries again, and nothing is applied', async () => {
    const failing = stopped(await FaultProxy.start(table.endpoint, () => { throw new Error('expected a different request'); }));
    const retrying = new DynamoDBClient({ ...table.clientConfig, endpoint: failing.endpoint, maxAttempts: 3 });
    expect((await errorOf(retrying.send(claim(table.tableName, 'mine')))).message).toContain('expected a different request');
    expect(arrived).toEqual([]);
    retrying.destroy();
  });
});

describe('life', () => {
  test.each<Fault>([{ kind: 'stall' }, { kind: 'delayAfter', ms: 3_600_000 }])('stopping breaks a request that hangs in $kind', async injected => {
    const hanging = errorOf(claimWith(injected));
    while (await storedLease() === undefined); // applied
    await proxy.stop();
    expect(statusOf(await hanging)).toBeUndefined();
  });

  test('a request that still waits in delayBefore when the proxy stops never reaches the table', async () => {
    const hanging = errorOf(claimWith({ kind: 'delayBefore', ms: 3_600_000 }));
    while (asked.length === 0) await new Promise(setImmediate);
    await proxy.stop();
    expect(statusOf(await hanging)).toBeUndefined();
    expect(arrived).toEqual([]);
  });

  test('where the target is gone the client sees a broken connection', async () => {
    await table.stop();
    expect(statusOf(await errorOf(client.send(claim(table.tableName, 'mine'))))).toBeUndefined();
  });

  test.each(['https://dynamodb.eu-central-1.amazonaws.com', 'localhost:8000', ''])('a target %p is TARGET_UNSUPPORTED', async target => {
    await expect(FaultProxy.start(target, () => undefined)).rejects.toMatchObject({ code: 'TARGET_UNSUPPORTED' });
  });

  test('a port that is taken is PORT_UNAVAILABLE', async () => {
    const port = Number(new URL(proxy.endpoint).port);
    await expect(FaultProxy.start(table.endpoint, () => undefined, { port })).rejects.toMatchObject({ code: 'PORT_UNAVAILABLE' });
  });

  test.each([99_999, -1])('a port that there cannot be (%p) is PORT_UNAVAILABLE', async port => {
    await expect(FaultProxy.start(table.endpoint, () => undefined, { port })).rejects.toMatchObject({ code: 'PORT_UNAVAILABLE' });
  });
});
