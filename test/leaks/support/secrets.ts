import { inspect } from 'node:util';

/** What must be seen nowhere; each as long as a real one, so that no other text looks like it. */
export const SECRETS = {
  accessToken: 'sentinelAccessTokenQ7mZ2vK9xT4bN8sR3wY6',
  nextAccessToken: 'sentinelNextAccessTokenH5jD1fL0pG7cV2kX9',
  refreshToken: 'sentinelRefreshTokenE8uA4iO6yP1zM3qW5n',
  clientSecret: 'sentinelClientSecretT2rB9hC7dJ5gF3lS8v',
} as const;

/** As they are, and as they travel: in hexadecimal digits, and in base64 at any offset, as in `Basic` and in JWTs. */
const SPELLINGS = Object.entries(SECRETS).flatMap(([name, secret]) => {
  const base64 = ['', 'x', 'xx'].map(before => Buffer.from(before + secret).toString('base64').slice(4, -4));
  return [secret, Buffer.from(secret).toString('hex'), ...base64, ...base64.map(text => text.replace(/\+/g, '-').replace(/\//g, '_'))]
    .map(spelling => [name, spelling] as const);
});

/** Which secrets a text shows. */
export function secretsIn(text: string): string[] {
  return [...new Set(SPELLINGS.filter(([, spelling]) => text.includes(spelling)).map(([name]) => name))];
}

/** All that a program can print of a thing without asking for one field of it. */
export function printed(thing: unknown): string {
  const parts = [
    inspect(thing), // as `console` does
    inspect(thing, { depth: Infinity, showHidden: true, getters: true, maxStringLength: Infinity, maxArrayLength: Infinity }),
    JSON.stringify(thing) ?? '',
    JSON.stringify(thing, Object.getOwnPropertyNames(Object(thing))) ?? '',
    String(thing),
  ];
  if (thing instanceof Error) parts.push(thing.message, String(thing.stack), JSON.stringify({ ...thing }));
  return parts.join('\n');
}

/** Everything that this process writes while `act` runs: standard output, standard error, warnings. */
export async function written<T>(act: () => Promise<T> | T): Promise<{ readonly text: string; readonly result: T }> {
  let text = '';
  const note = (chunk: unknown) => {
    text += String(chunk);
    return true;
  };
  const spies = [
    jest.spyOn(process.stdout, 'write').mockImplementation(note),
    jest.spyOn(process.stderr, 'write').mockImplementation(note),
    ...(['log', 'info', 'warn', 'error', 'debug'] as const).map(level => jest.spyOn(console, level).mockImplementation((...args) => { note(args.map(printed).join(' ')); })),
  ];
  const onWarning = (warning: Error) => note(printed(warning));
  process.on('warning', onWarning);
  try {
    return { result: await act(), text };
  } finally {
    process.off('warning', onWarning);
    for (const spy of spies) spy.mockRestore();
  }
}
