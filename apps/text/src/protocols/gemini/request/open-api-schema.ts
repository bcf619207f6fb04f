import type { JsonObject } from '../../../wire/json-object.ts';
import { isJsonObject } from '../../../wire/raw-json.ts';

/** The keywords of the subset of OpenAPI in which Gemini's older members take schemas. One other refuses the request. */
const KNOWN: ReadonlySet<string> = new Set([
  ...['type', 'format', 'title', 'description', 'nullable', 'enum', 'default', 'example'],
  ...['items', 'minItems', 'maxItems', 'properties', 'required', 'minProperties', 'maxProperties'],
  ...['minimum', 'maximum', 'minLength', 'maxLength', 'pattern', 'anyOf', 'propertyOrdering'],
]);

/** Keywords that say nothing about a value. */
const SILENT: ReadonlySet<string> = new Set([
  '$schema',
  '$id',
  '$defs',
  'definitions',
  '$comment',
  'examples',
]);

/** Those that are known by type. */
const FORMATS: ReadonlySet<unknown> = new Set(['enum', 'date-time', 'float', 'double', 'int32', 'int64']);

/** How many characters references may add: definitions that name one another several times grow with every level. */
const MAX_ADDED = 1_000_000;

/** How deep in a schema a reference is followed. */
const MAX_DEPTH = 100;

interface Cleaned {
  readonly schema: JsonObject;
  /** Keywords that were left out and that would have meant something. */
  readonly lost: readonly string[];
}

/** A JSON schema in the older form: references are put in their places, and what it does not have is left out. */
export function openApiSchema(schema: JsonObject): Cleaned {
  const cleaner = new Cleaner(schema);
  return { schema: cleaner.clean(schema, { references: [], depth: 0 }), lost: [...cleaner.lost] };
}

interface Place {
  /** Those that led here: one that comes again would never end. */
  readonly references: readonly string[];
  readonly depth: number;
}

class Cleaner {
  readonly lost = new Set<string>();
  readonly #root: JsonObject;
  /** What references may still add. */
  #left = MAX_ADDED;

  constructor(root: JsonObject) {
    this.#root = root;
  }

  clean(schema: JsonObject, { references, depth }: Place): JsonObject {
    const { $ref: reference, ...beside } = schema;
    const within = { references, depth: depth + 1 };
    if (typeof reference === 'string') {
      const found = this.#follow(reference, within);
      if (found !== null)
        return this.clean({ ...found, ...beside }, { ...within, references: [...references, reference] });
      this.lost.add('$ref');
      return { type: 'object', ...this.clean(beside, within) };
    }
    const { allOf, ...own } = schema;
    if (Array.isArray(allOf)) return joined([...this.#each(allOf, within), this.clean(own, within)]);
    return Object.fromEntries(
      Object.entries(own).flatMap(([keyword, value]) =>
        Object.entries(this.#keyword(keyword, value, within)),
      ),
    );
  }

  #keyword(keyword: string, value: unknown, within: Place): JsonObject {
    switch (keyword) {
      case 'type':
        return typesOf(value);
      case 'const':
        return this.#enum([value]);
      case 'enum':
        return this.#enum(Array.isArray(value) ? value : []);
      case 'oneOf':
      case 'anyOf':
        return { anyOf: this.#each(value, within) };
      case 'items':
        return isJsonObject(value) ? { items: this.clean(value, within) } : {};
      case 'properties':
        return { properties: this.#properties(value, within) };
      case 'format':
        return FORMATS.has(value) ? { format: value } : this.#without(keyword);
      default:
        if (KNOWN.has(keyword)) return { [keyword]: value };
        return SILENT.has(keyword) ? {} : this.#without(keyword);
    }
  }

  #without(keyword: string): JsonObject {
    this.lost.add(keyword);
    return {};
  }

  #each(list: unknown, within: Place): JsonObject[] {
    return (Array.isArray(list) ? list : []).filter(isJsonObject).map((one) => this.clean(one, within));
  }

  #properties(properties: unknown, within: Place): JsonObject {
    if (!isJsonObject(properties)) return {};
    return Object.fromEntries(
      Object.entries(properties).map(([name, one]) => [
        name,
        isJsonObject(one) ? this.clean(one, within) : {},
      ]),
    );
  }

  /** Only texts can be listed. */
  #enum(values: readonly unknown[]): JsonObject {
    const nullable = values.includes(null) ? { nullable: true } : {};
    const others = values.filter((value) => value !== null);
    if (others.every((value) => typeof value === 'string'))
      return others.length > 0 ? { enum: others, ...nullable } : nullable;
    return { ...this.#without('enum'), ...nullable };
  }

  /** What a reference stands for; null where it cannot be put in its place. */
  #follow(reference: string, { references, depth }: Place): JsonObject | null {
    if (this.#left < 0 || depth > MAX_DEPTH || references.includes(reference)) return null;
    const found = this.#find(reference);
    if (found === null) return null;
    this.#left -= JSON.stringify(found).length;
    return this.#left < 0 ? null : found;
  }

  #find(reference: string): JsonObject | null {
    if (!reference.startsWith('#/')) return null;
    let found: unknown = this.#root;
    for (const step of reference.slice(2).split('/')) {
      const name = unescaped(step);
      found = isJsonObject(found) && Object.hasOwn(found, name) ? found[name] : null;
    }
    return isJsonObject(found) ? found : null;
  }
}

/** A step of a reference as the name of a member. */
function unescaped(step: string): string {
  try {
    return decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~');
  } catch {
    return step;
  }
}

/** Schemas that all hold, as one. */
function joined(parts: readonly JsonObject[]): JsonObject {
  const properties = Object.fromEntries(parts.flatMap((part) => Object.entries(Object(part.properties))));
  const required = parts.flatMap((part) => (Array.isArray(part.required) ? part.required : []));
  return {
    ...Object.fromEntries(parts.flatMap((part) => Object.entries(part))),
    ...(Object.keys(properties).length > 0 && { properties }),
    ...(required.length > 0 && { required: [...new Set(required)] }),
  };
}

/** A list of types is one type that may be null, or several forms. */
function typesOf(type: unknown): JsonObject {
  if (!Array.isArray(type)) return { type };
  const types = type.filter((one) => one !== 'null');
  const nullable = types.length < type.length ? { nullable: true } : {};
  const [only, ...others] = types;
  if (only === undefined) return nullable;
  return others.length === 0
    ? { type: only, ...nullable }
    : { anyOf: types.map((one) => ({ type: one })), ...nullable };
}
