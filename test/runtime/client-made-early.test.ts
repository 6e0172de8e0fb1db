import { ENV } from '../../src/private/contract';
import { Instance } from '../support/instance';

/*
 * Making the SDK's client takes milliseconds of a function's first call, where it could be made while the function is loaded.
 */
const tableBefore = process.env[ENV.TABLE];
afterEach(() => {
  if (tableBefore === undefined) delete process.env[ENV.TABLE];
  else process.env[ENV.TABLE] = tableBefore;
});

function countingInstance(): { readonly instance: Instance; readonly stores: () => number } {
  let made = 0;
  const instance = new Instance(store => {
    made += 1;
    return store;
  });
  return { instance, stores: () => made };
}

test.each<[string, string | undefined, { readonly table?: string }]>([
  ['the option', undefined, { table: 'tokens' }],
  ['the environment', 'tokens', {}],
])('the client of a table named by %s is made with the token, and once for all tokens of that table', (_, variable, options) => {
  if (variable !== undefined) process.env[ENV.TABLE] = variable;
  const { instance, stores } = countingInstance();
  instance.token('crm', options);
  instance.token('erp', options);
  expect(stores()).toBe(1);
});

test('a token whose table is not known yet is made all the same; the table is looked for when a call needs it', async () => {
  delete process.env[ENV.TABLE];
  const { instance, stores } = countingInstance();
  const token = instance.token('crm');
  expect(stores()).toBe(0);
  await expect(token.get()).rejects.toMatchObject({ code: 'TABLE_NOT_CONFIGURED' });

  process.env[ENV.TABLE] = 'tokens';
  token.reject('some token');
  expect(stores()).toBe(1);
});

test('a client that cannot be made, as where a test has replaced the SDK, is an error of calls, and not before', async () => {
  const instance = new Instance(() => { throw new TypeError('the SDK is a mock'); });
  const token = instance.token('crm', { table: 'tokens' });
  await expect(token.get()).rejects.toThrow('the SDK is a mock');
});
