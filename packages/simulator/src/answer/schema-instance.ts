import { asList, asNumber, asObject, asText, isObject, type JsonObject } from '../json-value.ts';

const MAX_DEPTH = 12;
/** A schema that refers to itself may ask for more than there are atoms. */
const MAX_VALUES = 10_000;

/** Where an instance is being made: the whole schema, for references, and how many values may still be made. */
interface Making {
  readonly root: JsonObject;
  valuesLeft: number;
}

const FORMATS: ReadonlyMap<string, string> = new Map([
  ['date', '2026-11-20'],
  ['date-time', '2026-11-20T12:00:00Z'],
  ['time', '12:00:00Z'],
  ['email', 'somebody@example.org'],
  ['uri', 'https://example.org/'],
  ['uuid', '00000000-0000-4000-8000-000000000000'],
]);

const resolved = (schema: JsonObject, root: JsonObject): JsonObject => {
  const reference = asText(schema.$ref);
  if (!reference.startsWith('#')) return schema;
  let target: unknown = root;
  for (const name of reference.split('/').slice(1)) target = asObject(target)[name];
  return asObject(target);
};

const stringOf = (schema: JsonObject, name: string): string => {
  const plain = FORMATS.get(asText(schema.format)) ?? `example ${name}`;
  const padded = plain.padEnd(asNumber(schema.minLength) ?? 0, '.');
  return padded.slice(0, asNumber(schema.maxLength) ?? undefined);
};

const numberOf = (schema: JsonObject): number => {
  const exclusive = asNumber(schema.exclusiveMinimum);
  const minimum = exclusive === null ? asNumber(schema.minimum) : exclusive + 1;
  return minimum ?? Math.min(1, asNumber(schema.maximum) ?? 1);
};

const objectOf = (schema: JsonObject, making: Making, depth: number): JsonObject => {
  const properties = asObject(schema.properties);
  return Object.fromEntries(
    asList(schema.required).map((required) => {
      const name = asText(required);
      return [name, instanceOf(properties[name], making, name, depth + 1)];
    }),
  );
};

const instanceOf = (value: unknown, making: Making, name: string, depth: number): unknown => {
  making.valuesLeft -= 1;
  if (!isObject(value) || depth > MAX_DEPTH || making.valuesLeft < 0) return null;
  const schema = resolved(value, making.root);
  if ('const' in schema) return schema.const;
  const [firstAllowed] = asList(schema.enum);
  if (firstAllowed !== undefined) return firstAllowed;
  const [choice] = [...asList(schema.anyOf), ...asList(schema.oneOf)];
  if (choice !== undefined) return instanceOf(choice, making, name, depth + 1);
  const all = asList(schema.allOf);
  if (all.length > 0) {
    return Object.assign({}, ...all.map((part) => asObject(instanceOf(part, making, name, depth + 1))));
  }
  const type = Array.isArray(schema.type) ? asText(schema.type[0]) : asText(schema.type);
  if (type === 'string') return stringOf(schema, name);
  if (type === 'integer' || type === 'number') return numberOf(schema);
  if (type === 'boolean') return true;
  if (type === 'null') return null;
  if (type === 'array') {
    const count = Math.min(
      Math.max(asNumber(schema.minItems) ?? 1, 1),
      asNumber(schema.maxItems) ?? 100,
      100,
    );
    return Array.from({ length: count }, () => instanceOf(schema.items, making, name, depth + 1));
  }
  return objectOf(schema, making, depth);
};

/**
 * A value that satisfies a JSON Schema's types, required properties, enums, lengths and lower bounds; the same for
 * the same schema. Patterns are not followed.
 */
export const schemaInstance = (schema: JsonObject): unknown =>
  instanceOf(schema, { root: schema, valuesLeft: MAX_VALUES }, 'value', 0);
