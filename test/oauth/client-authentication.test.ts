import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { ask, CLIENT, failureFrom, SENTINEL } from './asking';
import { clientCredentials, type ClientCredentialsOptions, type CredentialFields, refreshToken } from '../../lambda-runtime/oauth';
import { exportJWK, generateKeyPair, importJWK, type JWK, jwtVerify } from '../support/jose';
import { OAuthServer } from '../support/oauth-server';

let server: OAuthServer;
beforeAll(async () => { server = await OAuthServer.start(); });
afterAll(async () => server.stop());
beforeEach(() => server.requests.splice(0));

type Method = ClientCredentialsOptions['clientAuthentication'];
const sourceWith = (clientAuthentication: Method, credentials: CredentialFields) =>
  clientCredentials({ tokenUrl: server.tokenUrl, credentials, ...(clientAuthentication && { clientAuthentication }) });

const AWKWARD = 'a-b_c.d*e f+g/h=i:j%k&l~mü';

describe('client_secret_basic, the default', () => {
  test('sends id and secret in a header, and not in the form', async () => {
    await ask(sourceWith(undefined, CLIENT));
    const { headers, form } = server.last;
    expect(Buffer.from(headers.authorization!.replace('Basic ', ''), 'base64').toString()).toBe(`my-client:${SENTINEL}-client-secret`);
    expect(form).toEqual({ grant_type: 'client_credentials' });
  });

  test('encodes them as in a form: what a form leaves alone stays, since many servers do not decode it', async () => {
    await ask(sourceWith('client_secret_basic', { clientId: AWKWARD, clientSecret: AWKWARD }));
    const [id, secret] = Buffer.from(server.last.headers.authorization!.replace('Basic ', ''), 'base64').toString().split(':');
    expect(id).toBe('a-b_c.d*e+f%2Bg%2Fh%3Di%3Aj%25k%26l%7Em%C3%BC');
    expect(new URLSearchParams(`x=${secret}`).get('x')).toBe(AWKWARD);
  });
});

test('client_secret_post sends id and secret in the form, and no header', async () => {
  await ask(sourceWith('client_secret_post', { clientId: AWKWARD, clientSecret: AWKWARD }));
  const { headers, form } = server.last;
  expect(form).toEqual({ grant_type: 'client_credentials', client_id: AWKWARD, client_secret: AWKWARD });
  expect(headers.authorization).toBeUndefined();
});

test('none sends the id alone, though the secret has a client secret', async () => {
  await ask(sourceWith('none', CLIENT));
  const { headers, form } = server.last;
  expect(form).toEqual({ grant_type: 'client_credentials', client_id: 'my-client' });
  expect(headers.authorization).toBeUndefined();
});

test('fields may be spelled with underscores, and an id may be a number', async () => {
  await ask(sourceWith('client_secret_post', { client_id: 1234, client_secret: 'a' }));
  expect(server.last.form).toMatchObject({ client_id: '1234', client_secret: 'a' });
});

test('where both spellings are there, an empty one does not count', async () => {
  await ask(sourceWith('client_secret_post', { ...CLIENT, clientId: '', client_id: 'other' }));
  expect(server.last.form).toMatchObject({ client_id: 'other' });
});

describe('private_key_jwt', () => {
  const pem = (key: KeyObject) => key.export({ type: 'pkcs8', format: 'pem' }) as string;
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
  const p256 = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
  const jwkOf = (key: KeyObject) => key.export({ format: 'jwk' }) as JWK;

  /** What the server checks: the signature with the public key, and the claims of RFC 7523. */
  const assertionBy = async (key: KeyObject, fields: CredentialFields) => {
    const before = Math.floor(Date.now() / 1_000);
    await ask(sourceWith('private_key_jwt', { clientId: 'my-client', ...fields }));
    const { form, headers } = server.last;
    expect(headers.authorization).toBeUndefined();
    expect(form).toMatchObject({ client_id: 'my-client', client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer' });
    expect(form).not.toHaveProperty('client_secret');
    const { d, p, q, dp, dq, qi, ...publicJwk } = jwkOf(key);
    const publicKey = await importJWK(publicJwk, protectedHeaderOf(form.client_assertion!).alg);
    const { payload, protectedHeader } = await jwtVerify(form.client_assertion!, publicKey, {
      issuer: 'my-client', subject: 'my-client', audience: server.tokenUrl, requiredClaims: ['exp', 'iat', 'jti'],
    });
    expect(payload.iat).toBeGreaterThanOrEqual(before);
    expect(payload.exp! - payload.iat!).toBe(60);
    return { payload, protectedHeader };
  };
  const protectedHeaderOf = (jwt: string) => JSON.parse(Buffer.from(jwt.split('.')[0]!, 'base64url').toString()) as { readonly alg: string };

  test.each<[string, KeyObject]>([
    ['RS256', rsa],
    ['ES256', p256],
    ['ES384', generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey],
    ['ES512', generateKeyPairSync('ec', { namedCurve: 'P-521' }).privateKey],
    ['EdDSA', generateKeyPairSync('ed25519').privateKey],
  ])('signs with what fits the key: %s, as PEM or JWK', async (alg, key) => {
    expect((await assertionBy(key, { privateKey: pem(key) })).protectedHeader).toEqual({ alg });
    expect((await assertionBy(key, { privateKey: jwkOf(key) })).protectedHeader).toEqual({ alg });
  });

  test('each assertion has an id of its own', async () => {
    const first = await assertionBy(p256, { privateKey: pem(p256) });
    const second = await assertionBy(p256, { privateKey: pem(p256) });
    expect(first.payload.jti).not.toBe(second.payload.jti);
  });

  test('names the key and the algorithm that are given', async () => {
    const { protectedHeader } = await assertionBy(rsa, { privateKey: pem(rsa), keyId: 'key-1', algorithm: 'PS256' });
    expect(protectedHeader).toEqual({ alg: 'PS256', kid: 'key-1' });
  });

  test('or those of the JWK', async () => {
    const { protectedHeader } = await assertionBy(rsa, { private_key: { ...jwkOf(rsa), alg: 'RS512', kid: 'key-2' } });
    expect(protectedHeader).toEqual({ alg: 'RS512', kid: 'key-2' });
  });

  test('fields count before those of the JWK', async () => {
    const { protectedHeader } = await assertionBy(rsa, { privateKey: { ...jwkOf(rsa), alg: 'RS512', kid: 'key-2' }, key_id: 'key-3', algorithm: 'RS384' });
    expect(protectedHeader).toEqual({ alg: 'RS384', kid: 'key-3' });
  });

  test.each<[string, string]>([
    ['line breaks escaped twice', pem(p256).replaceAll('\n', '\\n')],
    ['line breaks lost', pem(p256).replaceAll('\n', ' ')],
    ['a JWK as text', JSON.stringify(jwkOf(p256))],
  ])('reads a key with %s', async (_, privateKey) => {
    expect((await assertionBy(p256, { privateKey })).protectedHeader).toEqual({ alg: 'ES256' });
  });

  test('works for the refresh token grant, too', async () => {
    const refresh = refreshToken({
      tokenUrl: server.tokenUrl,
      clientAuthentication: 'private_key_jwt',
      credentials: { clientId: 'my-client', privateKey: pem(p256), refreshToken: 'a' },
    });
    await ask(refresh);
    expect(server.last.form).toMatchObject({ grant_type: 'refresh_token', client_assertion: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/) });
  });

  const publicKeyOf = (key: KeyObject) => {
    const { kty, crv, x, y } = jwkOf(key);
    return { kty, crv, x, y };
  };
  test.each<readonly [string, unknown, string | undefined]>(([
    ['text', `${SENTINEL} no key`],
    ['an empty JWK', {}],
    ['a public key', publicKeyOf(p256)],
    ['a secret key', { kty: 'oct', k: SENTINEL, alg: 'HS256' }],
    ['an array', [SENTINEL]],
    ['a number', 12],
    ['a PEM of something else', `-----BEGIN CERTIFICATE-----\n${SENTINEL}\n-----END CERTIFICATE-----\n`],
    ['an encrypted key', p256.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: SENTINEL })],
    ['a key in the older format (SEC 1)', p256.export({ type: 'sec1', format: 'pem' })],
    ['a key for another algorithm', pem(p256), 'RS256'],
    ['an unknown algorithm', pem(p256), `${SENTINEL}256`],
    ['a key that encrypts', pem(rsa), 'RSA-OAEP'],
    ['a short RSA key', pem(generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey)],
  ] as [string, unknown, string?][]).map(([what, key, algorithm]) => [what, key, algorithm]))('refuses %s as the private key', async (what, privateKey, algorithm) => {
    const error = await failureFrom(sourceWith('private_key_jwt', { clientId: 'my-client', privateKey: privateKey as string, algorithm }));
    expect(error).toMatchObject({ code: 'SECRET_FIELD_INVALID', message: expect.stringMatching(what === 'a short RSA key' ? /2,048 bits/ : /"privateKey" of the option credentials is no private key.*PKCS#8/) });
    expect(String(error.stack)).not.toContain(createPrivateKey(p256.export({ type: 'pkcs8', format: 'pem' })).export({ format: 'jwk' }).d);
    expect(server.requests).toEqual([]);
  });

  test('a key that jose has made works as well', async () => {
    const { privateKey } = await generateKeyPair('ES256', { extractable: true });
    const jwk = await exportJWK(privateKey);
    await ask(sourceWith('private_key_jwt', { clientId: 'my-client', privateKey: jwk }));
    expect(server.requests).toHaveLength(1);
  });
});

describe('a field that is missing', () => {
  test.each<[Method, CredentialFields, string]>([
    ['client_secret_basic', { clientSecret: SENTINEL }, 'clientId'],
    ['client_secret_basic', { clientId: 'a' }, 'clientSecret'],
    ['client_secret_basic', { clientId: 'a', clientSecret: '' }, 'clientSecret'],
    ['client_secret_post', { clientId: 'a', privateKey: SENTINEL }, 'clientSecret'],
    ['private_key_jwt', { clientId: 'a', clientSecret: SENTINEL }, 'privateKey'],
    ['none', { clientSecret: SENTINEL }, 'clientId'],
  ])('%s with %j: the error names %s', async (method, credentials, field) => {
    const error = await failureFrom(sourceWith(method, credentials));
    expect(error).toMatchObject({ code: 'SECRET_FIELD_MISSING', message: `The option credentials lacks the field "${field}": add it.` });
    expect(server.requests).toEqual([]);
  });

  test.each([[{ clientId: [SENTINEL], clientSecret: 'a' }], [{ clientId: 'a', clientSecret: { value: SENTINEL } }]])('one that is no text: %j', async credentials => {
    expect(await failureFrom(sourceWith('client_secret_post', credentials as unknown as CredentialFields)))
      .toMatchObject({ code: 'SECRET_FIELD_INVALID', message: expect.stringMatching(/"client(Id|Secret)".*must be text/) });
  });

  test('one that an object has by nature counts as missing', async () => {
    const credentials = Object.create({ clientId: 'inherited' }) as CredentialFields;
    expect(await failureFrom(sourceWith('none', credentials))).toMatchObject({ code: 'SECRET_FIELD_MISSING' });
  });
});
