import { lookUp } from '@gateway/contracts/look-up';
import { asList, asNumber, asObject, asText, isObject, type JsonObject } from '../json-value.ts';
import { textMatching } from './text-matching.ts';

const MAX_DEPTH = 12;
/** From this depth on, alternatives that end are chosen. */
const DEEP = 5;
const MAX_ITEMS = 100;
/** Bounds the values of a schema that refers to itself. */
const MAX_VALUES = 10_000;

/** The state of an instance: the whole schema, for references, and how many values may still be made. */
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
  for (const name of reference.split('/').slice(1))
    target = lookUp(asObject(target), name.replaceAll('~1', '/').replaceAll('~0', '~'));
  return asObject(target);
};

const stringOf = (schema: JsonObject, name: string): string => {
  const pattern = asText(schema.pattern);
  const matching = pattern === '' ? null : textMatching(pattern);
  if (matching !== null) return matching;
  const plain = FORMATS.get(asText(schema.format)) ?? `example ${name}`;
  const padded = plain.padEnd(asNumber(schema.minLength) ?? 0, '.');
  return padded.slice(0, asNumber(schema.maxLength) ?? undefined);
};

/** The lowest allowed number, or 1 if there is no lowest; a step above or below an excluded bound. */
const numberOf = (schema: JsonObject): number => {
  const step = asNumber(schema.multipleOf) ?? 1;
  const above = asNumber(schema.exclusiveMinimum);
  const below = asNumber(schema.exclusiveMaximum);
  const low = above ?? asNumber(schema.minimum);
  const high = below ?? asNumber(schema.maximum);
  if (low === null) {
    const highest = high === null ? 1 : Math.min(1, below === null ? high : below - step);
    return asNumber(schema.multipleOf) === null ? highest : Math.floor(highest / step) * step;
  }
  const first = Math.ceil(low / step) * step;
  const lowest = asNumber(schema.multipleOf) === null ? low : first;
  const value = above !== null && lowest <= above ? lowest + step : lowest;
  // For bounds that are closer than a step.
  const isTooHigh = high !== null && (value > high || (value === high && below !== null));
  return isTooHigh ? (low + high) / 2 : value;
};

const objectOf = (schema: JsonObject, making: Making, depth: number): JsonObject => {
  const properties = asObject(schema.properties);
  return Object.fromEntries(
    asList(schema.required).map((required) => {
      const name = asText(required);
      return [name, instanceOf(lookUp(properties, name), making, name, depth + 1)];
    }),
  );
};

const listOf = (schema: JsonObject, making: Making, name: string, depth: number): unknown[] => {
  const first = asList(schema.prefixItems);
  const least = asNumber(schema.minItems) ?? 0;
  // A list that may be empty ends an endless recursion.
  const wanted = Math.max(least, depth > DEEP ? 0 : 1, first.length);
  const count = Math.min(wanted, asNumber(schema.maxItems) ?? MAX_ITEMS, MAX_ITEMS);
  const allowed = schema.uniqueItems === true ? asList(asObject(schema.items).enum) : [];
  return Array.from(
    { length: count },
    (_, index) => allowed[index] ?? instanceOf(first[index] ?? schema.items, making, name, depth + 1),
  );
};

/** Both schemas' demands in one; the second one's wins. */
const merged = (schema: JsonObject, part: JsonObject): JsonObject => ({
  ...schema,
  ...part,
  properties: { ...asObject(schema.properties), ...asObject(part.properties) },
  required: [...new Set([...asList(schema.required), ...asList(part.required)])],
});

/** A schema without `anyOf`, `oneOf` and `allOf`: of the alternatives the first, but at great depth one that ends. */
const flattened = (schema: JsonObject, making: Making, depth: number): JsonObject => {
  const { anyOf, oneOf, allOf, ...rest } = schema;
  const choices = [...asList(anyOf), ...asList(oneOf)].map(asObject);
  const ending =
    depth > DEEP ? choices.find(({ type, $ref }) => $ref === undefined && type !== 'object') : undefined;
  const parts = [...asList(allOf).map(asObject), ...(ending ? [ending] : choices.slice(0, 1))];
  return parts.reduce<JsonObject>(
    (all, part) =>
      merged(all, depth > MAX_DEPTH ? {} : flattened(resolved(part, making.root), making, depth + 1)),
    rest,
  );
};

const typeOf = (schema: JsonObject): string => {
  const type = Array.isArray(schema.type) ? asText(schema.type[0]) : asText(schema.type);
  if (type !== '') return type;
  if ('items' in schema || 'prefixItems' in schema) return 'array';
  return 'pattern' in schema || 'format' in schema || 'minLength' in schema ? 'string' : 'object';
};

const instanceOf = (value: unknown, making: Making, name: string, depth: number): unknown => {
  making.valuesLeft -= 1;
  if (!isObject(value) || depth > MAX_DEPTH || making.valuesLeft < 0) return null;
  const direct = resolved(value, making.root);
  const schema =
    'anyOf' in direct || 'oneOf' in direct || 'allOf' in direct ? flattened(direct, making, depth) : direct;
  if ('const' in schema) return schema.const;
  const [firstAllowed] = asList(schema.enum);
  if (firstAllowed !== undefined) return firstAllowed;
  switch (typeOf(schema)) {
    case 'string':
      return stringOf(schema, name);
    case 'integer':
    case 'number':
      return numberOf(schema);
    case 'boolean':
      return true;
    case 'null':
      return null;
    case 'array':
      return listOf(schema, making, name, depth);
    default:
      return objectOf(schema, making, depth);
  }
};

/**
 * A value that satisfies a JSON Schema's types, required properties, enums, constants, bounds, lengths, formats, patterns,
 * references and alternatives; the same for the same schema.
 */
export const schemaInstance = (schema: JsonObject): unknown =>
  instanceOf(schema, { root: schema, valuesLeft: MAX_VALUES }, 'value', 0);
