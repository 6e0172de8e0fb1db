import { brokenPromises, summarizeRotations, summarizeStart } from '../../demo/rotation-summary';
import { type Invocation, RunLog } from '../../demo/run-log';

const REVOKED_AT = 10_000;

/** Two instances that got a first token, lost it at REVOKED_AT and got the next one: instance 1 refreshed. */
function aRotation(): RunLog {
  const log = new RunLog();
  log.startedAt = 0;
  log.revocations.push(REVOKED_AT);
  const event = (instance: number, type: 'committed' | 'adopted' | 'rejected', at: number, generation: number): void => {
    log.events.push({ tokenId: 'crm', instance, type, at, generation });
  };
  event(1, 'committed', 300, 1);
  event(2, 'adopted', 310, 1);
  event(1, 'rejected', REVOKED_AT + 50, 1);
  event(2, 'rejected', REVOKED_AT + 60, 1);
  event(1, 'committed', REVOKED_AT + 400, 2);
  event(2, 'adopted', REVOKED_AT + 420, 2);
  invoked(log, 1, REVOKED_AT + 40, REVOKED_AT + 450);
  invoked(log, 2, REVOKED_AT + 45, REVOKED_AT + 460);
  return log;
}

function invoked(log: RunLog, instance: number, startedAt: number, endedAt: number, outcome: Invocation['outcome'] = 'succeeded'): void {
  log.invocations.push({ instance, startedAt, endedAt, outcome });
}

function verdictOn(log: RunLog, authCalls: readonly number[], killWanted = false): string[] {
  return brokenPromises(summarizeStart(log, authCalls, 12_000), summarizeRotations(log, authCalls, 2), killWanted);
}

test('one auth call per rotation, and no failed request, is what was promised', () => {
  expect(verdictOn(aRotation(), [100, REVOKED_AT + 60])).toEqual([]);
});

test('the times count from the revocation, and each request that was refused once is counted', () => {
  expect(summarizeRotations(aRotation(), [100, REVOKED_AT + 60], 2)).toMatchObject([
    { authCalls: 1, requests: 2, rejectedOnce: 2, failedRequests: 0, halfMs: 400, allMs: 420, killedHolder: false },
  ]);
});

test('a second auth call in an undisturbed rotation breaks the promise, however late it comes', () => {
  expect(verdictOn(aRotation(), [100, REVOKED_AT + 60, REVOKED_AT + 5_000])).toEqual(['Rotation 1 made 2 auth calls, not one.']);
});

test('while a large fleet starts, each token that grows old explains one more auth call, and no more than that', () => {
  expect(verdictOn(aRotation(), [100, 8_500, REVOKED_AT + 60])).toEqual([]);
  expect(verdictOn(aRotation(), [100, 200, 8_500, REVOKED_AT + 60])).toEqual(['The start made 3 auth calls, not one per token.']);
});

test('no auth call at all breaks it as well', () => {
  expect(verdictOn(aRotation(), [100])).toEqual(['Rotation 1 made 0 auth calls, not one.']);
});

test('a rotation whose holder was killed may make two auth calls, but not three', () => {
  const log = aRotation();
  log.kills.push({ instance: 1, at: REVOKED_AT + 70 });
  expect(verdictOn(log, [100, REVOKED_AT + 60, REVOKED_AT + 5_000], true)).toEqual([]);
  expect(verdictOn(log, [100, REVOKED_AT + 60, REVOKED_AT + 5_000, REVOKED_AT + 6_000], true)).toHaveLength(1);
});

test('a failed request breaks the promise; one that was lost with the killed instance is counted apart', () => {
  const log = aRotation();
  log.kills.push({ instance: 1, at: REVOKED_AT + 70 });
  invoked(log, 1, REVOKED_AT + 500, REVOKED_AT + 510, 'lost');
  expect(summarizeRotations(log, [], 2)).toMatchObject([{ requests: 2, failedRequests: 0, lostRequests: 1 }]);
  invoked(log, 2, REVOKED_AT + 500, REVOKED_AT + 510, 'failed');
  expect(verdictOn(log, [100, REVOKED_AT + 60], true)).toEqual(['1 requests failed in rotation 1.']);
});

test('a request that failed before the first revocation breaks the promise too', () => {
  const log = aRotation();
  invoked(log, 2, 500, 510, 'failed');
  expect(verdictOn(log, [100, REVOKED_AT + 60])).toEqual(['1 requests failed during the start.']);
});

test('an instance that never gets the new token breaks it', () => {
  const log = aRotation();
  const without = new RunLog();
  without.startedAt = 0;
  without.revocations.push(REVOKED_AT);
  without.events.push(...log.events.filter(({ instance, at }) => instance === 1 || at < REVOKED_AT));
  without.invocations.push(...log.invocations.filter(({ instance }) => instance === 1));
  expect(verdictOn(without, [100, REVOKED_AT + 60])).toEqual(['Rotation 1 ended before every instance had the new token.']);
});

test('a new process that takes the revoked token from the table once more has not got the new one by that', () => {
  const log = aRotation();
  log.events.push({ tokenId: 'crm', instance: 2, type: 'adopted', at: REVOKED_AT + 100, generation: 1 });
  expect(summarizeRotations(log, [], 2)).toMatchObject([{ halfMs: 400, allMs: 420 }]);
});

test('a kill that was asked for and did not happen breaks the promise', () => {
  expect(verdictOn(aRotation(), [100, REVOKED_AT + 60], true)).toEqual(['No holder was killed, though one should have been.']);
});
