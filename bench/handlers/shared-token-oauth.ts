import { SharedToken } from 'cdk-shared-token-table/runtime';
import { clientCredentials } from 'cdk-shared-token-table/runtime/oauth';

const refresh = clientCredentials({ tokenUrl: 'https://auth.example.com/token', credentials: { secretArn: 'crm' } });
const crm = new SharedToken('crm', { refresh });

/** What `get` takes, in milliseconds, in a function that could refresh by itself. */
export const handler = async (): Promise<{ readonly firstCall: number }> => {
  const start = performance.now();
  await crm.get();
  return { firstCall: performance.now() - start };
};
