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

interface Cleaned {
  readonly schema: JsonObject;
  /** Keywords that were left out and that would have meant something. */
  readonly lost: readonly string[];
}

/** A JSON schema in the older form: references are put in their places, and what it does not have is left out. */
export function openApiSchema(schema: JsonObject): Cleaned {
  const cleaner = new Cleaner(schema);
  return { schema: cleaner.clean(schema, []), lost: [...cleaner.lost] };
}

class Cleaner {
  readonly lost = new Set<string>();
  readonly #root: JsonObject;

  constructor(root: JsonObject) {
    this.#root = root;
  }

  /** @param within the references that led here: one that comes again would never end */
  clean(schema: JsonObject, within: readonly string[]): JsonObject {
    const { $ref: reference } = schema;
    if (typeof reference === 'string') {
      const found = this.#find(reference);
      const { $ref: _, ...beside } = schema;
      if (found !== null && !within.includes(reference))
        return this.clean({ ...found, ...beside }, [...within, reference]);
      this.lost.add('$ref');
      return { type: 'object', ...this.clean(beside, within) };
    }
    const keywords = Object.entries(this.#merged(schema));
    return Object.assign({}, ...keywords.map(([keyword, value]) => this.#keyword(keyword, value, within)));
  }

  #keyword(keyword: string, value: unknown, within: readonly string[]): JsonObject {
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

  #each(list: unknown, within: readonly string[]): JsonObject[] {
    return (Array.isArray(list) ? list : []).filter(isJsonObject).map((one) => this.clean(one, within));
  }

  #properties(properties: unknown, within: readonly string[]): JsonObject {
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

  /** `allOf` as one schema. */
  #merged({ allOf, ...schema }: JsonObject): JsonObject {
    if (!Array.isArray(allOf)) return schema;
    const parts = allOf.filter(isJsonObject).map((part) => this.#merged(this.#resolved(part)));
    const all = [...parts, schema];
    const properties = Object.assign({}, ...all.map((part) => part.properties ?? {}));
    const required = all.flatMap((part) => (Array.isArray(part.required) ? part.required : []));
    return {
      ...Object.assign({}, ...all),
      ...(Object.keys(properties).length > 0 && { properties }),
      ...(required.length > 0 && { required: [...new Set(required)] }),
    };
  }

  #resolved(schema: JsonObject): JsonObject {
    const found = typeof schema.$ref === 'string' ? this.#find(schema.$ref) : null;
    return found ?? schema;
  }

  #find(reference: string): JsonObject | null {
    if (!reference.startsWith('#/')) return null;
    let found: unknown = this.#root;
    for (const step of reference.slice(2).split('/')) {
      const name = decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~');
      found = isJsonObject(found) && Object.hasOwn(found, name) ? found[name] : null;
    }
    return isJsonObject(found) ? found : null;
  }
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
