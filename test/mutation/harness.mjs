import { createRequire } from 'node:module';
import { dirname, resolve } from 'node:path';
import vm from 'node:vm';
import { ModernFakeTimers } from '@jest/fake-timers';
import { buildSync } from 'esbuild';
import { expect } from 'expect';
import { ModuleMocker } from 'jest-mock';

/*
 * As much of jest as the tests of the runtime need, in one process that loads a file of tests in milliseconds, with modules of its own each time. Under
 * jest itself a mutant takes seconds, nearly all of them for starting up.
 */

const realSetTimeout = setTimeout;
const realClearTimeout = clearTimeout;
// A CommonJS module, whose default export is the function for jest's own globals.
const { bind } = createRequire(import.meta.url)('jest-each');

/** @typedef {{ name: string, fn: () => unknown, suite: Suite }} Test */
/** @typedef {{ name: string, parent: Suite | undefined, hooks: Record<'beforeAll' | 'afterAll' | 'beforeEach' | 'afterEach', (() => unknown)[]>, isOpen: boolean }} Suite */

/** A file of tests, compiled once. */
export class TestFile {
  #evaluate;

  constructor(/** @type {string} */ path) {
    this.path = path;
    const filename = resolve(path);
    const { outputFiles: [{ text }] } = buildSync({
      entryPoints: [filename], bundle: true, write: false, platform: 'node', format: 'cjs', target: 'node20', packages: 'external', logLevel: 'error',
    });
    const evaluate = new vm.Script(`(function (require, module, exports, __filename, __dirname) {${text}\n})`, { filename: `${filename}.cjs` }).runInThisContext();
    const require = createRequire(filename);
    this.#evaluate = () => evaluate(require, { exports: {} }, {}, filename, dirname(filename));
  }

  /** Evaluates it and everything that it imports from this repository. @returns {Test[]} */
  load() {
    const tests = [];
    const newSuite = (name, parent) => ({ name, parent, hooks: { beforeAll: [], afterAll: [], beforeEach: [], afterEach: [] }, isOpen: false });
    let suite = newSuite('', undefined);
    const describe = (name, define) => {
      suite = newSuite(suite.name ? `${suite.name} ${name}` : name, suite);
      define();
      suite = suite.parent;
    };
    const names = new Map();
    const test = (title, fn) => {
      const name = suite.name ? `${suite.name} ${title}` : title;
      const count = names.get(name) ?? 0;
      names.set(name, count + 1);
      tests.push({ name: count === 0 ? name : `${name} (${count + 1})`, fn, suite });
    };
    const define = (name, value) => { globalThis[name] = value; };
    define('describe', Object.assign(describe, { each: bind(describe, false) }));
    define('test', Object.assign(test, { each: bind(test, false) }));
    define('expect', expect);
    for (const hook of ['beforeAll', 'afterAll', 'beforeEach', 'afterEach']) define(hook, fn => suite.hooks[hook].push(fn));
    define('jest', jestFor());
    this.#evaluate();
    return tests;
  }
}

function jestFor() {
  const mocker = new ModuleMocker(globalThis);
  const timers = new ModernFakeTimers({ global: globalThis, config: { rootDir: process.cwd(), fakeTimers: {} } });
  return {
    fn: mocker.fn.bind(mocker),
    spyOn: mocker.spyOn.bind(mocker),
    useFakeTimers: options => timers.useFakeTimers(options),
    useRealTimers: () => timers.useRealTimers(),
    advanceTimersByTimeAsync: ms => timers.advanceTimersByTimeAsync(ms),
    getTimerCount: () => timers.getTimerCount(),
  };
}

const linesOf = suite => suite === undefined ? [] : [...linesOf(suite.parent), suite];

/**
 * Runs tests of one file in their order.
 *
 * @param {Test[]} tests
 * @param {{ limitMs: number, onStart: (test: Test) => void, onEnd: (test: Test, error: unknown, ms: number) => boolean }} by `onEnd` says whether to go on
 */
export async function runTests(tests, { limitMs, onStart, onEnd }) {
  const opened = [];
  try {
    for (const test of tests) {
      const start = performance.now();
      let error;
      try {
        const suites = linesOf(test.suite);
        for (const suite of suites.filter(({ isOpen }) => !isOpen)) {
          suite.isOpen = true;
          opened.push(suite);
          for (const hook of suite.hooks.beforeAll) await within(30_000, hook);
        }
        onStart(test);
        await within(limitMs, async () => {
          try {
            for (const suite of suites) for (const hook of suite.hooks.beforeEach) await hook();
            await test.fn();
          } finally {
            for (const suite of suites.reverse()) for (const hook of suite.hooks.afterEach) await hook();
          }
        });
      } catch (thrown) {
        error = thrown ?? new Error('Failed with nothing');
      }
      if (!onEnd(test, error, performance.now() - start)) return;
    }
  } finally {
    onStart(undefined);
    for (const suite of opened.reverse()) for (const hook of suite.hooks.afterAll) await within(10_000, hook).catch(() => undefined);
  }
}

async function within(ms, work) {
  let timer;
  const limit = new Promise((_, reject) => { timer = realSetTimeout(() => reject(new Error(`Not done within ${ms} ms`)), ms); });
  try {
    await Promise.race([Promise.resolve().then(work), limit]);
  } finally {
    realClearTimeout(timer);
  }
}
