import { type AwsRequest, forToken } from './support/aws-request';
import { type Caller, DRIVES } from './support/drives';
import { isAllowedAsAssumed, type PolicyStatement, type Principal, type Verdict, verdictOf } from './support/iam';
import { type Column, COLUMNS, OTHER_RECORDED, principalOf, RUNTIME_REQUESTS, TRIED } from './support/matrix';
import { expectPage, matrixTable, type MatrixSection } from './support/page';
import { type BuilderName, BUILDERS, recordRuntime, type Recorded } from './support/recording';
import { type Kind, KINDS, LEVELS, type PolicyStack, policyStackOf, type Selection, SELECTIONS } from './support/stacks';

/*
 * Every call the runtime makes is allowed by its grant, and nothing else is: the policies of synthesized stacks, judged by a simulator of IAM, over requests that were
 * recorded from the runtime, and over others. What AWS makes of a request stands in support/condition-values.ts.
 */

let recorded: readonly Recorded[];
const stacks = Object.fromEntries(KINDS.map(kind => [kind, policyStackOf(kind)])) as Record<Kind, PolicyStack>;

beforeAll(async () => {
  const { names } = stacks.encrypted;
  recorded = await recordRuntime({ ...names, tokenKey: names.tokenKey! });
});

/** The same request is judged once. */
const known = new Map<string, Promise<Verdict>>();
const judge = async (request: AwsRequest, principal: Principal, { cloud }: PolicyStack) => {
  const id = JSON.stringify([request, principal, [...cloud.keys]]);
  const verdict = known.get(id) ?? verdictOf(request, principal, cloud);
  known.set(id, verdict);
  return verdict;
};

const operationOf = ({ service, operation }: AwsRequest) => `${service}:${operation}`;
/** Recorded requests without repetitions: values that are written or compared are no matter of policies. */
const distinct = (requests: readonly Recorded[]) => [...new Map(requests.map(one => [
  JSON.stringify([one.request.operation, { ...one.request.input, ExpressionAttributeValues: undefined }, one.caller]), one,
])).values()];
/** What was recorded for a kind of stack: encrypted tokens are encrypted in one of them. */
const recordedIn = (kind: Kind) => recorded.filter(({ isEncrypted }) => isEncrypted === (kind === 'encrypted'));

describe('the runtime was recorded in all that it does', () => {
  describe.each([['plain', false], ['encrypted', true]] as const)('with %s tokens', (_, isEncrypted) => {
    test.each(DRIVES.map(drive => [drive.caller, drive.name, drive] as const))('who is %s: %s', (caller, name, { requests, shows }) => {
      const sent = recorded.filter(one => one.isEncrypted === isEncrypted && one.caller === caller && one.drive === name && one.request.service === 'dynamodb');
      // A request that no function of `dynamodb-requests.ts` made would be undefined here.
      expect([...new Set(sent.map(({ builder }) => builder))]).toEqual(requests);
      const expressions = sent.map(({ request: { input } }) => `${String(input.UpdateExpression)} IF ${String(input.ConditionExpression)}`).join('\n');
      if (shows) expect(expressions).toMatch(shows);
    });

    test.each<[Caller, readonly string[], readonly string[]]>([
      ['reading', [], ['kms:Decrypt']],
      ['asking', ['lambda:Invoke'], ['kms:Decrypt', 'lambda:Invoke']],
      ['refreshing', [], ['kms:Decrypt', 'kms:GenerateDataKey']],
      ['refresher', ['secretsmanager:GetSecretValue'], ['kms:Decrypt', 'kms:GenerateDataKey', 'ssm:GetParameter']],
      ['operating', [], []],
    ])('who is %s asks these other services', (caller, plain, encrypted) => {
      const others = recorded.filter(one => one.isEncrypted === isEncrypted && one.caller === caller && one.request.service !== 'dynamodb');
      expect([...new Set(others.map(({ request }) => operationOf(request)))].sort()).toEqual(isEncrypted ? encrypted : plain);
    });
  });

  test('every function that makes a request to the table made one', () => {
    expect(BUILDERS.filter(name => !recorded.some(({ builder }) => builder === name))).toEqual([]);
  });
});

describe.each(KINDS)('where tokens are kept %s', kind => {
  const stack = stacks[kind];

  test('every call that was recorded is allowed by the grant of who made it', async () => {
    const refused: unknown[] = [];
    const grantees: Readonly<Record<Caller, readonly Principal[]>> = {
      reading: [stack.granted.reading.ids, stack.attached.reading],
      asking: [stack.asking, stack.attached.asking],
      refreshing: [stack.granted.refreshing.ids, stack.attached.refreshing],
      operating: [stack.granted.operating.ids],
      refresher: [stack.refresher],
    };
    for (const { caller, drive, request } of distinct(recordedIn(kind))) {
      for (const principal of grantees[caller]) {
        const { isAllowed } = await judge(request, principal, stack);
        if (!isAllowed) refused.push([principal.arn, drive, request]);
      }
    }
    expect(refused).toEqual([]);
  });

  test('what was recorded is allowed to nobody else than the matrix says', async () => {
    for (const [what, requests, allowed] of recordedRows(kind)) {
      for (const request of requests) expect([what, request, await columnsThatMay(request, stack)]).toEqual([what, request, allowed]);
    }
  });

  test.each(Object.entries(TRIED))('%s: nobody may but who the matrix says', async (_, rows) => {
    for (const { what, request, allowed } of rows) {
      const tried = request(stack.names);
      if (tried) expect([what, await columnsThatMay(tried, stack)]).toEqual([what, allowed]);
    }
  });

  test('what is denied is denied in every way to read AWS\'s documents', async () => {
    const open: unknown[] = [];
    for (const { what, request } of Object.values(TRIED).flat()) {
      const tried = request(stack.names);
      for (const column of tried ? COLUMNS : []) {
        const { isAllowed, unless } = await judge(tried!, principalOf(stack, column), stack);
        if (!isAllowed && unless.length > 0) open.push([what, column, unless]);
      }
    }
    // Whether `$LATEST` names the function itself. Who may ask it may do no more by that name.
    expect(open).toEqual([['`Invoke` of it by `$LATEST`', 'asking', ['latest']]]);
  });

  test('`attachTo` gives what the grants give', async () => {
    const pairs = [[stack.attached.reading, 'reading'], [stack.attached.refreshing, 'refreshing'], [stack.attached.asking, 'asking']] as const;
    for (const { request } of Object.values(TRIED).flat()) {
      const tried = request(stack.names);
      for (const [principal, column] of tried ? pairs : []) {
        expect(await judge(tried!, principal, stack)).toEqual(await judge(tried!, principalOf(stack, column), stack));
      }
    }
  });

  const IDS = ['crm', 'CRM', 'cr', 'crm2', 'a b', 'a?b', 'aXb', 'a', 'bot-1', 'bot-', 'bot-*', 'bot', 'bot1', 'xbot-1', 'Bot-1', '*', '', 'erp'];
  const MATCHED: Readonly<Record<Selection, readonly string[]>> = {
    ids: ['crm', 'a b'],
    pattern: ['bot-1', 'bot-', 'bot-*'],
    both: ['crm', 'bot-1', 'bot-', 'bot-*'],
    all: IDS,
  };

  test.each(LEVELS.flatMap(level => (Object.keys(SELECTIONS) as Selection[]).map(selection => [level, selection] as const)))(
    'who is granted %s of %s may do all of it for these tokens, and nothing for others', async (level, selection) => {
      const own = distinct(recordedIn(kind).filter(({ caller }) => caller === level));
      expect(own.length).toBeGreaterThan(0);
      for (const { request } of own) {
        const allowed: string[] = [];
        for (const id of IDS) {
          if (await isAllowedAsAssumed(forToken(request, id), stack.granted[level][selection], stack.cloud)) allowed.push(id);
        }
        expect([request, allowed]).toEqual([request, MATCHED[selection]]);
      }
    });

  test('no action of a grant is idle: without it a call that was recorded is denied', async () => {
    const idle: unknown[] = [];
    const withoutIts = async (principal: Principal, requests: readonly AwsRequest[]) => {
      for (const statement of principal.statements) {
        for (const action of [statement.Action].flat()) {
          const others = principal.statements.flatMap(one => one === statement ? withoutAction(one, action) : [one]);
          if (!await someDenied(requests, { ...principal, statements: others }, stack)) idle.push([principal.arn, action]);
        }
      }
    };
    const by = (caller: Caller) => distinct(recordedIn(kind).filter(one => one.caller === caller)).map(({ request }) => request);
    const tried = (column: Column) => TRIED['Refresher and credentials']!.filter(({ allowed }) => allowed.includes(column)).map(({ request }) => request(stack.names)!);
    for (const level of LEVELS) await withoutIts({ ...stack.granted[level].both }, [...by(level), ...by(level).map(request => forToken(request, 'bot-1'))]);
    await withoutIts(stack.asking, by('asking'));
    await withoutIts(stack.refresher, [...by('refresher'), ...tried('refresher')]);
    await withoutIts(stack.schedule, tried('schedule'));
    expect(idle).toEqual([]);
  });

  test('no attribute of a grant is idle: without it a call that was recorded is denied', async () => {
    for (const level of ['reading', 'operating'] as const) {
      const requests = distinct(recordedIn(kind).filter(({ caller }) => caller === level)).map(({ request }) => request);
      const principal = stack.granted[level].ids;
      const lists = principal.statements.map(statement => [statement, statement.Condition?.['ForAllValues:StringEquals']?.['dynamodb:Attributes'] ?? []] as const);
      for (const [statement, names] of lists) {
        for (const name of names) {
          const fewer = { ...principal, statements: principal.statements.map(one => one === statement ? withoutAttribute(one, name) : one) };
          expect([level, name, await someDenied(requests, fewer, stack)]).toEqual([level, name, true]);
        }
      }
    }
  });
});

test('docs/policies.md shows the matrix', async () => {
  const rowOf = async (what: string, requests: readonly (readonly [Kind, AwsRequest])[]) => {
    const cells: Partial<Record<Column, Verdict>> = {};
    for (const column of COLUMNS) {
      const verdicts = await Promise.all(requests.map(async ([kind, request]) => judge(request, principalOf(stacks[kind], column), stacks[kind])));
      const [first] = verdicts as [Verdict, ...Verdict[]];
      expect([what, column, verdicts.filter(({ isAllowed }) => isAllowed !== first.isAllowed)]).toEqual([what, column, []]);
      cells[column] = { isAllowed: first.isAllowed, unless: [...new Set(verdicts.flatMap(({ unless }) => unless))] };
    }
    return { what, cells: cells as Record<Column, Verdict> };
  };
  const rows = KINDS.flatMap(kind => recordedRows(kind).map(row => [kind, row] as const));
  const sections: MatrixSection[] = [{
    title: 'What the runtime was recorded to send',
    rows: await Promise.all([...new Set(rows.map(([, [what]]) => what))].map(async what => {
      const same = rows.filter(([, [other]]) => other === what);
      return rowOf(what, same.flatMap(([kind, [, requests]]) => requests.map(request => [kind, request] as const)));
    })),
  }];
  for (const [title, tried] of Object.entries(TRIED)) {
    const ofSection = await Promise.all(tried.map(async ({ what, request }) => (
      rowOf(what, KINDS.flatMap(kind => [request(stacks[kind].names)].flatMap(one => one ? [[kind, one] as const] : []))))));
    sections.push({ title, rows: ofSection });
  }
  expectPage('matrix', matrixTable(sections));
});

/** The recorded requests in the rows of the matrix, each with who may. */
function recordedRows(kind: Kind): (readonly [what: string, requests: readonly AwsRequest[], allowed: readonly Column[]])[] {
  const all = distinct(recordedIn(kind));
  const ofTable = BUILDERS.map((name: BuilderName) => [...RUNTIME_REQUESTS[name], all.filter(({ builder }) => builder === name)] as const);
  const others = Object.entries(OTHER_RECORDED)
    .map(([operation, row]) => [...row, all.filter(({ request }) => operationOf(request) === operation)] as const);
  const rows = [...ofTable, ...others].map(([what, allowed, requests]) => [what, requests.map(({ request }) => request), allowed] as const);
  return rows.filter(([, requests]) => requests.length > 0);
}

async function columnsThatMay(request: AwsRequest, stack: PolicyStack): Promise<Column[]> {
  const may = await Promise.all(COLUMNS.map(async column => (await judge(request, principalOf(stack, column), stack)).isAllowed));
  return COLUMNS.filter((_, i) => may[i]);
}

async function someDenied(requests: readonly AwsRequest[], principal: Principal, stack: PolicyStack): Promise<boolean> {
  for (const request of requests) {
    if (!await isAllowedAsAssumed(request, principal, stack.cloud)) return true;
  }
  return false;
}

function withoutAction(statement: PolicyStatement, action: string): PolicyStatement[] {
  const actions = [statement.Action].flat().filter(one => one !== action);
  return actions.length === 0 ? [] : [{ ...statement, Action: actions }];
}

function withoutAttribute(statement: PolicyStatement, name: string): PolicyStatement {
  const { 'ForAllValues:StringEquals': listed, ...others } = statement.Condition ?? {};
  const names = [listed?.['dynamodb:Attributes'] ?? []].flat().filter(one => one !== name);
  return { ...statement, Condition: { ...others, 'ForAllValues:StringEquals': { ...listed, 'dynamodb:Attributes': names } } };
}
