import { Provider, type ProviderOptions } from './provider';
import { RuntimeTable } from './runtime-table';

/** One table for a file of tests, and a token id of its own for each test. */
export function tablePerFile(): { readonly table: () => RuntimeTable; readonly tokenId: () => string } {
  let table: RuntimeTable | undefined;
  let count = 0;
  const started = () => {
    if (table === undefined) throw new Error('The table is not started yet');
    return table;
  };
  beforeAll(async () => { table = await RuntimeTable.start(); });
  afterAll(async () => table?.stop());
  beforeEach(() => {
    count++;
    started().reset();
  });
  return { table: started, tokenId: () => `token-${count}` };
}

/** A provider and the options of a token that asks it. */
export function providerWith(options: ProviderOptions = {}): { readonly provider: Provider; readonly options: { readonly refresh: Provider['refresh'] } } {
  const provider = new Provider(options);
  return { provider, options: { refresh: provider.refresh } };
}
