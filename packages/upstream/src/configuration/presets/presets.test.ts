import { Quirks } from '@gateway/contracts/quirks';
import { expect, test } from 'vitest';
import { buildChannel } from '../build/build-channel.ts';
import { PRESETS, type Provider } from './presets.ts';

const ADDRESSES = [
  ['openai', 'https://api.openai.com/v1/chat/completions'],
  ['ollama', 'http://127.0.0.1:11434/v1/chat/completions'],
  ['vllm', 'http://127.0.0.1:8000/v1/chat/completions'],
  ['llama-cpp', 'http://127.0.0.1:8080/v1/chat/completions'],
  ['lm-studio', 'http://127.0.0.1:1234/v1/chat/completions'],
  ['mistral', 'https://api.mistral.ai/v1/chat/completions'],
  ['groq', 'https://api.groq.com/openai/v1/chat/completions'],
  ['deepseek', 'https://api.deepseek.com/v1/chat/completions'],
  ['openrouter', 'https://openrouter.ai/api/v1/chat/completions'],
  ['xai', 'https://api.x.ai/v1/chat/completions'],
] as const;

test.for(ADDRESSES)('%s has its chat at %s', ([provider, address]) => {
  const { origin, paths } = buildChannel('one', { provider, apiKey: 'a-key-of-mine' }, {});
  expect(`${origin}${paths.chat}`).toBe(address);
});

test("gemini has its own protocol, and OpenAI's where the channel speaks chat alone", () => {
  const entry = { provider: 'gemini', apiKey: 'a-key-of-mine' } as const;
  const native = buildChannel('one', entry, {});
  expect(native.speaks).toEqual(['gemini', 'images', 'speech', 'transcriptions', 'embeddings']);
  expect(`${native.origin}${Object(native.paths.gemini).streamed}`).toBe(
    'https://generativelanguage.googleapis.com/v1beta/models/{model}:streamGenerateContent?alt=sse',
  );
  expect(native.accounts[0].secrets.headers).toContainEqual(['x-goog-api-key', 'a-key-of-mine']);
  const compatible = buildChannel('one', { ...entry, speaks: ['chat'] }, {});
  expect(`${compatible.origin}${compatible.paths.chat}`).toBe(
    'https://generativelanguage.googleapis.com/v1beta/openai/chat/completions',
  );
  expect(compatible.accounts[0].secrets.headers).toContainEqual(['authorization', 'Bearer a-key-of-mine']);
  expect(compatible.quirks).toMatchObject({ parallelToolCalls: false, strictTools: false });
});

const names = Object.keys(PRESETS).filter((name): name is Provider => name in PRESETS);

test.for(names)("%s: its channels' protocols have paths, and its quirks exist", (provider) => {
  const baseUrl = 'https://server.example/v1';
  const { speaks, paths, quirks } = buildChannel('one', { provider, baseUrl, apiKey: 'a-key-of-mine' }, {});
  for (const protocol of speaks)
    expect(
      Object.keys(paths).some((operation) => operation.startsWith(protocol)),
      protocol,
    ).toBe(true);
  expect(Quirks.parse(quirks)).toEqual(quirks);
});

test('the key of a prompt cache reaches Mistral, which bills what is cached at a tenth', () => {
  const { quirks } = buildChannel('one', { provider: 'mistral', apiKey: 'a-key-of-mine' }, {});
  expect(quirks.refusedMembers).not.toContain('prompt_cache_key');
});

test('a variable moves a server of one’s own', () => {
  const channel = buildChannel(
    'one',
    { provider: 'ollama' },
    { OLLAMA_BASE_URL: 'http://10.0.0.9:11434/v1' },
  );
  expect(channel.origin).toBe('http://10.0.0.9:11434');
});
