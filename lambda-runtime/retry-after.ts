const A_NUMBER = /^\d+(\.\d+)?$/;
/** `Date.parse` alone finds a year in many a text. */
const A_DATE = /^([A-Z][a-z]{2,8}, \d{2}[ -][A-Z][a-z]{2}[ -]\d{2,4} \d{2}:\d{2}:\d{2} GMT|\d{4}-\d{2}-\d{2}T[\d:.]+Z)$/;

/** `Retry-After` as seconds, HTTP date or `Date`; 0 where it makes no sense. */
export function parseRetryAfter(value: unknown, now: number): number {
  const text = typeof value === 'string' ? value.trim() : '';
  const ms = typeof value === 'number' ? value * 1_000
    : value instanceof Date ? value.getTime() - now
      : A_NUMBER.test(text) ? Number(text) * 1_000
        : A_DATE.test(text) ? Date.parse(text) - now : 0;
  return ms > 0 && Number.isFinite(ms) ? ms : 0;
}
