import { relative } from 'node:path';
import { commonTokens, declareClassPlugin, PluginKind, tokens } from '@stryker-mutator/api/plugin';
import { runTests, TestFile } from './harness.mjs';

/** What the instrumented code shares with its runner. */
const shared = () => (globalThis.__stryker__ ??= {});

/**
 * Stryker's port to the tests: all of them in one process, quick ones first, until one fails.
 *
 * Each mutant gets freshly evaluated modules, so what runs when a module is loaded is tested, too.
 */
class InProcessRunner {
  static inject = tokens(commonTokens.options);
  #files;
  #limitMs;

  constructor({ inProcess: { files, testLimitMs } }) {
    this.#files = () => (this.loaded ??= files.map(path => new TestFile(path)));
    this.#limitMs = testLimitMs;
  }

  capabilities() {
    return { reloadEnvironment: true };
  }

  async dryRun() {
    const tests = [];
    Object.assign(shared(), { activeMutant: undefined, hitCount: undefined, currentTestId: undefined });
    await this.#run({
      onTest: (id, name, fileName, error, ms) => {
        const result = { id, name, fileName, timeSpentMs: Math.max(1, Math.round(ms)) };
        tests.push(error === undefined ? { ...result, status: 0 } : { ...result, status: 1, failureMessage: String(error?.stack ?? error) });
        return true;
      },
    });
    return { status: 'complete', tests, mutantCoverage: shared().mutantCoverage };
  }

  async mutantRun({ activeMutant, testFilter, hitLimit }) {
    Object.assign(shared(), { activeMutant: activeMutant.id, hitCount: hitLimit === undefined ? undefined : 0, hitLimit });
    let nrOfTests = 0;
    let failed;
    await this.#run({
      filter: testFilter && new Set(testFilter),
      onTest: (id, _name, _file, error) => {
        nrOfTests++;
        if (error !== undefined) failed = { id, error };
        return error === undefined;
      },
    });
    const { hitCount } = shared();
    if (hitCount !== undefined && hitCount > hitLimit) return { status: 'timeout', reason: `Hit limit reached (${hitCount}/${hitLimit})` };
    if (failed === undefined) return { status: 'survived', nrOfTests };
    return { status: 'killed', killedBy: [failed.id], failureMessage: String(failed.error?.stack ?? failed.error).slice(0, 500), nrOfTests };
  }

  async #run({ filter, onTest }) {
    let goesOn = true;
    for (const file of this.#files()) {
      const idOf = ({ name }) => `${relative(process.cwd(), file.path)} ${name}`;
      if (filter && ![...filter].some(id => id.startsWith(`${file.path} `))) continue;
      let tests;
      try {
        tests = file.load();
      } catch (error) {
        onTest(`${file.path} is loaded`, 'is loaded', file.path, error, 0);
        return;
      }
      await runTests(filter ? tests.filter(test => filter.has(idOf(test))) : tests, {
        limitMs: this.#limitMs,
        onStart: test => { shared().currentTestId = test && idOf(test); },
        onEnd: (test, error, ms) => goesOn = onTest(idOf(test), test.name, file.path, error, ms),
      });
      if (!goesOn) return;
    }
  }
}

export const strykerPlugins = [declareClassPlugin(PluginKind.TestRunner, 'in-process', InProcessRunner)];

export const strykerValidationSchema = {
  properties: {
    inProcess: {
      type: 'object',
      properties: { files: { type: 'array', items: { type: 'string' } }, testLimitMs: { type: 'number' } },
    },
  },
};
