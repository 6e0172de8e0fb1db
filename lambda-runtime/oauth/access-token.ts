/** White space of any kind, and what no header may have. */
const UNFIT = /[\s\u0000-\u001F\u007F]/;

/** The token of an answer as it goes into a header: without the white space around it, which servers add; undefined where there is none, or white space in it. */
export function accessTokenIn(value: unknown): string | undefined {
  const text = typeof value === 'string' ? value.trim() : '';
  return text === '' || UNFIT.test(text) ? undefined : text;
}
