import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as secretsmanager from 'aws-cdk-lib/aws-secretsmanager';
import { clientCredentials, httpRequest, refreshToken } from '../../lambda-runtime/oauth';
import { prebuiltRefresher } from '../../lambda-runtime/refresher/prebuilt-refresher';
import { TokenSource } from '../../src';
import { ENV } from '../../src/private/contract';
import { addCrm, SECRET_ARN, setUp } from '../construct/support/refreshers';
import { REPOSITORY } from '../support/command';

/*
 * Credentials are sent encrypted, or to this very machine: wherever a URL is taken, and by every way to write one. What happens on the wire (redirects, certificates)
 * is in test/oauth: misbehaving-endpoints.test.ts and bundle.test.ts.
 */
const CREDENTIALS = { clientId: 'orders', clientSecret: 'hush', refreshToken: 'hush' };

/** Everything that takes the URL of an endpoint: throws if it refuses. */
const TAKERS: Readonly<Record<string, (url: string) => unknown>> = {
  'TokenSource.clientCredentials': url => addCrmOf(credentials => TokenSource.clientCredentials({ tokenUrl: url, credentials })),
  'TokenSource.refreshToken': url => addCrmOf(credentials => TokenSource.refreshToken({ tokenUrl: url, credentials })),
  'TokenSource.httpRequest': url => addCrmOf(() => TokenSource.httpRequest({ url })),
  'clientCredentials': url => clientCredentials({ tokenUrl: url, credentials: CREDENTIALS }),
  'refreshToken': url => refreshToken({ tokenUrl: url, credentials: CREDENTIALS }),
  'httpRequest': url => httpRequest({ url }),
  // As a URL that a stack does not know until it is deployed gets there.
  'the prebuilt refresher of client credentials': url => prebuilt({ kind: 'client_credentials', tokenUrl: url, credentials: { secretArn: SECRET_ARN } }),
  'the prebuilt refresher of a refresh token': url => prebuilt({ kind: 'refresh_token', tokenUrl: url, credentials: { secretArn: SECRET_ARN } }),
  'the prebuilt refresher of a request': url => prebuilt({ kind: 'http_request', url }),
};

function addCrmOf(makeSource: (credentials: secretsmanager.ISecret) => TokenSource): unknown {
  const setup = setUp();
  return addCrm(setup, { source: makeSource(secretsmanager.Secret.fromSecretCompleteArn(setup.stack, 'Secret', SECRET_ARN)) });
}

function prebuilt(settings: object): unknown {
  return prebuiltRefresher({ [ENV.TOKEN_ID]: 'crm', [ENV.TABLE]: 'tokens', [ENV.SOURCE]: JSON.stringify(settings) });
}

const TAKEN = [
  'https://auth.example.com/token', 'HTTPS://AUTH.EXAMPLE.COM/token', 'https://auth.example.com:8443/', 'https://10.0.0.1/token',
  'http://localhost:3000/token', 'HTTP://LOCALHOST/token', 'http://127.0.0.1/token', 'http://[::1]:3000/token',
  // Other ways to write 127.0.0.1, which the platform reads as such.
  'http://127.1/token', 'http://0x7f000001/token',
];

const REFUSED = [
  'http://auth.example.com/token', 'HTTP://AUTH.EXAMPLE.COM/token', 'http:auth.example.com/token', 'http:\\\\auth.example.com\\token', ' http://auth.example.com/token',
  'http://auth.example.com:443/token', 'http://10.0.0.1/token', 'http://169.254.169.254/latest/meta-data', 'http://0.0.0.0/token', 'http://127.0.0.2/token',
  'http://[::ffff:127.0.0.1]/token', 'http://[fe80::1]/token', 'http://localhost./token', 'http://localhost.example.com/token', 'http://localhost%2eexample.com/token',
  'http://127.0.0.1.example.com/token', 'http://localhost@auth.example.com/token', 'http://auth.example.com/#@localhost', 'http://auth.example.com?@localhost',
  'ws://localhost/token', 'wss://auth.example.com/token', 'ftp://localhost/token', 'file:///etc/passwd', 'data:application/json,{}', 'blob:https://auth.example.com/token',
  'javascript:0', '//auth.example.com/token', 'auth.example.com/token', 'localhost:3000/token', '',
];

describe.each(Object.entries(TAKERS))('%s', (_name, take) => {
  test.each(TAKEN)('takes %j', url => {
    expect(() => take(url)).not.toThrow();
  });

  test.each(REFUSED)('refuses %j', url => {
    expect(() => take(url)).toThrow(/\bhttps\b.*\(http (only for|on) localhost, 127\.0\.0\.1 (and|or) \[::1\]\)/);
  });
});

describe('nobody can turn the check of certificates off by an option:', () => {
  const SWITCHES = ['rejectUnauthorized', 'insecure', 'agent', 'dispatcher', 'httpsAgent', 'fetch', 'customFetch', 'allowInsecureRequests', 'redirect', 'ca', 'checkServerIdentity'];
  const FACTORIES: Readonly<Record<string, (more: object) => unknown>> = {
    clientCredentials: more => clientCredentials({ tokenUrl: 'https://auth.example.com/token', credentials: CREDENTIALS, ...more }),
    refreshToken: more => refreshToken({ tokenUrl: 'https://auth.example.com/token', credentials: CREDENTIALS, ...more }),
    httpRequest: more => httpRequest({ url: 'https://auth.example.com/token', ...more }),
  };

  test.each(Object.entries(FACTORIES))('%s knows none', (name, make) => {
    expect(() => make({})).not.toThrow();
    for (const option of SWITCHES) expect(() => make({ [option]: false })).toThrow(`${name}: there is no option "${option}".`);
  });

  test('neither does a stack', () => {
    for (const option of SWITCHES) {
      const { stack, tokens } = setUp();
      const more = { [option]: false };
      const source = (withMore: object = {}) => TokenSource.httpRequest({ url: 'https://auth.example.com/token', ...withMore });
      expect(() => addCrm({ stack, tokens }, { source: source(), ...more })).toThrow(`no such option of a refresher. Got '${option}'`);
      expect(() => addCrm(setUp(), { source: source(more) })).toThrow(`no such option of this source. Got '${option}'`);
    }
  });

  test('no file of the library names one of Node.js\'', () => {
    const named = sources('src', 'lambda-runtime').filter(({ text }) => /rejectUnauthorized|TLS_REJECT|checkServerIdentity|setDefaultCACertificates|secureContext/.test(text));
    expect(named.map(({ path }) => path)).toEqual([]);
  });
});

test('one file asks providers, so that what holds for it holds for all', () => {
  const asking = sources('lambda-runtime').filter(({ text }) => /^(?!\s*(\*|\/\/)).*(\bfetch\(|'(node:)?(https?|http2|net|tls)')/m.test(text));
  expect(asking.map(({ path }) => path)).toEqual(['lambda-runtime/oauth/exchange.ts']);
});

function sources(...folders: readonly string[]): { readonly path: string; readonly text: string }[] {
  return folders.flatMap(folder => readdirSync(join(REPOSITORY, folder), { recursive: true, encoding: 'utf8' }).filter(name => name.endsWith('.ts'))
    .map(name => ({ path: join(folder, name), text: readFileSync(join(REPOSITORY, folder, name), 'utf8') })));
}
