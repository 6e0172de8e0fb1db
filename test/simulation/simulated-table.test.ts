import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DeleteCommand, DynamoDBDocumentClient, GetCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import {
  claimRequest, clearFailureRequest, commitRequest, endLeaseRequest, expireRequest, type OperatorRequest, readRequest, releaseRequest,
  type UpdateRequest,
} from '../../lambda-runtime/dynamodb-requests';
import type { Base, Failure, Lease } from '../../lambda-runtime/token-item';
import { parseCondition, ValidationException } from '../../simulation/expression';
import { Random } from '../../simulation/random';
import { SimulatedTable } from '../../simulation/simulated-table';
import { startTokenTable } from '../support/embedded-table';

/** Requests of all kinds, made of few values, so that conditions hold about as often as not. */
class Requests {
  constructor(private readonly random: Random, private readonly table: string) {}

  next(): UpdateRequest {
    const { random } = this;
    const kind = random.pick(['claim', 'commit', 'late commit', 'release', 'mend']);
    if (kind === 'mend') return this.mend();
    if (kind === 'claim') {
      return claimRequest(this.table, 'crm', {
        lease: this.lease(),
        base: this.base(),
        ended: this.maybe(() => this.lease()),
        endured: this.maybe(() => this.failure()),
        failure: this.maybe(() => this.failure()),
        expireAfter: this.maybe(() => this.number()),
      });
    }
    if (kind === 'release') {
      return releaseRequest(this.table, 'crm', { lease: this.lease().id, failure: this.maybe(() => ({ failure: this.failure(), base: this.base() })) });
    }
    return commitRequest(this.table, 'crm', {
      onlyIf: kind === 'commit' ? { lease: this.lease().id } : { base: this.base() },
      token: { accessToken: `token-${this.number()}`, issuedAt: this.random.pick([1, 2, 2, 10_000]), expiresAt: this.maybe(() => this.number()) },
      refreshToken: this.maybe(() => `refresh-${this.number()}`),
      refreshMs: this.number(),
      failure: this.maybe(() => this.failure()),
      meta: this.maybe(() => ({
        entries: { earlyRejections: this.number(), source: this.maybe(() => `source-${this.number()}`) },
        exists: random.chance(0.5),
      })),
      expireAfter: this.maybe(() => this.number()),
    });
  }

  /** An operator's, which here is told what it did. */
  private mend(): UpdateRequest {
    const requests: [OperatorRequest, ...OperatorRequest[]] = [
      endLeaseRequest(this.table, 'crm', this.lease()),
      clearFailureRequest(this.table, 'crm', this.failure()),
      expireRequest(this.table, 'crm', { generation: this.number(), issuedAt: this.number() }, this.number()),
    ];
    return { ...this.random.pick(requests), ReturnValues: 'ALL_NEW', ReturnValuesOnConditionCheckFailure: 'ALL_OLD' };
  }

  private number(): number {
    return this.random.between(1, 2);
  }

  private lease(): Lease {
    return { id: `lease-${this.number()}`, since: 1, until: this.number(), holder: 'somebody' };
  }

  private failure(): Failure {
    return { code: 'down', count: this.number(), at: this.number(), retryAt: 9 };
  }

  private base(): Base {
    return this.maybe(() => ({ generation: this.number(), issuedAt: this.number() }));
  }

  private maybe<T>(make: () => T): T | undefined {
    return this.random.chance(0.5) ? make() : undefined;
  }
}

test('the simulated table answers random requests as the embedded engine does', async () => {
  const { clientConfig, tableName, stop } = await startTokenTable();
  const client = new DynamoDBClient({ ...clientConfig, maxAttempts: 1 });
  const documents = DynamoDBDocumentClient.from(client, { marshallOptions: { removeUndefinedValues: true } });
  const simulated = new SimulatedTable();
  const random = new Random(1);
  const requests = new Requests(random, tableName);
  const seen = { applied: 0, refused: 0, invalid: 0 };

  const real = async (request: UpdateRequest) => {
    try {
      return { applied: true, item: (await documents.send(new UpdateCommand(request))).Attributes };
    } catch (error) {
      const { name, Item } = error as { name: string; Item?: Parameters<typeof unmarshall>[0] };
      if (name === 'ValidationException') return name;
      if (name !== 'ConditionalCheckFailedException') throw error;
      return { applied: false, item: Item && unmarshall(Item) };
    }
  };
  const ours = (request: UpdateRequest) => {
    try {
      return simulated.update(request);
    } catch (error) {
      if (error instanceof ValidationException) return error.name;
      throw error;
    }
  };

  try {
    for (let count = 0; count < 900; count++) {
      const request = requests.next();
      const [expected, got] = [await real(request), ours(request)];
      expect(got).toEqual(expected);
      seen[typeof got === 'string' ? 'invalid' : got.applied ? 'applied' : 'refused']++;

      const read = readRequest(tableName, 'crm');
      expect(simulated.get(read)).toEqual((await documents.send(new GetCommand(read))).Item);
      if (!random.chance(0.2)) continue;
      simulated.delete('crm');
      await documents.send(new DeleteCommand({ TableName: tableName, Key: { tokenId: 'crm' } }));
    }
  } finally {
    documents.destroy();
    await stop();
  }
  expect(Math.min(seen.applied, seen.refused)).toBeGreaterThan(100);
  expect(seen.invalid).toBeGreaterThan(0); // an entry of a map that is not there
});

test.each([
  ['#a = :x OR #a = :x AND #b = :x', true], // AND binds closer
  ['(#a = :x OR #a = :x) AND #b = :x', false],
  ['attribute_not_exists(#c.#d) AND attribute_exists(#a)', true],
  ['#b = :x', false], // nothing is equal to what is not there
  ['#b < :x', false],
  ['#a <= :x AND #a >= :x', true],
])('%s', (text, holds) => {
  const { parsed } = parseCondition(text);

  expect(parsed({ item: { a: 1 }, names: { '#a': 'a', '#b': 'b', '#c': 'c', '#d': 'd' }, values: { ':x': 1 } })).toBe(holds);
});

test('what the simulated table does not understand is an error', () => {
  expect(() => parseCondition('contains(#a, :x)')).toThrow(ValidationException);
  const unused = { ...readRequest('t', 'crm'), UpdateExpression: 'SET #a = :a', ConditionExpression: '#a = :a', ReturnValues: 'ALL_NEW', ReturnValuesOnConditionCheckFailure: 'ALL_OLD' } as const;
  expect(() => new SimulatedTable().update({ ...unused, ExpressionAttributeNames: { '#a': 'a' }, ExpressionAttributeValues: { ':a': 1, ':b': 2 } })).toThrow('unused');
});
