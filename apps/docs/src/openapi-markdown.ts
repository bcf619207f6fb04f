import { z } from 'zod';

/** What a reference shows of a JSON schema. */
interface Schema {
  readonly type?: string | readonly string[] | undefined;
  readonly properties?: Readonly<Record<string, Schema>> | undefined;
  readonly required?: readonly string[] | undefined;
  readonly items?: Schema | undefined;
  readonly additionalProperties?: unknown;
  readonly anyOf?: readonly Schema[] | undefined;
  readonly oneOf?: readonly Schema[] | undefined;
  readonly enum?: readonly unknown[] | undefined;
  readonly const?: unknown;
  readonly description?: string | undefined;
  readonly minimum?: number | undefined;
  readonly maximum?: number | undefined;
  readonly minLength?: number | undefined;
  readonly maxLength?: number | undefined;
  readonly maxItems?: number | undefined;
  readonly $ref?: string | undefined;
}

const Schema: z.ZodType<Schema> = z.lazy(() =>
  z.looseObject({
    type: z.union([z.string(), z.array(z.string())]).optional(),
    properties: z.record(z.string(), Schema).optional(),
    required: z.array(z.string()).optional(),
    items: Schema.optional(),
    anyOf: z.array(Schema).optional(),
    oneOf: z.array(Schema).optional(),
    enum: z.array(z.unknown()).optional(),
    description: z.string().optional(),
    minimum: z.number().optional(),
    maximum: z.number().optional(),
    minLength: z.number().optional(),
    maxLength: z.number().optional(),
    maxItems: z.number().optional(),
    $ref: z.string().optional(),
  }),
);

const Content = z.record(z.string(), z.looseObject({ schema: Schema.optional() }));
const Operation = z.looseObject({
  summary: z.string(),
  description: z.string().optional(),
  tags: z.array(z.string()).optional(),
  parameters: z
    .array(
      z.looseObject({
        name: z.string(),
        in: z.string(),
        required: z.boolean().optional(),
        schema: Schema.optional(),
      }),
    )
    .default([]),
  requestBody: z.looseObject({ content: Content }).optional(),
  responses: z.record(z.string(), z.looseObject({ content: Content.optional() })),
});
type Operation = z.infer<typeof Operation>;

const Document = z.looseObject({
  paths: z.record(z.string(), z.record(z.string(), Operation)),
  components: z.looseObject({ schemas: z.record(z.string(), Schema).default({}) }),
});

/** Deeper members are named by the type of what holds them. */
const MAX_DEPTH = 3;
const MAX_LISTED_WORDS = 16;

/** A page in Markdown that lists every operation of an OpenAPI document, grouped by tag or else by path. */
export function openapiMarkdown(title: string, introduction: string, document: unknown): string {
  const { paths, components } = Document.parse(document);
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
  const groups = Map.groupBy(operations, ({ path, operation }) => operation.tags?.[0] ?? areaOf(path));
  const lines = [`# ${title}`, '', introduction, ''];
  for (const [group, members] of groups) {
    lines.push(`## ${group}`, '');
    for (const { method, path, operation } of members)
      lines.push(
        `### ${method} ${path}`,
        '',
        `${operation.summary}.`,
        '',
        ...operationLines(operation, components.schemas),
      );
  }
  return lines.join('\n');
}

/** `/admin/v1/keys/{id}` is of `keys`. */
const areaOf = (path: string): string => path.split('/')[3] ?? path;

type Schemas = Readonly<Record<string, Schema>>;

function operationLines(
  { description, parameters, requestBody, responses }: Operation,
  schemas: Schemas,
): string[] {
  const rows = parameters.map(({ name, in: where, required, schema }) =>
    row([`\`${name}\``, where, required === true ? 'yes' : '', typeOf(schema, schemas)]),
  );
  return [
    ...(description === undefined ? [] : [description, '']),
    ...(rows.length === 0 ? [] : ['| parameter | in | required | type |', '|---|---|---|---|', ...rows, '']),
    ...Object.entries(requestBody?.content ?? {}).flatMap(([type, { schema }]) =>
      contentLines(`Body, \`${type}\``, schema, schemas),
    ),
    ...Object.entries(responses).flatMap(([status, { content = {} }]) =>
      /^2/.test(status)
        ? Object.entries(content).flatMap(([type, { schema }]) =>
            contentLines(`${status}, \`${type}\``, schema, schemas),
          )
        : [],
    ),
  ];
}

function contentLines(title: string, schema: Schema | undefined, schemas: Schemas): string[] {
  if (schema === undefined) return [`${title}`, ''];
  const members = membersOf(schema, schemas, '', 0);
  if (members.length === 0) return [`${title}: ${typeOf(schema, schemas)}`, ''];
  return [`${title}:`, '', '| member | required | type |', '|---|---|---|', ...members, ''];
}

function membersOf(given: Schema, schemas: Schemas, prefix: string, depth: number): string[] {
  const schema = resolved(given, schemas);
  if (schema.items !== undefined && schema.properties === undefined)
    return membersOf(schema.items, schemas, `${prefix}[]`, depth);
  const forms = schema.anyOf ?? schema.oneOf;
  if (forms !== undefined && schema.properties === undefined) {
    const withMembers = forms
      .map((form) => membersOf(form, schemas, prefix, depth))
      .filter((rows) => rows.length > 0);
    return [...new Set(withMembers.flat())];
  }
  return Object.entries(schema.properties ?? {}).flatMap(([name, member]) => {
    const path = prefix === '' ? name : `${prefix}.${name}`;
    const own = row([
      `\`${path}\``,
      schema.required?.includes(name) === true ? 'yes' : '',
      typeOf(member, schemas),
    ]);
    return depth + 1 < MAX_DEPTH ? [own, ...membersOf(member, schemas, path, depth + 1)] : [own];
  });
}

function resolved(schema: Schema, schemas: Schemas): Schema {
  const name = schema.$ref?.split('/').at(-1);
  return (name === undefined ? undefined : schemas[name]) ?? schema;
}

/** A type in words, with its bounds. */
function typeOf(given: Schema | undefined, schemas: Schemas): string {
  if (given === undefined) return 'any';
  const schema = resolved(given, schemas);
  if (schema.const !== undefined) return code(schema.const);
  if (schema.enum !== undefined) {
    const words = schema.enum.slice(0, MAX_LISTED_WORDS).map(code);
    return [...words, ...(schema.enum.length > MAX_LISTED_WORDS ? ['…'] : [])].join(', ');
  }
  const forms = schema.anyOf ?? schema.oneOf;
  if (forms !== undefined) return [...new Set(forms.map((form) => typeOf(form, schemas)))].join(' or ');
  if (schema.items !== undefined)
    return `list of ${typeOf(schema.items, schemas)}${bounds(undefined, schema.maxItems)}`;
  const types = [schema.type ?? (schema.properties === undefined ? 'any' : 'object')].flat();
  return `${types.map((type) => WORDS.get(type) ?? type).join(' or ')}${
    types.includes('string')
      ? bounds(schema.minLength, schema.maxLength, 'characters')
      : bounds(schema.minimum, schema.maximum)
  }`;
}

const WORDS = new Map([
  ['string', 'text'],
  ['array', 'list'],
]);

const code = (value: unknown): string => `\`${JSON.stringify(value).replaceAll('|', '\\|')}\``;

function bounds(least: number | undefined, most: number | undefined, unit?: string): string {
  const isBound = (value: number | undefined): value is number =>
    value !== undefined && Math.abs(value) !== Number.MAX_SAFE_INTEGER;
  const of = unit === undefined ? '' : ` ${unit}`;
  if (isBound(most)) return ` (${isBound(least) ? `${least}–` : 'at most '}${most}${of})`;
  return isBound(least) && least > 1 ? ` (at least ${least}${of})` : '';
}

const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
