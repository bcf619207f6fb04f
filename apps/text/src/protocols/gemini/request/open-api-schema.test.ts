import { expect, test } from 'vitest';
import { openApiSchema } from './open-api-schema.ts';

const CASES = {
  'what both have stays': [
    { type: 'object', properties: { a: { type: 'string', minLength: 1 } }, required: ['a'] },
    { type: 'object', properties: { a: { type: 'string', minLength: 1 } }, required: ['a'] },
    [],
  ],
  'keywords that it lacks are left out and named': [
    {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: { n: { type: 'number', exclusiveMinimum: 0, multipleOf: 2 } },
      additionalProperties: false,
      patternProperties: {},
    },
    { type: 'object', properties: { n: { type: 'number' } } },
    ['exclusiveMinimum', 'multipleOf', 'additionalProperties', 'patternProperties'],
  ],
  'references are put in their places': [
    {
      type: 'object',
      properties: { tide: { $ref: '#/$defs/tide', description: 'Now' } },
      $defs: { tide: { type: 'string', enum: ['high', 'low'] } },
    },
    { type: 'object', properties: { tide: { type: 'string', enum: ['high', 'low'], description: 'Now' } } },
    [],
  ],
  'a reference to itself ends in an object': [
    {
      $ref: '#/$defs/node',
      $defs: { node: { type: 'object', properties: { next: { $ref: '#/$defs/node' } } } },
    },
    { type: 'object', properties: { next: { type: 'object' } } },
    ['$ref'],
  ],
  'types that may be null, constants and alternatives have their own words': [
    {
      type: 'object',
      properties: {
        a: { type: ['string', 'null'] },
        b: { const: 'x' },
        c: { oneOf: [{ type: 'string' }, { type: 'integer' }] },
        d: { type: ['string', 'number'] },
        e: { enum: ['x', null] },
        f: { type: 'integer', enum: [1, 2] },
        g: { type: 'string', format: 'uri' },
      },
    },
    {
      type: 'object',
      properties: {
        a: { type: 'string', nullable: true },
        b: { enum: ['x'] },
        c: { anyOf: [{ type: 'string' }, { type: 'integer' }] },
        d: { anyOf: [{ type: 'string' }, { type: 'number' }] },
        e: { enum: ['x'], nullable: true },
        f: { type: 'integer' },
        g: { type: 'string' },
      },
    },
    ['enum', 'format'],
  ],
  'all of several schemas are one': [
    {
      allOf: [
        { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
        { properties: { b: { type: 'string' } }, required: ['b'] },
      ],
    },
    {
      type: 'object',
      properties: { a: { type: 'string' }, b: { type: 'string' } },
      required: ['a', 'b'],
    },
    [],
  ],
  'a reference to itself within all of several schemas ends too': [
    {
      allOf: [{ $ref: '#/$defs/node' }],
      $defs: {
        node: {
          type: 'object',
          properties: { next: { allOf: [{ $ref: '#/$defs/node' }], description: 'Next' } },
        },
        loop: { allOf: [{ $ref: '#/$defs/loop' }] },
      },
      properties: { other: { $ref: '#/$defs/node' }, loop: { $ref: '#/$defs/loop' } },
    },
    {
      type: 'object',
      properties: {
        next: { type: 'object', description: 'Next' },
        other: { type: 'object', properties: { next: { type: 'object', description: 'Next' } } },
        loop: { type: 'object' },
      },
    },
    ['$ref'],
  ],
  'a reference that is no address is left out and named': [{ $ref: '#/%' }, { type: 'object' }, ['$ref']],
} as const;

test.for(Object.entries(CASES))('%s', ([, [given, schema, lost]]) => {
  expect(openApiSchema(given)).toEqual({ schema, lost });
});

const numbered = (count: number, make: (index: number) => object): Record<string, object> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`d${index}`, make(index)]));
const to = (index: number) => ({ $ref: `#/$defs/d${index}` });

test.for([
  ['twice each', numbered(40, (index) => ({ properties: { a: to(index + 1), b: to(index + 1) } }))],
  ['each the others', numbered(20, () => ({ properties: numbered(20, to) }))],
  ['deep', numbered(20_000, (index) => ({ items: { items: to(index + 1) } }))],
] as const)('definitions that name one another, %s, are followed up to a bound', ([, $defs]) => {
  const { schema, lost } = openApiSchema({ ...to(0), $defs });
  expect(lost).toEqual(['$ref']);
  expect(JSON.stringify(schema).length).toBeLessThan(2_000_000);
});
