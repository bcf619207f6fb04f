import { expect, test } from 'vitest';
import { z } from 'zod';
import { schemaInstance } from './schema-instance.ts';

test.for([
  [{ type: 'string', minLength: 20 }, 'example value.......'],
  [{ type: 'string', maxLength: 3 }, 'exa'],
  [{ type: 'integer', exclusiveMinimum: 5 }, 6],
  [{ type: 'number', maximum: 0.5 }, 0.5],
  [{ type: ['boolean', 'null'] }, true],
  [{ const: 7 }, 7],
  [{ anyOf: [{ type: 'null' }, { type: 'string' }] }, null],
  [{ type: 'array', items: { enum: ['a', 'b'] }, minItems: 2 }, ['a', 'a']],
  [{ type: 'array', items: { type: 'string' }, maxItems: 0 }, []],
  [{ type: 'object', properties: { a: { type: 'string' }, b: {} }, required: ['a'] }, { a: 'example a' }],
  [
    {
      allOf: [
        { properties: { a: { const: 1 } }, required: ['a'] },
        { properties: { b: { const: 2 } }, required: ['b'] },
      ],
    },
    { a: 1, b: 2 },
  ],
] as const)('%j has the instance %j', ([schema, instance]) => {
  expect(schemaInstance(schema)).toEqual(instance);
});

test('a schema that refers to itself has a finite instance', () => {
  const schema = { type: 'array', minItems: 100, items: { $ref: '#' } };
  expect(JSON.stringify(schemaInstance(schema)).length).toBeLessThan(1_000_000);
});

const SCHEMAS: Readonly<Record<string, z.core.JSONSchema.BaseSchema>> = {
  patterns: {
    type: 'object',
    properties: {
      zip: { type: 'string', pattern: '^\\d{5}(-\\d{4})?$' },
      code: { type: 'string', pattern: '^[A-Z]{2,3}-(?:alpha|beta)_[^a-z]+x*$' },
      word: { type: 'string', pattern: '\\w+@\\w+\\.[a-z]{2,}' },
    },
    required: ['zip', 'code', 'word'],
  },
  'nested objects, lists and enums': {
    type: 'object',
    properties: {
      steps: {
        type: 'array',
        minItems: 2,
        items: {
          type: 'object',
          properties: { kind: { enum: ['a', 'b'] }, at: { type: 'string', format: 'date-time' } },
          required: ['kind', 'at'],
        },
      },
      pair: { type: 'array', prefixItems: [{ type: 'string' }, { type: 'integer' }] },
    },
    required: ['steps', 'pair'],
  },
  'definitions and alternatives': {
    $defs: {
      shape: { oneOf: [{ $ref: '#/$defs/circle' }, { type: 'null' }] },
      circle: {
        type: 'object',
        properties: { radius: { type: 'number', exclusiveMinimum: 0 } },
        required: ['radius'],
      },
    },
    type: 'object',
    properties: {
      shape: { $ref: '#/$defs/shape' },
      other: { anyOf: [{ type: 'integer' }, { type: 'string' }] },
    },
    required: ['shape', 'other'],
  },
  numbers: {
    type: 'object',
    properties: {
      even: { type: 'integer', minimum: 3, multipleOf: 2 },
      small: { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 1 },
      low: { type: 'integer', maximum: -5 },
      both: { type: 'integer', minimum: 10, maximum: 10 },
    },
    required: ['even', 'small', 'low', 'both'],
  },
  'a tree': {
    $defs: {
      node: {
        type: 'object',
        properties: {
          name: { type: 'string' },
          children: { type: 'array', items: { $ref: '#/$defs/node' } },
        },
        required: ['name', 'children'],
      },
    },
    $ref: '#/$defs/node',
  },
};

test.for(Object.entries(SCHEMAS))('the instance of %s conforms', ([, schema]) => {
  expect(z.fromJSONSchema(schema).safeParse(schemaInstance({ ...schema })).error?.issues).toBeUndefined();
});

test.for(['(?<!a)b', '^(?=x)y$', '[', '(((((', 'a{100000}b{100000}', '\\1'])(
  'the pattern %s, not understood, ends',
  (pattern) => {
    expect(schemaInstance({ type: 'string', pattern })).toBe('example value');
  },
);
