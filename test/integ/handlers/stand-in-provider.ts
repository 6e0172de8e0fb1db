import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { clientOf, json, type HttpAnswer, type HttpEvent, parametersOf, tokenOf } from './http-event';
import type { ServerState, Statistics } from './server-state';
import { UNAVAILABLE_SCOPE } from '../stacks/contract';

/** What a test has the server do. Only who may invoke the function can: over HTTP there is no such thing. */
export interface ControlEvent {
  /** `revoke`: from now on the API refuses the newest token of that scope. Both answer with the statistics. */
  readonly control: 'revoke' | 'statistics';
  readonly scope: string;
}

interface Client {
  readonly clientId: string;
  readonly clientSecret: string;
}

/** How long an auth call takes: long enough for all that notice at once to meet it. */
const LATENCY_MS = 300;
/** None of them expires in a test: what ends a token is a revocation. */
const TOKEN_LIFE_S = 3_600;

/**
 * The stand-in for a provider: a token endpoint (client credentials, RFC 6749) and an API that wants the token. It counts every auth call, and of each scope it
 * keeps one token alive: with a new one, the one before is dead.
 */
export class StandInProvider {
  private readonly secrets = new SecretsManagerClient({});
  private knownClient: Promise<Client> | undefined;

  /** @param secretId of the one client that gets tokens; it reads the same secret */
  constructor(private readonly state: ServerState, private readonly secretId: string) {}

  /** Does what an event of its URL asks for, or a test. */
  readonly handle = async (event: HttpEvent | ControlEvent): Promise<HttpAnswer | Statistics> =>
    'control' in event ? this.control(event) : this.answer(event);

  /** Answers a request to its URL. */
  async answer(event: HttpEvent): Promise<HttpAnswer> {
    const request = `${event.requestContext.http.method} ${event.rawPath}`;
    if (request === 'POST /token') return this.issue(event);
    if (request === 'GET /api') return this.serve(event);
    return json(404, { error: 'not_found' });
  }

  private async control({ control, scope }: ControlEvent): Promise<Statistics> {
    if (control === 'revoke') await this.state.revoke(scope);
    return this.state.statistics(scope);
  }

  private async issue(event: HttpEvent): Promise<HttpAnswer> {
    const parameters = parametersOf(event);
    const scope = parameters.get('scope') ?? '';
    await this.state.countAuthCall(scope);
    await sleep(LATENCY_MS);
    if (!await this.isOurs(event, parameters)) return json(401, { error: 'invalid_client' });
    if (parameters.get('grant_type') !== 'client_credentials') return json(400, { error: 'unsupported_grant_type' });
    if (scope === '' || scope === UNAVAILABLE_SCOPE) return json(400, { error: 'invalid_scope' });
    const token = `${scope}.${randomUUID()}`;
    await this.state.accept(scope, token);
    return json(200, { access_token: token, token_type: 'Bearer', expires_in: TOKEN_LIFE_S, scope });
  }

  private async serve(event: HttpEvent): Promise<HttpAnswer> {
    const token = tokenOf(event) ?? '';
    const isLive = token !== '' && token === await this.state.liveToken(token.split('.')[0] ?? '');
    return isLive ? json(200, { served: true }) : json(401, { error: 'invalid_token' });
  }

  private async isOurs(event: HttpEvent, parameters: URLSearchParams): Promise<boolean> {
    this.knownClient ??= this.readClient();
    const known = await this.knownClient;
    const client = clientOf(event, parameters);
    return client.id === known.clientId && client.secret === known.clientSecret;
  }

  private async readClient(): Promise<Client> {
    const { SecretString = '{}' } = await this.secrets.send(new GetSecretValueCommand({ SecretId: this.secretId }));
    return JSON.parse(SecretString) as Client;
  }
}
