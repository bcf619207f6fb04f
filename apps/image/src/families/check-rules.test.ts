import { GatewayError } from '@gateway/contracts/gateway-error';
import { expect, test } from 'vitest';
import { checkRules } from './check-rules.ts';
import { isAnySize } from './image-rules.ts';
import { rulesFor, rulesOfCandidate } from './rules-for.ts';

type Members = Record<string, unknown>;
type Outcome = 'ok' | readonly [code: string, param: string, ...words: string[]];

const long = (characters: number) => '𝒳'.repeat(characters);

/** One row per rule: the model, the request, the outcome. */
const CASES: readonly (readonly [model: string, requested: Members, outcome: Outcome])[] = [
  ['dall-e-2', { prompt: long(4000) }, 'ok'],
  ['dall-e-2', { prompt: long(4001) }, ['string_above_max_length', 'prompt', '4000', '4001']],
  ['dall-e-2', { n: 10 }, 'ok'],
  ['dall-e-2', { n: 11 }, ['integer_above_max_value', 'n', '10', '11']],
  ['dall-e-2', { size: '512x512' }, 'ok'],
  ['dall-e-2', { size: '1792x1024' }, ['invalid_value', 'size', "'256x256', '512x512', and '1024x1024'"]],
  ['dall-e-2', { quality: 'standard' }, 'ok'],
  ['dall-e-2', { quality: 'hd' }, ['invalid_value', 'quality', "'standard'"]],
  ['dall-e-2', { style: 'vivid' }, ['unknown_parameter', 'style']],
  ['dall-e-2', { stream: true }, ['unknown_parameter', 'stream']],
  ['dall-e-2', { stream: false, background: null, user: 'me', brand_new: 1 }, 'ok'],

  ['dall-e-3', { prompt: long(4000), size: '1024x1792', quality: 'hd', style: 'natural', n: 1 }, 'ok'],
  ['dall-e-3', { prompt: long(4001) }, ['string_above_max_length', 'prompt']],
  ['dall-e-3', { n: 2 }, ['invalid_value', 'n']],
  ['dall-e-3', { size: '512x512' }, ['invalid_value', 'size', "'1792x1024'"]],
  ['dall-e-3', { size: 'auto' }, ['invalid_value', 'size']],
  ['dall-e-3', { quality: 'high' }, ['invalid_value', 'quality', "'standard' and 'hd'"]],
  ['dall-e-3', { style: 'loud' }, ['invalid_value', 'style', "'vivid' and 'natural'"]],
  ['dall-e-3', { background: 'opaque' }, ['unknown_parameter', 'background']],
  ['dall-e-3', { output_format: 'png' }, ['unknown_parameter', 'output_format']],
  ['dall-e-3', { partial_images: 1 }, ['unknown_parameter', 'partial_images']],

  ['gpt-image-1.5', { prompt: long(32_000), size: 'auto', quality: 'auto', n: 10 }, 'ok'],
  ['gpt-image-1.5', { prompt: long(32_001) }, ['string_above_max_length', 'prompt', '32000']],
  [
    'gpt-image-1.5',
    { size: '1536x1024', background: 'transparent', output_format: 'webp', moderation: 'low' },
    'ok',
  ],
  ['gpt-image-1-mini', { size: '1600x1600' }, ['invalid_value', 'size', "'auto'"]],
  ['gpt-image-1.5', { style: 'vivid' }, ['unknown_parameter', 'style']],
  ['gpt-image-1.5', { quality: 'hd' }, ['invalid_value', 'quality']],
  ['gpt-image-1.5', { quality: 'xhigh' }, ['invalid_value', 'quality']],
  ['gpt-image-1.5', { background: 'blue' }, ['invalid_value', 'background']],
  ['gpt-image-1.5', { background: 'transparent', output_format: 'jpeg' }, ['invalid_value', 'background']],
  ['gpt-image-1.5', { output_format: 'gif' }, ['invalid_value', 'output_format']],
  ['gpt-image-1.5', { output_compression: 50 }, ['invalid_value', 'output_compression']],
  ['gpt-image-1.5', { output_compression: 50, output_format: 'jpeg' }, 'ok'],
  ['gpt-image-1.5', { output_compression: 100 }, 'ok'],
  ['gpt-image-1.5', { response_format: 'url' }, 'ok'],
  ['gpt-image-1.5', { stream: true, response_format: 'url' }, ['unsupported_value', 'response_format']],
  ['gpt-image-1.5', { stream: true, response_format: 'b64_json', partial_images: 3 }, 'ok'],
  ['gpt-image-1.5', { input_fidelity: 'high' }, 'ok'],
  ['gpt-image-2', { input_fidelity: 'high' }, ['unknown_parameter', 'input_fidelity']],
  ['gpt-image-2.5', { markup: 'a.png' }, 'ok'],
  ['gpt-image-2.5', { markup: 'a.png', mask: 'b.png' }, ['mutually_exclusive_parameters', 'markup']],
  ['gpt-image-2', { markup: 'a.png' }, ['unknown_parameter', 'markup']],
  ['dall-e-2', { markup: 'a.png' }, ['unknown_parameter', 'markup']],
  ['gpt-image-2-2026-04-21', { size: '3840x2160' }, 'ok'],
  ['gpt-image-2', { size: '1000x1000' }, ['invalid_value', 'size', 'divisible by 16']],
  ['gpt-image-2', { quality: 'max' }, ['invalid_value', 'quality']],
  ['gpt-image-2.5-flare', { quality: 'max', output_format: 'gif', size: '2048x2048' }, 'ok'],
  ['gpt-image-2.6-sunburst', { quality: 'xhigh' }, 'ok'],
  ['chatgpt-image-latest', { quality: 'max', stream: true }, 'ok'],

  ['flux-pro', { size: '7x9', quality: 'rough', style: 'any', n: 40, background: 'x', stream: true }, 'ok'],
];

const outcomeOf = (model: string, requested: Members): unknown => {
  try {
    checkRules({ model, prompt: 'a cat', ...requested }, rulesFor({ name: model, family: null }));
    return 'ok';
  } catch (error) {
    return error;
  }
};

test.each(CASES)('%s: %o', (model, requested, outcome) => {
  const found = outcomeOf(model, requested);
  if (outcome === 'ok') {
    expect(found).toBe('ok');
    return;
  }
  const [code, param, ...words] = outcome;
  expect(found).toBeInstanceOf(GatewayError);
  expect(found).toMatchObject({ code, options: { path: [param] } });
  for (const word of words) expect(found instanceof Error && found.message).toContain(word);
});

test('any size has both sides divisible by 16, a ratio of at most 3 and a bound either way round', () => {
  for (const size of ['16x16', '48x16', '3840x2160', '2160x3840', '1024x1536'])
    expect(isAnySize(size)).toBe(true);
  for (const size of [
    '0x16',
    '64x16',
    '3856x2160',
    '2176x2176',
    '1023x1024',
    '16X16',
    '16x16 ',
    'auto',
    '-16x16',
  ])
    expect(isAnySize(size)).toBe(false);
});

test('a family that the configuration names holds for any name, by its newest rules', () => {
  expect(rulesFor({ name: 'my-image', family: 'gpt-image' })).toMatchObject({
    family: 'gpt-image',
    takesAnySize: true,
    defaultResponseFormat: 'b64_json',
  });
  expect(rulesFor({ name: 'gpt-image-1.5', family: 'gpt-image' }).takesAnySize).toBe(false);
  expect(rulesFor({ name: 'gpt-image-1.5', family: 'dall-e-3' }).family).toBe('dall-e-3');
});

test('a family that the configuration gives itself holds in all of its rules, and checks nothing else', () => {
  const rules = rulesFor({
    name: 'own',
    family: {
      sizes: ['64x64'],
      qualities: ['rough'],
      promptMaxChars: 10,
      maxN: 2,
      defaultResponseFormat: 'b64_json',
    },
  });
  const check = (requested: Members) => () =>
    checkRules({ model: 'own', prompt: 'a cat', ...requested }, rules);
  expect(check({ size: '64x64', quality: 'rough', n: 2, style: 'anything' })).not.toThrow();
  expect(check({ size: '65x64' })).toThrow("'64x64'");
  expect(check({ quality: 'fine' })).toThrow("'rough'");
  expect(check({ n: 3 })).toThrow('<= 2');
  expect(check({ prompt: 'longer than ten' })).toThrow('maximum length 10');
  expect(rules.defaultResponseFormat).toBe('b64_json');
});

test('under a name of one family the upstream is called by the rules of the model that it really has', () => {
  const model = { name: 'dall-e-3', family: null };
  expect(rulesOfCandidate(model, { model: 'gpt-image-2' }).family).toBe('gpt-image');
  expect(rulesOfCandidate(model, { model: 'my-deployment' }).family).toBe('dall-e-3');
});
