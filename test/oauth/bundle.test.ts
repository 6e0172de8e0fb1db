import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type BuildOptions, buildSync } from 'esbuild';
import { CLIENT, SENTINEL } from './asking';
import type { ClientCredentialsOptions } from '../../lambda-runtime/oauth';
import { type Certificate, selfSignedCertificate } from '../support/certificate';
import { outputOf, REPOSITORY, temporaryFolder } from '../support/command';
import { stopAfterEach } from '../support/stop-after-each';
import { json, WildServer } from '../support/wild-server';

/*
 * The sources as one file, in a folder where nothing is installed, and in a process of its own: Node.js reads NODE_EXTRA_CA_CERTS when it starts.
 */
const stopLater = stopAfterEach();
const folder = temporaryFolder('oauth');
beforeAll(() => {
  const options: BuildOptions = { bundle: true, platform: 'node', target: 'node20', logLevel: 'warning', external: ['../index', '@aws-sdk/*'] };
  const source = join(REPOSITORY, 'lambda-runtime');
  // Of the core, the errors: the rest needs the SDK.
  buildSync({ ...options, entryPoints: [join(source, 'errors.ts')], outfile: join(folder, 'index.js') });
  buildSync({ ...options, entryPoints: [join(source, 'oauth/index.ts')], outfile: join(folder, 'oauth/index.js') });
  writeFileSync(join(folder, 'ask.js'), `
    const { RefreshError } = require('./index');
    const { clientCredentials } = require('./oauth');
    clientCredentials(JSON.parse(process.argv[2]))({ tokenId: 'crm', signal: new AbortController().signal }).then(
      result => console.log(JSON.stringify(result)),
      error => console.log(JSON.stringify({ code: error.code, message: error.message, isOfTheCore: error instanceof RefreshError })),
    );`);
});

async function answerOf(options: ClientCredentialsOptions, trusted?: Certificate): Promise<unknown> {
  const authority = join(folder, 'authority.pem');
  if (trusted) writeFileSync(authority, trusted.cert);
  const env = trusted && { NODE_EXTRA_CA_CERTS: authority };
  const output = await outputOf(process.execPath, ['ask.js', JSON.stringify(options)], { cwd: folder, ...(env && { env }) });
  expect(output).not.toContain(SENTINEL);
  return JSON.parse(output);
}

describe('without the AWS SDK', () => {
  const tokenUrl = 'http://127.0.0.1:1/token';

  test.each([
    [{ secretArn: 'crm' }, '@aws-sdk/client-secrets-manager'],
    [{ parameterName: 'crm' }, '@aws-sdk/client-ssm'],
  ])('credentials in %j: the error names the package to install, and is of the core\'s class', async (credentials, packageName) => {
    expect(await answerOf({ tokenUrl, credentials }))
      .toEqual({ code: 'AWS_SDK_MISSING', message: expect.stringContaining(`the package ${packageName} `), isOfTheCore: true });
  });

  test('credentials that are elsewhere need no SDK', async () => {
    const server = stopLater(await WildServer.start(json({ access_token: 'the-token', token_type: 'Bearer', expires_in: 60 })));
    expect(await answerOf({ tokenUrl: server.url, credentials: CLIENT })).toEqual({ accessToken: 'the-token', expiresIn: 60 });
  });
});

describe('over https', () => {
  test('an authority that NODE_EXTRA_CA_CERTS names is trusted', async () => {
    const certificate = selfSignedCertificate();
    const server = stopLater(await WildServer.start(json({ access_token: 'the-token', token_type: 'Bearer', expires_in: 60 }), certificate));
    expect(await answerOf({ tokenUrl: server.url, credentials: CLIENT }, certificate)).toEqual({ accessToken: 'the-token', expiresIn: 60 });
  });

  test('a redirect to http is not followed, to the same host neither', async () => {
    const certificate = selfSignedCertificate();
    const plain = stopLater(await WildServer.start(json({ access_token: `${SENTINEL}-token`, token_type: 'Bearer' })));
    const server = stopLater(await WildServer.start(json({}, 307, { location: plain.url }), certificate));
    expect(await answerOf({ tokenUrl: server.url, credentials: CLIENT }, certificate))
      .toEqual({ code: 'REDIRECTED', message: expect.stringContaining(`a redirect to ${plain.origin}. `), isOfTheCore: true });
    expect(plain.requests).toEqual([]);
  });

  test('its certificate that has expired is not', async () => {
    const certificate = selfSignedCertificate({ notAfter: new Date(Date.now() - 86_400_000) });
    const server = stopLater(await WildServer.start(json({ access_token: `${SENTINEL}-token` }), certificate));
    expect(await answerOf({ tokenUrl: server.url, credentials: CLIENT }, certificate))
      .toEqual({ code: 'CERT_HAS_EXPIRED', message: expect.stringContaining('certificate is not trusted'), isOfTheCore: true });
    expect(server.requests).toEqual([]);
  });

  test('nor a certificate for another host', async () => {
    const certificate = selfSignedCertificate({ address: '192.0.2.1' });
    const server = stopLater(await WildServer.start(json({ access_token: `${SENTINEL}-token` }), certificate));
    expect(await answerOf({ tokenUrl: server.url, credentials: CLIENT }, certificate)).toMatchObject({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
  });
});
