/** A JSON object of which nothing is known yet. */
export type JsonObject = Readonly<Record<string, unknown>>;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The JSON object that `text` holds, or an empty one where it holds anything else: whoever answers the request complains, not who looks at it. */
export function parseJsonObject(text: Buffer | string): JsonObject {
  try {
    const value: unknown = JSON.parse(text.toString());
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}

/** The objects in a JSON array; none where `value` is no array. */
export function jsonObjects(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}
