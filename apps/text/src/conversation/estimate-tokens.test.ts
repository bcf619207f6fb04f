import { countTokens } from 'gpt-tokenizer/encoding/r50k_base';
import { expect, test } from 'vitest';
import { PROTOCOLS } from '../conversion/protocols.ts';
import { testTokens } from '../testing/test-context.ts';
import { estimateTokens, loadTextCounter } from './estimate-tokens.ts';

/** What a model of a small vocabulary, GPT-2's, makes of it: llama.cpp serves models like it. */
const TEXTS = {
  English: 'The gateway keeps one place for keys, limits, routing, failover, queues and logs. '.repeat(20),
  code: 'export const left = (): GatewayError => new GatewayError(code, { message: rule.message });\n'.repeat(
    20,
  ),
  Chinese: '机器学习是人工智能的一个分支。它研究如何让计算机从数据中学习。'.repeat(10),
  Japanese: '日本語の文章もここに少しあります。'.repeat(10),
  Korean: '한국어 문장도 조금 있습니다. '.repeat(10),
  Russian: 'Машинное обучение — это раздел искусственного интеллекта. '.repeat(10),
  base64: Buffer.from('a text that nobody reads '.repeat(40)).toString('base64'),
  digits: '1234567890'.repeat(60),
  emoji: '😀🐳🎉'.repeat(50),
  JSON: JSON.stringify({ a: [1, 2, { b: 'text' }], c: null }).repeat(20),
} as const;

const estimate = async (text: string, more: object = {}): Promise<number> => {
  const body = { model: 'tiny', messages: [{ role: 'user', content: text }], ...more };
  return estimateTokens(PROTOCOLS.chat.decodeRequest(body, testTokens), await loadTextCounter());
};

test.for(Object.entries(TEXTS))(
  'an estimate of %s errs on the high side, and not beyond reason',
  async ([, text]) => {
    const estimated = await estimate(text);
    expect(estimated).toBeGreaterThanOrEqual(countTokens(text));
    expect(estimated).toBeLessThanOrEqual(Buffer.byteLength(text) + 10);
  },
);

test('digits may be a token each', async () => {
  expect(await estimate(TEXTS.digits)).toBeGreaterThanOrEqual(600);
});

// Counted by llama.cpp's server with the template of Qwen's models: 10 tokens for the greeting, 148 with a tool.
test('what the template of a chat model adds is counted', async () => {
  expect(await estimate('hi')).toBeGreaterThanOrEqual(10);
  const parameters = {
    type: 'object',
    properties: { city: { type: 'string', description: 'The city' }, unit: { enum: ['c', 'f'] } },
    required: ['city'],
  };
  const weather = { name: 'get_weather', description: 'Gets the weather of a city.', parameters };
  const tools = [{ type: 'function', function: weather }];
  expect(await estimate('hi', { tools })).toBeGreaterThanOrEqual(148);
});
