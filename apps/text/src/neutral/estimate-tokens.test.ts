import { countTokens } from 'gpt-tokenizer/encoding/r50k_base';
import { expect, test } from 'vitest';
import { PROTOCOLS } from '../protocols/protocols.ts';
import { testTokens } from '../testing/test-context.ts';
import { EXACT_CHARACTERS } from './count-text.ts';
import { estimateTokens } from './estimate-tokens.ts';

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
  return estimateTokens(PROTOCOLS.chat.decodeRequest(body, testTokens));
};

test.for(Object.entries(TEXTS))(
  'an estimate of %s errs on the high side, and not beyond reason',
  async ([, text]) => {
    const estimated = await estimate(text);
    expect(estimated).toBeGreaterThanOrEqual(countTokens(text));
    expect(estimated).toBeLessThanOrEqual(Buffer.byteLength(text) + 10);
  },
);

/** A text of the same kind throughout that is longer than what is tokenized. */
const long = (text: string): string => text.repeat(Math.ceil((4 * EXACT_CHARACTERS) / text.length));

test.for(Object.entries(TEXTS))('a long text of %s is projected from its samples', async ([, text]) => {
  const repeated = long(text);
  const estimated = (await estimate(repeated)) / repeated.length;
  expect(estimated).toBeGreaterThanOrEqual((0.95 * countTokens(text)) / text.length);
  expect(estimated).toBeLessThanOrEqual((Buffer.byteLength(text) + 10) / text.length);
});

test('samples come from all of a conversation', async () => {
  const [sparse, dense] = [long(TEXTS.English), long(TEXTS.base64)];
  const together = await estimate(sparse + dense);
  const apart = (await estimate(sparse)) + (await estimate(dense));
  expect(together / apart).toBeGreaterThan(0.85);
  expect(together / apart).toBeLessThan(1.15);
});

/** Ratios in one run: how long the process works on it, and how long others wait meanwhile. */
test.for([
  ['characters without a space', () => 'x'.repeat(5_000_000)],
  ['letters without sense', () => nonsense(5_000_000, 0x61, 26)],
  ['ideographs without sense', () => nonsense(1_700_000, 0x4e00, 20_000)],
  ['spaces', () => ' '.repeat(5_000_000)],
  ['one sign', () => '!'.repeat(5_000_000)],
] as const)(
  'a large text of %s neither takes longer than its size allows nor stops others',
  async ([, make]) => {
    await estimate('the vocabulary is loaded');
    const text = make();
    const work = async (length: number) => {
      const before = process.cpuUsage();
      await estimate(text.slice(0, length));
      const { user, system } = process.cpuUsage(before);
      return user + system;
    };
    let turns = 0;
    let isDone = false;
    const count = () => {
      turns += 1;
      if (!isDone) setImmediate(count);
    };
    const quarter = await work(text.length / 4);
    setImmediate(count);
    const whole = await work(text.length);
    isDone = true;
    expect(whole / Math.max(quarter, 20_000)).toBeLessThan(8);
    expect(turns).toBeGreaterThan(EXACT_CHARACTERS / 2048);
  },
);

function nonsense(length: number, first: number, count: number): string {
  let state = 1;
  const units = Uint16Array.from({ length }, () => {
    state = (state * 48_271) % 0x7fffffff;
    return first + (state % count);
  });
  return Buffer.from(units.buffer).toString('utf16le');
}

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
