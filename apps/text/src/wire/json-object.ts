import { parseJson } from '@gateway/contracts/json/json-depth';

/** A JSON object; nothing more is known about it. */
export type JsonObject = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The value where it is an object, else an empty one. */
export const objectOf = (value: unknown): JsonObject => (isObject(value) ? value : {});

/** The object that a text holds; null where it is not JSON, too deep, or JSON of another kind. */
export function parseObject(text: string): JsonObject | null {
  try {
    const value: unknown = parseJson(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

export const textAt = (object: JsonObject, name: string): string | null => {
  const value = object[name];
  return typeof value === 'string' ? value : null;
};

export const numberAt = (object: JsonObject, name: string): number | null => {
  const value = object[name];
  return typeof value === 'number' ? value : null;
};

export const objectAt = (object: JsonObject, name: string): JsonObject | null => {
  const value = object[name];
  return isObject(value) ? value : null;
};
