import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { objectOf } from '../wire/json-object.ts';

/** The two published descriptions of the Responses protocol, as far as lists and answers need them. */
type Description = 'openai-schemas' | 'openresponses-schemas';

const Definitions = z.object({ $defs: z.record(z.string(), z.record(z.string(), z.unknown())) });

const definitionsOf = (description: Description) => {
  const file = new URL(`../protocols/fixtures/${description}.json`, import.meta.url);
  return Definitions.parse(JSON.parse(readFileSync(file, 'utf8'))).$defs;
};

/** One of a description's component schemas. */
export const publishedSchema = (description: Description, root: string): z.ZodType =>
  z.fromJSONSchema({ $defs: definitionsOf(description), $ref: `#/$defs/${root}` });

/**
 * Values of a component schema: one for each alternative that it, or an object or list in it, has. They hold the members that it
 * requires, and `optional` also the others; of a value that may be null, null comes last.
 */
export function publishedValues(
  description: Description,
  root: string,
  optional: boolean,
): readonly unknown[] {
  const definitions = definitionsOf(description);

  const valuesOf = (value: unknown): readonly unknown[] => {
    const schema = objectOf(value);
    if (typeof schema.$ref === 'string') return valuesOf(definitions[schema.$ref.slice('#/$defs/'.length)]);
    const alternatives = schema.oneOf ?? schema.anyOf;
    if (Array.isArray(alternatives)) return alternatives.flatMap(valuesOf);
    if (Array.isArray(schema.enum)) return schema.enum;
    if (schema.type === 'array') return [[], ...valuesOf(schema.items).map((entry) => [entry])];
    if (schema.type === 'object') return objectsOf(schema);
    if (schema.type === 'string') return [schema.format === 'uri' ? 'https://example.com/a' : 'abc'];
    if (schema.type === 'boolean') return [true];
    if (schema.type === 'null') return [null];
    return [schema.type === undefined ? {} : 1];
  };

  /** The members vary one at a time. */
  const objectsOf = (schema: { readonly [member: string]: unknown }): readonly unknown[] => {
    const properties = objectOf(schema.properties);
    const required = Array.isArray(schema.required) ? schema.required : [];
    const members = Object.entries(properties)
      .filter(([name]) => optional || required.includes(name))
      .map(([name, property]) => [name, valuesOf(property)] as const);
    const first = Object.fromEntries(members.map(([name, [value]]) => [name, value]));
    const varied = members.flatMap(([name, values]) =>
      values.slice(1).map((value) => ({ ...first, [name]: value })),
    );
    return [first, ...varied];
  };

  return valuesOf(definitions[root]);
}
