import { type CredentialSource, fieldOf, invalidField, optionalTextField, textField } from './credentials';
import {
  type ClientAuth, ClientSecretPost, type CryptoKey, importJWK, importPKCS8, type JWK, modifyAssertion, None, PrivateKeyJwt,
} from './libraries';
import type { CredentialFields } from './options';
import type { ClientAuthenticationMethod } from '../../src/private/source-settings';

type Authenticate = (fields: CredentialFields, source: CredentialSource) => ClientAuth | Promise<ClientAuth>;

/** How a client proves who it is, by the names that OAuth has registered. Each throws a RefreshError that names the field which is missing or wrong. */
const METHODS: Readonly<Record<ClientAuthenticationMethod, Authenticate>> = {
  client_secret_basic: (fields, source) => clientSecretBasic(textField(fields, 'clientSecret', source)),
  client_secret_post: (fields, source) => ClientSecretPost(textField(fields, 'clientSecret', source)),
  private_key_jwt: privateKeyJwt,
  none: () => None(),
};

export const CLIENT_AUTHENTICATION_METHODS = Object.keys(METHODS) as ClientAuthenticationMethod[];

/** @throws RefreshError a field is missing, or makes no key */
export async function clientAuthentication(
  method: ClientAuthenticationMethod, fields: CredentialFields, source: CredentialSource,
): Promise<ClientAuth> {
  return METHODS[method](fields, source);
}

/**
 * Both encoded as in a form (RFC 6749, section 2.3.1). The library's own method encodes `-`, `_` and `.`, too, as in many an id and secret; a form need not,
 * and many servers do not decode them.
 */
function clientSecretBasic(clientSecret: string): ClientAuth {
  const encoded = (text: string) => new URLSearchParams({ text }).toString().slice('text='.length);
  return (_server, client, _body, headers) => {
    headers.set('authorization', `Basic ${btoa(`${encoded(client.client_id)}:${encoded(clientSecret)}`)}`);
  };
}

/** What fits a key that names no algorithm: the first of these with which it can be imported. */
const COMMON_ALGORITHMS = ['RS256', 'ES256', 'ES384', 'ES512', 'EdDSA'];

async function privateKeyJwt(fields: CredentialFields, source: CredentialSource): Promise<ClientAuth> {
  const given = fieldOf(fields, 'privateKey') as string | JWK | undefined ?? textField(fields, 'privateKey', source);
  const jwk = jwkIn(given);
  const asked = optionalTextField(fields, 'algorithm', source) ?? jwk?.alg;
  const keyId = optionalTextField(fields, 'keyId', source) ?? jwk?.kid;
  for (const algorithm of asked === undefined ? COMMON_ALGORITHMS : [asked]) {
    try {
      // In the text of a JSON object, line breaks are easily escaped once too often.
      const key = await (jwk ? importJWK(jwk, algorithm) : importPKCS8(String(given).replaceAll('\\n', '\n'), algorithm)) as CryptoKey;
      if (!key.usages.includes('sign')) break;
      return PrivateKeyJwt(keyId === undefined ? key : { key, kid: keyId }, {
        [modifyAssertion]: header => { header.alg = algorithm; }, // as it was asked for: of two names for one (EdDSA, Ed25519) providers may know the older
      });
    } catch {
      // The next may fit. The libraries' errors are not passed on: they may show the key.
    }
  }
  throw invalidField('privateKey', source, `is no private key${asked === undefined ? '' : ' for the given algorithm'}: ` +
    'give a PKCS#8 key as PEM text ("-----BEGIN PRIVATE KEY-----"), not encrypted, or a JWK');
}

/** A JWK may stand in the secret as an object, or as the text of one. */
function jwkIn(given: string | JWK): JWK | undefined {
  if (typeof given === 'object') return given;
  try {
    return JSON.parse(given) as JWK;
  } catch {
    return undefined;
  }
}
