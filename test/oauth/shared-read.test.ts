import { sharedRead } from '../../lambda-runtime/oauth/shared-read';

const FIVE_MINUTES = 5 * 60_000;

/** A source whose reads end when the test says so. */
function harness() {
  const reads: { readonly signal: AbortSignal; readonly resolve: (value: string) => void; readonly reject: (error: Error) => void }[] = [];
  let time = 123_456;
  const shared = sharedRead<string>(async signal => new Promise((resolve, reject) => { reads.push({ signal, resolve, reject }); }), () => time);
  return { reads, shared, pass: (ms: number) => { time += ms; } };
}
const open = () => new AbortController().signal;

test('what was read is used for five minutes from when the read began, and then read again', async () => {
  const { reads, shared, pass } = harness();
  const first = shared.read(open());
  pass(1_000);
  reads[0]!.resolve('a');
  expect(await first).toBe('a');
  pass(FIVE_MINUTES - 1_001);
  expect(await shared.read(open())).toBe('a');
  pass(1);
  const second = shared.read(open());
  expect(reads).toHaveLength(2);
  reads[1]!.resolve('b');
  expect(await second).toBe('b');
});

test('a new reading is made where it is asked for, and replaces the old one', async () => {
  const { reads, shared } = harness();
  const first = shared.read(open());
  reads[0]!.resolve('a');
  await first;
  const again = shared.readAgain(open());
  reads[1]!.resolve('b');
  expect([await again, await shared.read(open())]).toEqual(['b', 'b']);
  expect(reads).toHaveLength(2);
});

test('one read is under way at a time, for all who ask', async () => {
  const { reads, shared } = harness();
  const all = [shared.read(open()), shared.readAgain(open()), shared.read(open())];
  expect(reads).toHaveLength(1);
  reads[0]!.resolve('a');
  expect(await Promise.all(all)).toEqual(['a', 'a', 'a']);
});

test('a failure is told to all who wait, and is not kept', async () => {
  const { reads, shared } = harness();
  const all = [shared.read(open()), shared.read(open())];
  reads[0]!.reject(new Error('broken'));
  expect((await Promise.allSettled(all)).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  const next = shared.read(open());
  reads[1]!.resolve('a');
  expect(await next).toBe('a');
});

test('who leaves ends only the own wait: the read goes on for the others', async () => {
  const { reads, shared } = harness();
  const leaver = new AbortController();
  const left = shared.read(leaver.signal);
  const stays = shared.read(open());
  leaver.abort();
  await expect(left).rejects.toMatchObject({ code: 'ABORTED' });
  expect(reads[0]!.signal.aborted).toBe(false);
  reads[0]!.resolve('a');
  expect(await stays).toBe('a');
});

test('when the last one leaves the read is ended, and the next who asks starts a new one', async () => {
  const { reads, shared } = harness();
  const leavers = [new AbortController(), new AbortController()];
  const left = leavers.map(async ({ signal }) => shared.read(signal));
  for (const leaver of leavers) leaver.abort();
  expect((await Promise.allSettled(left)).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(reads[0]!.signal.aborted).toBe(true);
  const next = shared.read(open());
  reads[0]!.reject(new Error('ended'));
  reads[1]!.resolve('a');
  expect(await next).toBe('a');
  expect(reads).toHaveLength(2);
});

test('who comes with an aborted signal gets nothing, even if it is kept or under way', async () => {
  const { shared } = harness();
  await expect(shared.read(AbortSignal.abort())).rejects.toMatchObject({ code: 'ABORTED' });
});
