// @ts-expect-error TS1479: jest translates this ES module
import * as jose from 'jose';
// @ts-expect-error TS1479: jest translates this ES module
import * as oauth2MockServer from 'oauth2-mock-server';
import { ProtectedApi } from '../../../demo/protected-api';
import { TokenServer, type OAuthClient } from '../../../demo/token-server';

/** The provider and its API, of the demo: a real OAuth server that gives tokens to one client, and an API that takes the newest one alone. */
export interface ThirdParty {
  readonly tokens: TokenServer;
  readonly api: ProtectedApi;
}

export async function startThirdParty(client: OAuthClient, tokenLifeMs: number): Promise<ThirdParty> {
  const tokens = await TokenServer.start({ latencyMs: 200, tokenLifeMs, client, load: async () => oauth2MockServer });
  return { tokens, api: await ProtectedApi.start(tokens, async () => jose) };
}
