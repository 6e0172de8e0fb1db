import { parseOptions, UsageError } from '../../simulation/options';

test('20,000 runs from seed 1 on, if nothing else is asked for', () => {
  expect(parseOptions([])).toEqual({
    runs: 20_000,
    firstSeed: 1,
    seed: undefined,
    instances: undefined,
    exhaustive: false,
    budget: false,
    strategies: false,
    refresher: false,
    json: false,
    trace: false,
    help: false,
  });
});

test('the budget alone, or ways to wait compared', () => {
  expect(parseOptions(['--budget', '--json'])).toMatchObject({ budget: true, strategies: false, json: true });
  expect(parseOptions(['--budget', '--strategies'])).toMatchObject({ budget: true, strategies: true });
});

test('a seed alone is one run', () => {
  expect(parseOptions(['--seed', '7'])).toMatchObject({ runs: 1, firstSeed: 7, seed: 7 });
});

test.each([
  [['--sead', '7'], '--sead'],
  [['--runs', '0'], '--runs must be a whole number from 1'],
  [['--runs', '1e3'], 'not "1e3"'],
  [['--runs'], '--runs'],
  [['--seed', '-1'], '--seed'],
  [['--instances', '51'], '--instances must be a whole number from 1 to 50'],
  [['--first-seed', '2147483647', '--runs', '2'], 'beyond the last seed'],
  [['--exhaustive', '--seed', '1'], 'exclude each other'],
  [['--seed', '1', '--runs', '2'], 'exclude each other'],
  [['--budget', '--runs', '2'], 'exclude each other'],
  [['--budget', '--exhaustive'], 'exclude each other'],
  [['--strategies'], '--strategies is an option of --budget'],
  [['--refresher'], '--refresher is an option of --budget'],
  [['--budget', '--refresher', '--strategies'], 'exclude each other'],
  [['more'], 'more'],
])('%j is refused with a message', (args, message) => {
  expect(() => parseOptions(args)).toThrow(UsageError);
  expect(() => parseOptions(args)).toThrow(message);
});
