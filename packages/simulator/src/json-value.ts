export type JsonObject = { readonly [name: string]: unknown };

const EMPTY: JsonObject = Object.freeze({});

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The value if it is a JSON object, else an empty one: for reading a request that has not been checked. */
export const asObject = (value: unknown): JsonObject => (isObject(value) ? value : EMPTY);

export const asList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

export const asText = (value: unknown): string => (typeof value === 'string' ? value : '');

export const asNumber = (value: unknown): number | null => (typeof value === 'number' ? value : null);

/** A member that is present: JSON `null` means absent in the OpenAI protocols. */
export const isGiven = (value: unknown): boolean => value !== undefined && value !== null;
