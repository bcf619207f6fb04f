import { GatewayError } from '@gateway/contracts/gateway-error';
import { characters, decimal, problem } from '@gateway/contracts/wire-types';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { anthropicError, openaiError } from '../error-response.ts';
import { validate } from './validate.ts';

const Example = z.looseObject({
  model: z.string().min(1),
  temperature: decimal(0, 2).optional(),
  count: z.int().min(1).max(10).optional(),
  stream: z.boolean().optional(),
  style: z.enum(['vivid', 'natural', 'plain']).optional(),
  tools: z
    .array(z.looseObject({ name: z.string() }))
    .min(1)
    .max(2)
    .optional(),
  prompt: characters(1, 4).optional(),
  input: z.union([z.string(), z.array(z.looseObject({ role: z.enum(['user', 'system']) }))]).optional(),
  thinking: z
    .discriminatedUnion('type', [
      z.looseObject({ type: z.literal('enabled'), budget_tokens: z.int().min(1024) }),
      z.looseObject({ type: z.literal('disabled') }),
    ])
    .optional(),
  closed: z.strictObject({ a: z.string().optional() }).optional(),
  own: z
    .string()
    .superRefine((_, context) =>
      context.addIssue(
        problem([], { code: 'unsupported_value', openai: 'Own words.', anthropic: 'Other words' }),
      ),
    )
    .optional(),
});

function refusal(value: unknown) {
  try {
    validate(Example, value);
  } catch (error) {
    if (error instanceof GatewayError) {
      const { code, param, message } = openaiError(error);
      return { code, param, message, anthropic: anthropicError(error).message };
    }
    throw error;
  }
  throw new Error('was accepted');
}

test('a part is checked under its path in the request', () => {
  const Part = z.object({ content: z.array(z.object({ text: z.string() })) });
  const error = (() => {
    try {
      return validate(Part, { content: [{ text: 5 }] }, ['messages', 2]);
    } catch (thrown) {
      return thrown;
    }
  })();
  expect(error instanceof GatewayError && openaiError(error)).toMatchObject({
    param: 'messages[2].content[0].text',
    message: "Invalid type for 'messages[2].content[0].text': expected a string, but got an integer instead.",
  });
});

test('a valid request passes with the members that the schema does not name', () => {
  const value = { model: 'm', temperature: 2, unknown: { nested: true }, prompt: '🐳🐳🐳🐳' };
  expect(validate(Example, value)).toEqual(value);
});

test.for([
  [
    {},
    'missing_required_parameter',
    'model',
    "Missing required parameter: 'model'.",
    'model: Field required',
  ],
  [
    { model: 'm', input: { role: 'user' } },
    'invalid_type',
    'input',
    "Invalid type for 'input': expected one of a string or an array, but got an object instead.",
    'input: Input should be a valid string',
  ],
  [
    { model: 5 },
    'invalid_type',
    'model',
    "Invalid type for 'model': expected a string, but got an integer instead.",
    'model: Input should be a valid string',
  ],
  [
    { model: 'm', temperature: 'hot' },
    'invalid_type',
    'temperature',
    "Invalid type for 'temperature': expected a decimal, but got a string instead.",
    'temperature: Input should be a valid number',
  ],
  [
    { model: 'm', temperature: 3 },
    'decimal_above_max_value',
    'temperature',
    "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 3 instead.",
    'temperature: Input should be less than or equal to 2',
  ],
  [
    { model: 'm', count: 0 },
    'integer_below_min_value',
    'count',
    "Invalid 'count': integer below minimum value. Expected a value >= 1, but got 0 instead.",
    'count: Input should be greater than or equal to 1',
  ],
  [
    { model: 'm', count: 1.5 },
    'invalid_type',
    'count',
    "Invalid type for 'count': expected an integer, but got a decimal instead.",
    'count: Input should be a valid integer',
  ],
  [
    { model: 'm', stream: 'yes' },
    'invalid_type',
    'stream',
    "Invalid type for 'stream': expected a boolean, but got a string instead.",
    'stream: Input should be a valid boolean',
  ],
  [
    { model: 'm', style: 'loud' },
    'invalid_value',
    'style',
    "Invalid value: 'loud'. Supported values are: 'vivid', 'natural', and 'plain'.",
    "style: Input should be 'vivid', 'natural' or 'plain'",
  ],
  [
    { model: 'm', tools: [{ name: 'a' }, { name: 'b' }, { name: 'c' }] },
    'array_above_max_length',
    'tools',
    "Invalid 'tools': array too long. Expected an array with maximum length 2, but got an array with length 3 instead.",
    'tools: List should have at most 2 items after validation, not 3',
  ],
  [
    { model: 'm', tools: [{ name: 'a' }, {}] },
    'missing_required_parameter',
    'tools[1].name',
    "Missing required parameter: 'tools[1].name'.",
    'tools.1.name: Field required',
  ],
  [
    { model: '' },
    'string_below_min_length',
    'model',
    "Invalid 'model': empty string. Expected a string with minimum length 1, but got an empty string instead.",
    'model: String should have at least 1 character',
  ],
  [
    { model: 'm', prompt: '🐳🐳🐳🐳🐳' },
    'string_above_max_length',
    'prompt',
    "Invalid 'prompt': string too long. Expected a string with maximum length 4, but got a string with length 5 instead.",
    'prompt: String should have at most 4 characters',
  ],
  [
    { model: 'm', input: [{ role: 'user' }, { role: 'boss' }] },
    'invalid_value',
    'input[1].role',
    "Invalid value: 'boss'. Supported values are: 'user' and 'system'.",
    "input.1.role: Input should be 'user' or 'system'",
  ],
  [
    { model: 'm', thinking: { type: 'enabled', budget_tokens: 3 } },
    'integer_below_min_value',
    'thinking.budget_tokens',
    "Invalid 'thinking.budget_tokens': integer below minimum value. Expected a value >= 1024, but got 3 instead.",
    'thinking.budget_tokens: Input should be greater than or equal to 1024',
  ],
  [
    { model: 'm', thinking: { type: 'often' } },
    'invalid_value',
    'thinking.type',
    "Invalid value: 'often'. Supported values are: 'enabled' and 'disabled'.",
    "thinking.type: Input should be 'enabled' or 'disabled'",
  ],
  [
    { model: 'm', closed: { b: 1 } },
    'unknown_parameter',
    'closed.b',
    "Unknown parameter: 'closed.b'.",
    'closed.b: Extra inputs are not permitted',
  ],
  [{ model: 'm', own: 'x' }, 'unsupported_value', 'own', 'Own words.', 'own: Other words'],
] as const)('%j is refused as %s at %s', ([value, code, param, message, anthropic]) => {
  expect(refusal(value)).toEqual({ code, param, message, anthropic });
});

test('a body that is not an object is refused as a whole', () => {
  expect(refusal([])).toEqual({
    code: 'invalid_type',
    param: '',
    message: 'Invalid type for the request body: expected an object, but got an array instead.',
    anthropic: 'Input should be an object',
  });
});
