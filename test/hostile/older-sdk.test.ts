import { Instance } from '../support/instance';
import { tablePerFile } from '../support/per-test';

/*
 * Until the end of 2024 the SDK's option `wrapNumbers` was a flag: what is given for a function wraps every number, and no item would have one any more.
 */
jest.mock('@aws-sdk/util-dynamodb', () => {
  type Module = { readonly unmarshall: (data: unknown, options?: { readonly wrapNumbers?: unknown }) => unknown };
  const now = jest.requireActual<Module>('@aws-sdk/util-dynamodb');
  const flagged = (options: object) => 'wrapNumbers' in options ? { ...options, wrapNumbers: Boolean(options.wrapNumbers) } : options;
  return { ...now, unmarshall: (data: unknown, options = {}) => now.unmarshall(data, flagged(options)) };
});

const { table } = tablePerFile();

test('with an SDK that takes no function for numbers, tokens are fetched, stored and read', async () => {
  const refresh = async () => ({ accessToken: 'fetched-token', expiresIn: 3_600 });
  expect(await new Instance().token('crm', { refresh }).get()).toBe('fetched-token');
  expect(await new Instance().token('crm').get()).toBe('fetched-token');
  expect(await new Instance().token('crm', { refresh }).refresh()).toBe(false); // it was issued just now
  expect(await table().item('crm')).toMatchObject({ accessToken: 'fetched-token', generation: 1 });
});
