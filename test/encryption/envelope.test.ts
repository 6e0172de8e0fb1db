import fc from 'fast-check';
import { encryptedKeyOf, open, seal } from '../../lambda-runtime/encryption/envelope';

const KEY = { plain: Buffer.alloc(32, 7), encrypted: Buffer.alloc(184, 9) };
const nonce = fc.uint8Array({ minLength: 12, maxLength: 12 });

test('whatever is sealed is opened as it was, and by its own attribute alone', () => {
  fc.assert(fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), nonce, (text, once) => {
    const envelope = seal('accessToken', text, KEY, once);
    expect(open('accessToken', envelope, KEY)).toBe(text);
    expect(() => open('refreshToken', envelope, KEY)).toThrow();
    expect(() => open('accessToken', envelope, { ...KEY, plain: Buffer.alloc(32, 8) })).toThrow();
  }));
});

test('no change to what was encrypted goes unnoticed', () => {
  const sealed = seal('accessToken', 'a token', KEY, Buffer.alloc(12, 1));
  const start = 3 + KEY.encrypted.length;
  fc.assert(fc.property(fc.integer({ min: start, max: sealed.length - 1 }), fc.integer({ min: 1, max: 255 }), (at, change) => {
    const changed = Buffer.from(sealed);
    changed.writeUInt8((changed.readUInt8(at) + change) % 256, at);
    expect(() => open('accessToken', changed, KEY)).toThrow();
  }));
});

test('any bytes either hold an encrypted key of the length that they say, or none', () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 300 }), envelope => {
    const key = encryptedKeyOf(envelope);
    if (key === undefined) return;
    expect(key).toHaveLength(Buffer.from(envelope).readUInt16BE(1));
    expect(envelope.length).toBeGreaterThanOrEqual(3 + key.length + 12 + 16);
  }), { examples: [[new Uint8Array()], [new Uint8Array([1])], [new Uint8Array([1, 0, 0, ...Array<number>(28).fill(0)])]] });
});
