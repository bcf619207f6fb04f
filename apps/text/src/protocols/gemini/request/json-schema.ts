import type { JsonObject } from '../../../wire/json-object.ts';
import { isJsonObject } from '../../../wire/raw-json.ts';

/** Members of Google's schemas that JSON Schema does not have; the order of members is the one in which they are written. */
const GOOGLES: ReadonlySet<string> = new Set([
  'nullable',
  'propertyOrdering',
  'property_ordering',
  'example',
]);

/** Members of a schema that are schemas, lists of them, or have one for each name. */
const ONE: ReadonlySet<string> = new Set(['items', 'additionalProperties']);
const MANY: ReadonlySet<string> = new Set(['anyOf', 'any_of', 'prefixItems']);
const NAMED: ReadonlySet<string> = new Set(['properties']);

/** Bounds that are 64 bits wide, which JSON of Google's writes as texts. */
const BOUNDS: ReadonlySet<string> = new Set([
  'minItems',
  'maxItems',
  'minLength',
  'maxLength',
  'minProperties',
  'maxProperties',
]);

/** A schema of Google's, which is a part of OpenAPI's with types in capital letters, as JSON Schema. */
export function jsonSchema(schema: JsonObject): JsonObject {
  const written: { [member: string]: unknown } = {};
  for (const [name, value] of Object.entries(schema)) {
    const member = name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    if (value === null || GOOGLES.has(name) || (name === 'type' && value === 'TYPE_UNSPECIFIED')) continue;
    if (name === 'type') written.type = typeof value === 'string' ? value.toLowerCase() : value;
    else if (BOUNDS.has(member)) written[member] = typeof value === 'string' ? Number(value) : value;
    else if (name === 'format' && value === 'enum') continue;
    else written[member] = nested(name, value);
  }
  return schema.nullable === true ? orNull(written) : written;
}

function nested(name: string, value: unknown): unknown {
  if (ONE.has(name)) return isJsonObject(value) ? jsonSchema(value) : value;
  if (MANY.has(name))
    return Array.isArray(value) ? value.map((one) => (isJsonObject(one) ? jsonSchema(one) : one)) : value;
  if (!NAMED.has(name) || !isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([property, one]) => [property, isJsonObject(one) ? jsonSchema(one) : one]),
  );
}

function orNull(schema: JsonObject): JsonObject {
  const { type, enum: values } = schema;
  if (typeof type !== 'string') return { anyOf: [schema, { type: 'null' }] };
  return {
    ...schema,
    type: [type, 'null'],
    ...(Array.isArray(values) && !values.includes(null) && { enum: [...values, null] }),
  };
}
