import { createPublicKey, generateKeyPairSync, sign } from 'node:crypto';

/** A certificate that is signed by itself. */
export interface Certificate {
  /** PEM. */
  readonly key: string;
  /** PEM. */
  readonly cert: string;
}

export interface CertificateOptions {
  /**
   * The IPv4 address of the server that it is for, beside the name localhost.
   *
   * @default 127.0.0.1
   */
  readonly address?: string;
  /** @default - in a day */
  readonly notAfter?: Date;
}

const DAY_MS = 86_400_000;

/** Node.js has no function for it, so this writes the few lines of ASN.1 (DER) that a certificate is made of: RFC 5280, section 4.1. */
export function selfSignedCertificate({ address = '127.0.0.1', notAfter = new Date(Date.now() + DAY_MS) }: CertificateOptions = {}): Certificate {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const publicKey = createPublicKey(privateKey).export({ type: 'spki', format: 'der' });
  const name = sequence(der(0x31, sequence(objectId('550403'), der(0x0c, Buffer.from('localhost'))))); // commonName
  const ecdsaWithSha256 = sequence(objectId('2a8648ce3d040302'));
  const certificate = sequence(
    der(0xa0, integer(2)), // version 3
    integer(1),
    ecdsaWithSha256,
    name,
    sequence(time(new Date(notAfter.getTime() - 2 * DAY_MS)), time(notAfter)),
    name,
    publicKey,
    der(0xa3, sequence(
      extension('551d13', sequence(der(0x01, Buffer.from([0xff])))), // basicConstraints: an authority, so that it may be trusted as one
      extension('551d11', sequence(der(0x82, Buffer.from('localhost')), der(0x87, Buffer.from(address.split('.').map(Number))))), // subjectAltName
    )),
  );
  const signature = sign('sha256', certificate, privateKey);
  const whole = sequence(certificate, ecdsaWithSha256, der(0x03, Buffer.concat([Buffer.of(0), signature])));
  const lines = whole.toString('base64').replace(/.{64}/g, '$&\n');
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
  };
}

function der(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, Math.floor(length / 0x100), length % 0x100];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return der(0x30, Buffer.concat(parts));
}

function integer(value: number): Buffer {
  return der(0x02, Buffer.of(value));
}

function objectId(hex: string): Buffer {
  return der(0x06, Buffer.from(hex, 'hex'));
}

/** GeneralizedTime. */
function time(date: Date): Buffer {
  return der(0x18, Buffer.from(`${date.toISOString().replace(/\D/g, '').slice(0, 14)}Z`));
}

function extension(id: string, value: Buffer): Buffer {
  return sequence(objectId(id), der(0x04, value));
}
