import type { JsonObject } from '../../wire/json-object.ts';

/** What models are told of a tool whose schema only its vendor's models know, and whose calls the caller's program runs. */
export interface KnownTool {
  readonly description: string;
  readonly parameters: JsonObject;
}

export const TEXT = { type: 'string' };
export const NUMBER = { type: 'number' };
export const INTEGER = { type: 'integer' };
export const FLAG = { type: 'boolean' };
export const TEXTS = { type: 'array', items: TEXT };

export const oneOf = (...values: readonly string[]): JsonObject => ({ type: 'string', enum: values });

export const about = (schema: JsonObject, description: string): JsonObject => ({ ...schema, description });

/** @param required the names of those that must be there */
export const parameters = (
  properties: Readonly<Record<string, JsonObject>>,
  required: readonly string[] = [],
): JsonObject => ({ type: 'object', properties, ...(required.length > 0 && { required }) });
