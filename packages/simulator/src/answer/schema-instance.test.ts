import { expect, test } from 'vitest';
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

test('a schema that refers to itself comes to an end', () => {
  const schema = { type: 'array', minItems: 100, items: { $ref: '#' } };
  expect(JSON.stringify(schemaInstance(schema)).length).toBeLessThan(1_000_000);
});
