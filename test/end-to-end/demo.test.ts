import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseOptions, USAGE } from '../../demo/options';
import { OutputFileError, prepareOutputFile } from '../../demo/output-file';
import type { JsonReport } from '../../demo/report';
import { readOptions } from '../../scripts/command-line';

const ROOT = resolve(__dirname, '..', '..');

interface Outcome {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

interface RunOptions {
  /** What it says when it is to be stopped, as by Ctrl-C. */
  readonly stopAt?: string;
  readonly tempFolder?: string;
  /** An output whose reader goes away at once, as in `npm run demo | head -0`. */
  readonly unread?: 'stdout' | 'stderr';
}

/** Runs the demo from the repository's root, without the wrapper process of the `tsx` command, which may kill what it runs before that has cleaned up. */
async function runDemo(args: readonly string[], { stopAt, tempFolder, unread }: RunOptions = {}): Promise<Outcome> {
  const env = { ...process.env, ...(tempFolder === undefined ? {} : { TMPDIR: tempFolder }) };
  const demo = spawn(process.execPath, ['--import', 'tsx', join('demo', 'main.ts'), ...args], { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let stdout = '';
  let stderr = '';
  demo.stdout.setEncoding('utf8').on('data', (text: string) => { stdout += text; });
  demo.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
    if (stopAt !== undefined && text.includes(stopAt)) demo.kill('SIGINT');
  });
  if (unread) demo[unread].destroy();
  const [status] = await once(demo, 'close') as [number];
  return { status, stdout, stderr };
}

/** Are all elements closed in the order in which they were opened? */
function isWellFormed(xml: string): boolean {
  const open: string[] = [];
  for (const [, closing, name, selfClosing] of xml.matchAll(/<(\/?)([a-zA-Z]+)(?:\s[^<>]*?)?(\/?)>/g)) {
    if (closing && open.pop() !== name) return false;
    if (!closing && !selfClosing) open.push(name);
  }
  return open.length === 0 && !/&(?!#\d+;)/.test(xml);
}

const KEYS_OF_A_ROTATION = ['authCalls', 'killedHolder', 'requests', 'failedRequests', 'halfMs', 'allMs'];

describe.each([
  { mode: 'reactive', args: [], keys: KEYS_OF_A_ROTATION, lanes: 4 },
  { mode: 'refresher', args: ['--mode', 'refresher'], keys: [...KEYS_OF_A_ROTATION, 'invocations'], lanes: 5 },
])('a run with four instances, two rotations and a killed holder, in the mode $mode', ({ mode, args, keys, lanes }) => {
  let outcome: Outcome;
  let report: JsonReport;
  let picture: string;

  beforeAll(async () => {
    outcome = await runDemo([...args, '--instances', '4', '--rotations', '2', '--json']);
    report = JSON.parse(outcome.stdout) as JsonReport;
    picture = readFileSync(join(ROOT, report.timeline), 'utf8');
  }, 120_000);

  test('all went well', () => {
    expect(outcome.status).toBe(0);
    expect(report.ok).toBe(true);
    expect(report.instances).toBe(4);
  });

  test('the standard output is one line of JSON, with the keys that are documented', () => {
    expect(outcome.stdout.trimEnd().split('\n')).toHaveLength(1);
    expect(Object.keys(report)).toEqual(['instances', 'rotations', 'timeline', 'ok']);
    for (const rotation of report.rotations) {
      expect(Object.keys(rotation)).toEqual(keys);
    }
  });

  test('an undisturbed rotation makes one auth call, one whose holder is killed at most two', () => {
    const [undisturbed, disturbed] = report.rotations;
    expect(report.rotations).toHaveLength(2);
    expect(undisturbed).toMatchObject({ killedHolder: false, authCalls: 1 });
    expect(disturbed.killedHolder).toBe(true);
    expect(disturbed.authCalls).toBeGreaterThanOrEqual(1);
    expect(disturbed.authCalls).toBeLessThanOrEqual(2);
  });

  test('no request fails, and every instance gets the new token', () => {
    for (const { requests, failedRequests, halfMs, allMs } of report.rotations) {
      expect(failedRequests).toBe(0);
      expect(requests).toBeGreaterThanOrEqual(4);
      expect(halfMs).toBeGreaterThan(0);
      expect(allMs).toBeGreaterThanOrEqual(halfMs ?? Infinity);
    }
  });

  test('where a refresher is asked, somebody does, and its invocations are counted', () => {
    expect(picture.includes('<title>asks the refresher</title></path>')).toBe(mode === 'refresher');
    expect(report.rotations.some(({ invocations = 0 }) => invocations > 0)).toBe(mode === 'refresher');
  });

  test('the picture is well-formed and has one lane per instance, and one of the refresher', () => {
    expect(picture).toMatch(/^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg"/);
    expect(isWellFormed(picture)).toBe(true);
    expect(picture.match(/class="lane"/g)).toHaveLength(lanes);
    expect(picture.includes('id="refresher"')).toBe(mode === 'refresher');
    expect(picture.match(/class="revocation"/g)).toHaveLength(2);
    expect(picture).toContain('>killed in its auth call<');
    expect(picture).toContain('>takes over<');
  });

  test('no token appears in the output or the picture', () => {
    // The beginning of every JSON Web Token.
    expect(outcome.stdout + outcome.stderr + picture).not.toContain('eyJ');
  });
});

describe('options that do not exist or make no sense', () => {
  test.each([
    [['--mode', 'scheduled'], ['--mode', 'reactive', 'refresher', '"scheduled"']],
    [['--mode'], ['--mode', 'reactive', 'refresher']],
    [['--instances', '0'], ['--instances', '1 to 200', '"0"']],
    [['--instances', 'many'], ['--instances', '1 to 200', '"many"']],
    [['--instances=-3'], ['--instances', '1 to 200', '"-3"']],
    [['--instances'], ['--instances', '1 to 200']],
    [['--rotations', '2.5'], ['--rotations', '1 to 50', '"2.5"']],
    [['--rotations', '1000'], ['--rotations', '1 to 50', '"1000"']],
    [['--kill-holder', '--no-kill-holder'], ['--kill-holder and --no-kill-holder']],
    [['--kill-holder=yes'], ['--kill-holder']],
    [['--fast'], ['--fast', '--instances <n>', '--json']],
    [['fast'], ['fast', '--instances <n>', '--json']],
  ])('%j: a message that names the option and what is allowed', (args, words) => {
    const stderr = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
    expect(readOptions(args, parseOptions, USAGE)).toBeUndefined();
    const said = stderr.mock.calls.join('');
    stderr.mockRestore();
    for (const word of words) expect(said).toContain(word);
    expect(said).not.toMatch(/^\s+at /m);
  });

  test('end the demo with exit status 2, and nothing on the standard output', async () => {
    const { status, stdout, stderr } = await runDemo(['--fast']);
    expect([status, stdout]).toEqual([2, '']);
    expect(stderr).toContain('--fast');
    expect(stderr).not.toMatch(/^\s+at /m);
  });
});

test('--help says what there is', async () => {
  const { status, stdout } = await runDemo(['--help']);
  expect(status).toBe(0);
  for (const option of ['--mode', '--instances', '--rotations', '--kill-holder', '--no-kill-holder', '--json']) expect(stdout).toContain(option);
});

describe('an output whose reader has gone', () => {
  test.each([
    ['stdout', ['--help']],
    ['stdout', ['--instances', '1', '--rotations', '1', '--no-kill-holder', '--json']],
    ['stderr', ['--instances', '1', '--rotations', '1', '--json']],
  ] as const)('(%s of %j) ends the demo quietly: exit status 1, no stack, no files left behind', async (unread, args) => {
    const tempFolder = mkdtempSync(join(tmpdir(), 'demo-test-'));
    try {
      const { status, stdout, stderr } = await runDemo(args, { tempFolder, unread });
      expect(status).toBe(1);
      expect(stdout).toBe('');
      expect(stderr).not.toMatch(/EPIPE|^\s+at /m);
      expect(readdirSync(tempFolder).filter(name => name.startsWith('shared-token-demo-'))).toEqual([]);
    } finally {
      rmSync(tempFolder, { recursive: true, force: true });
    }
  }, 120_000);
});

describe('the place for the picture', () => {
  let folder: string;
  beforeEach(() => { folder = mkdtempSync(join(tmpdir(), 'demo-test-')); });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  test('is made, and nothing is put there yet', () => {
    const file = join(folder, 'demo-output', 'timeline.svg');
    prepareOutputFile(file);
    prepareOutputFile(file);
    expect(readdirSync(join(folder, 'demo-output'))).toEqual([]);
  });

  test('keeps the picture that is there', () => {
    const file = join(folder, 'timeline.svg');
    writeFileSync(file, 'before');
    prepareOutputFile(file);
    expect(readFileSync(file, 'utf8')).toBe('before');
  });

  test('that is a file, or the picture that is a folder, is an error before anything runs, which says what to do', () => {
    writeFileSync(join(folder, 'demo-output'), '');
    mkdirSync(join(folder, 'timeline.svg'));
    for (const file of [join(folder, 'demo-output', 'timeline.svg'), join(folder, 'timeline.svg')]) {
      expect(() => prepareOutputFile(file)).toThrow(OutputFileError);
      expect(() => prepareOutputFile(file)).toThrow(/^The picture of the run cannot be written to .*timeline\.svg \(E.*Make .* a folder that can be written to\.$/);
    }
  });
});

test('stopped by Ctrl-C, it leaves no files behind', async () => {
  const tempFolder = mkdtempSync(join(tmpdir(), 'demo-test-'));
  try {
    const { status, stdout } = await runDemo(['--instances', '2', '--json'], { stopAt: 'function environments run', tempFolder });
    expect(status).toBe(130);
    expect(stdout).toBe('');
    expect(readdirSync(tempFolder).filter(name => name.startsWith('shared-token-demo-'))).toEqual([]);
  } finally {
    rmSync(tempFolder, { recursive: true, force: true });
  }
});
