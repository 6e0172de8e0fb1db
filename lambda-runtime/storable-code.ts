/** A code, never a provider's text, nor what looks like a credential: it is stored, and read by people. 1 to 40 letters, digits (three at most), `_`, `.` and `-`. */
export function isStorableCode(value: unknown): value is string {
  return typeof value === 'string' && /^[\w.-]{1,40}$/.test(value) && value.replace(/\D/g, '').length <= 3;
}

/** In place of one that is not. */
export const UNKNOWN_CODE = 'refresh_failed';
