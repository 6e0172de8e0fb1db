import { randomUUID } from 'node:crypto';
import { refresherHandler } from 'cdk-shared-token-table/runtime/refresher';

/** A refresher that asks nobody: a token and a refresh token, so that there is something to keep from readers. */
export const handler = refresherHandler({
  refresh: async () => Promise.resolve({ accessToken: randomUUID(), expiresIn: 3_600, refreshToken: randomUUID() }),
});
