// @ts-expect-error TS1479: jest translates this ES module
import * as jose from 'jose';
// @ts-expect-error TS1479: jest translates this ES module
import * as oauth2MockServer from 'oauth2-mock-server';
import { ProtectedApi } from '../../demo/protected-api';
import { TokenServer, type OAuthClient } from '../../demo/token-server';

/** An auth call takes that long: long enough for all that notice at once to meet it. */
const LATENCY_MS = 200;

/** The provider and its API, of the demo: a real OAuth server that keeps one token alive and counts its calls, and an API that takes that token alone. */
export interface ThirdParty {
  readonly tokens: TokenServer;
  readonly api: ProtectedApi;
}

/** @param client the one that gets tokens; undefined: everybody does */
export async function startThirdParty(client: OAuthClient | undefined, tokenLifeMs: number): Promise<ThirdParty> {
  const tokens = await TokenServer.start({ latencyMs: LATENCY_MS, tokenLifeMs, client, load: async () => oauth2MockServer });
  return { tokens, api: await ProtectedApi.start(tokens, async () => jose) };
}
