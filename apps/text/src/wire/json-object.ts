import { parseJson } from '@gateway/contracts/json/json-depth';
import { isObject, type JsonObject, jsonIn } from '@gateway/contracts/json/json-object';

export { isObject, type JsonObject };

/** The value where it is an object, else an empty one. */
export const objectOf = (value: unknown): JsonObject => (isObject(value) ? value : {});

/** The object that a text holds; null where it is not JSON, too deep, or JSON of another kind. */
export function parseObject(text: string): JsonObject | null {
  const value = jsonIn(text, parseJson);
  return isObject(value) ? value : null;
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
